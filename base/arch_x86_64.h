/* SPDX-License-Identifier: MIT */
/* What is specific to x86-64: entering the kernel, spinning, reading a clock, counting in memory
 * with one instruction, the layout of a stack, and how threads and signal handlers begin and end.
 */
#ifndef BASE_ARCH_X86_64_H
#define BASE_ARCH_X86_64_H

#define ARCH_JUMP "jmp" /* to a function, in assembler */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

/* Registers by their numbers in unwind tables; RETURN is the column of the return address. */
enum { ARCH_FP = 6, ARCH_SP = 7, ARCH_RETURN = 16, ARCH_REGISTERS = 17 };
/* The caller's stack pointer before the call and after the return. */
#define ARCH_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
/* A call pushes the return address, so it is always just below the caller's stack pointer. */
enum { ARCH_PUSHES_RETURN = 1 };
/* The registers that a function preserves for its caller, one bit each: rbx, rbp, r12 to r15. */
enum { ARCH_KEPT = 1 << 3 | 1 << 6 | 0xf << 12 };
/* Bits of a user's code address. */
enum { ARCH_PC_BITS = 47 };
/* High bits of a pointer that the machine ignores: none that a program may rely on. */
enum { ARCH_TAG_BITS = 0 };

/* The kernel's save area of the registers that a signal interrupted, as offsets from the stack
 * pointer with which the handler returns. */
enum { ARCH_SIGNAL_FP = 120, ARCH_SIGNAL_SP = 160, ARCH_SIGNAL_PC = 168 };
enum { ARCH_SIGNAL_CONTEXT = 0 }; /* and the handler's third argument */
/* Of the instruction that a SIGSEGV interrupted: 1, it wrote; 0, it read; -1, not known. */
static inline int arch_fault_wrote(const void *context)
{
    enum { ERROR = 192, WROTE = 2 };
    return (*(const uint64_t *)((const char *)context + ERROR) & WROTE) != 0;
}
static inline uintptr_t arch_signal_slot(unsigned number)
{
    static const unsigned char slots[ARCH_REGISTERS] = {144, 136, 152, 128, 112, 104, 120, 160, 40,
                                                        48,  56,  64,  72,  80,  88,  96,  168};
    return slots[number];
}
enum { ARCH_SIGNAL_CODE = 9 };

/* The registers of the vector unit, MMX included, in the frame of a handler with that third
 * argument; their bytes. */
static inline size_t arch_signal_vectors(const void *context, const void **start)
{
    enum { AREA = 224, FIRST = 32, LEGACY = 512, ABOUT = 464, EXTENDED = 0x46505853 };
    const char *area = *(const char *const *)((const char *)context + AREA);
    if (area == NULL)
        return 0;
    const uint32_t *about = (const uint32_t *)(area + ABOUT); /* magic, _, kinds (2 words), size */
    *start = area + FIRST;
    return (about[0] == EXTENDED && about[4] > LEGACY ? about[4] : LEGACY) - FIRST;
}
/* The kernel's function in the vdso that reads a clock. */
#define ARCH_VDSO_CLOCK "__vdso_clock_gettime"
enum { ARCH_CALL_BYTES = 2 };
/* Whether this is the instruction that enters the kernel. */
static inline bool arch_is_call(const void *code)
{
    static const unsigned char entry[ARCH_CALL_BYTES] = {0x0f, 0x05};
    return memcmp(code, entry, sizeof entry) == 0;
}

/* Whether this is the code that a handler returns to: mov $15, %rax; syscall. */
static inline bool arch_signal_code(const void *code)
{
    static const unsigned char wanted[ARCH_SIGNAL_CODE] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 15, 5};
    return memcmp(code, wanted, sizeof wanted) == 0;
}

/* Whether a handler, with that frame, interrupted a system call that now fails with EINTR. */
static inline bool arch_call_interrupted(const char *frame)
{
    enum { RESULT = 144 };
    static const unsigned char entry[] = {0x0f, 0x05}; /* syscall */
    const char *pc = *(const char *const *)(frame + ARCH_SIGNAL_PC);
    return *(const long *)(frame + RESULT) == -EINTR && memcmp(pc - 2, entry, 2) == 0;
}

/* The same or that is to begin again, without a look at the code: a system call leaves the end of
 * its instruction in rcx. */
static inline bool arch_wait_interrupted(const char *frame, bool (*readable)(const void *, size_t))
{
    enum { RESULT = 144, RCX = 152, LENGTH = 2 };
    uintptr_t pc = *(const uintptr_t *)(frame + ARCH_SIGNAL_PC);
    uintptr_t end = *(const uintptr_t *)(frame + RCX);
    (void)readable;
    return end == pc + LENGTH || (end == pc && *(const long *)(frame + RESULT) == -EINTR);
}

/* The number of a call that is to begin again; below 0: the handler interrupted something else. */
static inline long arch_call_again(const char *frame, bool (*readable)(const void *, size_t))
{
    enum { RESULT = 144, RCX = 152, LENGTH = 2 };
    uintptr_t pc = *(const uintptr_t *)(frame + ARCH_SIGNAL_PC);
    (void)readable;
    return *(const uintptr_t *)(frame + RCX) == pc + LENGTH ? *(const long *)(frame + RESULT) : -1;
}

/* The register of a call's second argument, for `arch_signal_slot`: rsi. */
enum { ARCH_CALL_SECOND = 4 };

