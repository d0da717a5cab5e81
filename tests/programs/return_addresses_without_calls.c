/* SPDX-License-Identifier: MIT */
/*
 * helper: return_addresses_without_calls.sh runs it and looks at the names of its stacks. Each way
 * allocates a block of its own size: in a signal handler; in one that interrupts a function at its
 * first instruction, and one that is a single instruction long; in a coroutine of makecontext; in
 * one whose return address is the first byte of a function; and behind a call that is the last
 * instruction of its function.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 1 << 20 };

static void *volatile kept;
static size_t size;
static ucontext_t back, coroutine;

__attribute__((noinline)) void allocate(void)
{
    kept = malloc(size);
    __asm__ volatile("");
}

static void handler(int number)
{
    (void)number;
    allocate();
    __asm__ volatile("");
}

/* Returns behind the instruction, which the function of one byte does not have. */
static void trap_handler(int number, siginfo_t *info, void *context)
{
    ucontext_t *registers = context;
    (void)number;
    (void)info;
    allocate();
    unsigned char *code = (unsigned char *)registers->uc_mcontext.gregs[REG_RIP];
    if (*code == 0xf4) { /* hlt */
        void **sp = (void **)registers->uc_mcontext.gregs[REG_RSP];
        registers->uc_mcontext.gregs[REG_RIP] = (greg_t)*sp;
        registers->uc_mcontext.gregs[REG_RSP] += 8;
    } else {
        registers->uc_mcontext.gregs[REG_RIP] += 2;
    }
}

#define FUNCTION(name, body)                                                                  \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body \
            "\n.cfi_endproc\n.size " #name ", . - " #name "\n")

__asm__(".text");
FUNCTION(before_interrupted, "nop\nret");
FUNCTION(interrupted_at_start, "ud2\nret");
FUNCTION(one_byte, "hlt");
FUNCTION(behind_one_byte, "nop\nret");
FUNCTION(before_finish, "nop\nret");
FUNCTION(finish_bare, "mov %rbx, %rsp\npop %rbp\npop %rbx\nret");
FUNCTION(start_bare, "push %rbx\npush %rbp\nmov %rsp, %rbx\nmov %rdi, %rsp\nxor %ebp, %ebp\n"
                     "lea finish_bare(%rip), %rax\npush %rdi\npush %rdi\npush %rax\njmp *%rsi");
FUNCTION(ends_in_call, "push %rbx\n.cfi_adjust_cfa_offset 8\ncall leave_bare");
FUNCTION(behind_call, "pop %rbx\nret");

void interrupted_at_start(void);
void one_byte(void);
void start_bare(void *stack, void (*run)(void));
void ends_in_call(void);

/* Returns into `behind_call`, which pops what `ends_in_call` pushed. */
__attribute__((noinline, used)) void leave_bare(void)
{
    allocate();
    __asm__ volatile("");
}

static void *stack_new(void)
{
    return mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void run_coroutine(void)
{
    allocate();
    __asm__ volatile("");
}

int main(void)
{
    struct sigaction plain = {.sa_handler = handler};
    struct sigaction trap = {.sa_sigaction = trap_handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &plain, NULL);
    sigaction(SIGILL, &trap, NULL);
    sigaction(SIGSEGV, &trap, NULL);
    for (int i = 0; i < 3; i++) { /* again: the walk before is there to be reused */
        size = 100000, raise(SIGUSR1);
        size = 110000, interrupted_at_start();
        size = 120000, one_byte();
    }
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack_new();
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &back;
    makecontext(&coroutine, run_coroutine, 0);
    size = 130000, swapcontext(&back, &coroutine);
    size = 140000, start_bare((char *)stack_new() + STACK, run_coroutine);
    size = 150000, ends_in_call();
    return 0;
}