/* A call that is to begin again ends instead, with EINTR. */
static inline void arch_call_end(char *frame)
{
    enum { RESULT = 144, LENGTH = 2 };
    *(uintptr_t *)(frame + ARCH_SIGNAL_PC) += LENGTH;
    *(long *)(frame + RESULT) = -EINTR;
}

/* A return address as a plain address; this machine adds nothing to it. */
static inline uintptr_t arch_plain(uintptr_t address)
{
    return address;
}

/* The memory node of the CPU that runs this thread, without a system call: Linux keeps it in the
 * limit of a segment, 12 bits of CPU, then the node. False where there is no such segment, and
 * under valgrind, which does not know the instruction and hides the kernel's own code that has it.
 */
static inline bool arch_node(unsigned *node)
{
    enum { SEGMENT = 0x7b, CPU_BITS = 12 };
    unsigned limit = 0;
    int before = errno; /* getauxval changes it if there is no such entry */
    bool there = getauxval(AT_SYSINFO_EHDR) != 0;
    errno = before;
    if (!there)
        return false;
    __asm__ volatile("lsl %2, %0" : "+r"(limit), "=@ccz"(there) : "r"(SEGMENT) :);
    *node = limit >> CPU_BITS;
    return there;
}

static inline uintptr_t arch_thread(void)
{
    uintptr_t self = 0;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
}

/* The preserved registers and the stack pointer, as they are here; the others are not written. */
static inline __attribute__((always_inline)) void arch_registers(uintptr_t values[ARCH_REGISTERS])
{
    __asm__ volatile("movq %%rbx, 3*8(%0)\n\t"
                     "movq %%rbp, 6*8(%0)\n\t"
                     "movq %%rsp, 7*8(%0)\n\t"
                     "movq %%r12, 12*8(%0)\n\t"
                     "movq %%r13, 13*8(%0)\n\t"
                     "movq %%r14, 14*8(%0)\n\t"
                     "movq %%r15, 15*8(%0)\n\t"
                     "leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, 16*8(%0)"
                     :
                     : "r"(values)
                     : "rax", "memory");
}

/* Kinds of relocation that hold the address of a function of another object. */
enum { ARCH_RELOCATION_DATA = 6, ARCH_RELOCATION_SLOT = 7 };

enum { ARCH_MACHINE = 62 };                    /* EM_X86_64 of <elf.h> */
static const uint32_t ARCH_AUDIT = 0xc000003e; /* AUDIT_ARCH_X86_64 of <linux/audit.h> */

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* As the system call that programs have for it: a filter may know no other. */
static inline long arch_dup2(int from, int to)
{
    return arch_syscall(SYS_dup2, from, to, 0, 0, 0, 0);
}

static inline void arch_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

/* A clock with steps of 10 to 50 ns that never goes back; takes a few ns to read. */
static inline uint64_t arch_ticks(void)
{
    return __builtin_ia32_rdtsc() >> 6;
}

/* Before a second use of an address with this index and an offset: one instruction can have such an
 * address here, so nothing is gained if the compiler computes it ahead. */
#define ARCH_INDEXED(index) SETTLE(index)

/* *word -= by, in memory; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    bool negative = false;
    __asm__("subl %2, %0" : "+m"(*word), "=@ccs"(negative) : "i"(by));
    return negative;
}

/* What compiled code expects at the pointer of a new thread: itself, twice, and the guard values of
 * the stack protector and of libc's jump buffers. */
static inline void arch_thread_describe(void *pointer)
{
    enum { SELF = 0, SELF_TOO = 2, GUARD = 5, POINTER_GUARD = 6 };
    void **words = (void **)pointer, **here = (void **)arch_thread();
    words[SELF] = pointer;
    words[SELF_TOO] = pointer;
    words[GUARD] = here[GUARD];
    words[POINTER_GUARD] = here[POINTER_GUARD];
}

/* Starts a thread that calls run(argument), which must not return. Its id or a negative errno.
 * `id` is where the flags about ids let the kernel write. */
static inline long arch_clone(unsigned long flags, void *stack, void *pointer, int *id,
                              void (*run)(void *), void *argument)
{
    register long r8 __asm__("r8") = (long)pointer;
    register long r10 __asm__("r10") = (long)id;
    register long r12 __asm__("r12") = (long)run;
    register long r13 __asm__("r13") = (long)argument;
    long result = 56; /* clone */
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(id), "r"(r8), "r"(r10), "r"(r12), "r"(r13)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* Unmaps the memory that the calling thread's stack is in, and ends the thread. */
__attribute__((noreturn)) static inline void arch_leave(void *map, size_t size)
{
    __asm__ volatile("syscall\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov $60, %%eax\n\t" /* exit */
                     "syscall\n\t"
                     "hlt"
                     :
                     : "a"(11L /* munmap */), "D"(map), "S"(size)
                     : "rcx", "r11", "memory");
    __builtin_unreachable();
}

/* The code that a signal handler returns to. Debuggers recognize it by these instructions. */
__attribute__((naked, unused)) static void arch_restorer(void)
{
    __asm__("movq $15, %rax\n\t" /* rt_sigreturn */
            "syscall");
}

/* The thread pointer leads to libc's descriptor of the thread, which begins with a pointer to
 * itself. */
enum { ARCH_DESCRIPTOR_SELF = true };

#endif
