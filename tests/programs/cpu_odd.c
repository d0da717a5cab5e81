/* SPDX-License-Identifier: MIT */
/*
 * helper: programs that a profiler finds hard. Each burns CPU time in functions whose callers are
 * known, and exits with 0 if all went as it does without a profile.
 *
 *   cpu_odd MODE MS     see `modes`
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/programs/cpu_time.h"

extern char **environ;
static uint64_t wanted_ns;

/* Functions of their own, so that a stack tells which of them it was. */
#define BURN(name)                                   \
    __attribute__((noinline)) void name(uint64_t ns) \
    {                                                \
        CPU_BURN(ns, 1);                             \
        __asm__ volatile("" ::: "memory");           \
    }
BURN(burn_main)
BURN(burn_thread)
BURN(burn_one)
BURN(burn_two)

static void *run_thread(void *unused)
{
    burn_thread(wanted_ns);
    return unused;
}

static int threads(int count, size_t stack_size)
{
    pthread_t ids[64];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_size != 0 && pthread_attr_setstacksize(&attributes, stack_size) != 0)
        return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&ids[i], &attributes, run_thread, NULL) != 0)
            return 3;
    for (int i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

static int mode_pending(void) /* fewer timers than threads */
{
    return threads(16, 0);
}

static int mode_tiny(void)
{
    return threads(8, PTHREAD_STACK_MIN);
}

static volatile sig_atomic_t handled;
static void on_user(int signal)
{
    (void)signal;
    burn_one(1000000);
    handled = handled + 1;
}

/* Handlers on an alternate stack of the smallest size that the kernel takes. */
static int mode_alternate(void)
{
    size_t size = getauxval(AT_MINSIGSTKSZ) > MINSIGSTKSZ ? getauxval(AT_MINSIGSTKSZ) : MINSIGSTKSZ;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0)
        return 2;
    sigaction(SIGUSR1, &action, NULL);
    for (uint64_t from = cpu_ns(); cpu_ns() - from < wanted_ns;) {
        burn_main(1000000);
        raise(SIGUSR1);
    }
    return handled > 0 ? 0 : 3;
}

/* One alternate stack for all threads: only a fatal signal would use it. */
static void *run_shared(void *stack)
{
    if (sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = 64 << 10}, NULL) != 0)
        _exit(2);
    burn_thread(wanted_ns);
    return NULL;
}

static int mode_shared(void)
{
    enum { THREADS = 8 };
    static char stack[64 << 10];
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, run_shared, stack) != 0)
            return 3;
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

static int mode_daemon(void)
{
    burn_main(wanted_ns / 10);
    if (daemon(1, 1) != 0)
        return 2;
    burn_main(wanted_ns);
    FILE *file = fopen("daemon.done", "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    return 0;
}

static volatile int clone_done;
static int run_clone(void *unused)
{
    (void)unused;
    uint64_t from = cpu_ns(); /* the thread pointer is main's: nothing but system calls */
    while (cpu_ns() - from < wanted_ns)
        burn_thread(1000000);
    clone_done = 1;
    syscall(SYS_exit, 0);
    return 0;
}

static int mode_clone(void)
{
    enum { SIZE = 256 << 10 };
    char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (clone(run_clone, stack + SIZE, flags, NULL) < 0)
        return 2;
    while (!clone_done)
        burn_main(2000000);
    return 0;
}

/* One after the other, each of which ends soon. */
static int mode_clones(void)
{
    int failed = 0;
    wanted_ns = wanted_ns * 2 / 3;
    for (int i = 0; i < 8 && !failed; i++) {
        clone_done = 0;
        failed = mode_clone();
    }
    return failed;
}

/* A child in its parent's memory sets a signal stack that is not the parent's. */
static int mode_vfork(void)
{
    static char low[8192];
    const stack_t stack = {.ss_sp = low, .ss_size = sizeof low};
    int status = 1;
    pid_t child = vfork();
    if (child == 0)
        _exit(sigaltstack(&stack, NULL) != 0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return 4;
    return mode_clone();
}

/* Children that share memory until they exec, while the parent's threads are sampled. */
static int mode_spawn(void)
{
    pthread_t thread;
    char *const words[] = {"true", NULL};
    pthread_create(&thread, NULL, run_thread, NULL);
    for (uint64_t from = cpu_ns(); cpu_ns() - from < wanted_ns / 4;) {
        pid_t child = 0;
        int status = 1;
        if (posix_spawnp(&child, "true", NULL, NULL, words, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0)
            return 3;
        child = vfork();
        if (child == 0) {
            execvp("true", words);
            _exit(9);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 4;
        burn_main(2000000);
    }
    pthread_join(thread, NULL);
    return 0;
}

static jmp_buf place;
__attribute__((noinline)) void jump_deep(int depth)
{
    if (depth == 0)
        longjmp(place, 1);
    jump_deep(depth - 1);
    cpu_sum++;
}

__attribute__((noinline)) void jump_outer(void)
{
    if (setjmp(place) == 0)
        jump_deep(30);
    burn_one(300000);
}

static int mode_jump(void)
{
    for (uint64_t from = cpu_ns(); cpu_ns() - from < wanted_ns;)
        jump_outer();
    return 0;
}

static ucontext_t outside, inside[2];
__attribute__((noinline)) void co_one(void)
{
    for (;;) {
        burn_one(200000);
        swapcontext(&inside[0], &outside);
    }
}
__attribute__((noinline)) void co_two(void)
{
    for (;;) {
        burn_two(200000);
        swapcontext(&inside[1], &outside);
    }
}
__attribute__((noinline)) void swap_outer(int which)
{
    swapcontext(&outside, &inside[which]);
    cpu_sum++;
}

static int mode_context(void)
{
    static char stacks[2][64 << 10];
    static void (*const runs[2])(void) = {co_one, co_two};
    for (int i = 0; i < 2; i++) {
        getcontext(&inside[i]);
        inside[i].uc_stack.ss_sp = stacks[i];
        inside[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(&inside[i], runs[i], 0);
    }
    for (uint64_t from = cpu_ns(); cpu_ns() - from < wanted_ns;) {
        swap_outer(0);
        swap_outer(1);
    }
    return 0;
}

/* Switches stacks as coroutine libraries do, without unwind tables. */
void *asm_from, *asm_to;
#if defined(__x86_64__)
__asm__(
    ".text\nasm_switch:\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    " mov %rsp, (%rdi)\n mov (%rsi), %rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
void asm_switch(void **from, void **to);
static void *asm_stacks[3]; /* 0: the outside's */
__attribute__((noinline)) void asm_one(void)
{
    for (;;) {
        burn_one(200000);
        asm_switch(&asm_stacks[1], &asm_stacks[0]);
    }
}
__attribute__((noinline)) void asm_two(void)
{
    for (;;) {
        burn_two(200000);
        asm_switch(&asm_stacks[2], &asm_stacks[0]);
    }
}
__attribute__((noinline)) void asm_outer(int which)
{
    asm_switch(&asm_stacks[0], &asm_stacks[which]);
    cpu_sum++;
}
static int mode_assembler(void)
{
    static uintptr_t stacks[2][8 << 10] __attribute__((aligned(16)));
    static void (*const runs[2])(void) = {asm_one, asm_two};
    for (int i = 0; i < 2; i++) {
        uintptr_t *top = &stacks[i][(8 << 10) - 4]; /* 6 registers, the entry, no caller */
        top[0] = (uintptr_t)runs[i];
        top[1] = 0;
        asm_stacks[i + 1] = top - 6;
    }
    for (uint64_t from = cpu_ns(); cpu_ns() - from < wanted_ns;) {
        asm_outer(1);
        asm_outer(2);
    }
    return 0;
}
#else
static int mode_assembler(void)
{
    return 77;
}
#endif

/* The program blocks every signal, before the profile can know, and its threads inherit that. */
static int mode_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    burn_main(2 * wanted_ns);
    return threads(2, 0);
}

/* A thread that blocks every signal while another one works: what it does meanwhile does not count
 * for where it lets them through again. */
static void *run_aside(void *unused)
{
    burn_thread(2 * wanted_ns);
    return unused;
}

static int mode_aside(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    if (pthread_create(&thread, NULL, run_aside, NULL) != 0)
        return 3;
    burn_one(wanted_ns);
    sigprocmask(SIG_BLOCK, &all, &before);
    burn_main(2 * wanted_ns);
    sigprocmask(SIG_SETMASK, &before, NULL);
    burn_two(wanted_ns);
    return pthread_join(thread, NULL);
}

/* A handler that blocks all signals on an alternate stack of the usual size, which has room for one
 * frame of the kernel, in a thread that blocks all but that one. */
static void on_small(int signal)
{
    (void)signal;
    burn_one(wanted_ns / 10);
}

static void *run_small(void *unused)
{
    enum { STACK = 8192, GUARD = 65536 };
    struct sigaction action = {.sa_handler = on_small, .sa_flags = SA_ONSTACK};
    char *low = mmap(NULL, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = low + GUARD, .ss_size = STACK};
    sigset_t all;
    sigfillset(&all);
    sigfillset(&action.sa_mask);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    burn_thread(wanted_ns); /* until a profiler has noticed */
    sigemptyset(&all);
    sigaddset(&all, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    if (low == MAP_FAILED || mprotect(low + GUARD, STACK, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        abort();
    for (int i = 0; i < 20; i++) {
        raise(SIGUSR1);
        burn_thread(wanted_ns / 30);
    }
    return unused;
}

static int mode_small(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_small, NULL) != 0)
        return 2;
    return pthread_join(thread, NULL);
}

static void *run_idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* The same after many threads that block all signals, whose clocks take milliseconds to change. */
static int mode_crowd(void)
{
    enum { THREADS = 2000, STACK = 64 << 10 };
    pthread_t id;
    pthread_attr_t attributes;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&id, &attributes, run_idle, NULL) != 0)
            break;
    return mode_small();
}

/* A thread that waits for signals while others, which block all, work: no signal ends its wait. */
static int mode_waiting(void)
{
    enum { THREADS = 2 };
    const struct timespec shortly = {1, 0};
    pthread_t ids[THREADS];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, run_aside, NULL) != 0)
            return 3;
    for (int i = 0; i < 3; i++)
        if (sigtimedwait(&all, NULL, &shortly) >= 0 || errno != EAGAIN)
            return 4;
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

/* Threads that block all signals themselves, and end before that can be noticed. */
static void *run_brief(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    burn_thread(1000000);
    return unused;
}

static int mode_brief(void)
{
    for (uint64_t ns = 0; ns < 2 * wanted_ns; ns += 1000000) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_brief, NULL) != 0)
            return 2;
        pthread_join(thread, NULL);
    }
    return 0;
}

/* By a system call, and so that libc keeps none for itself: its time can't be sampled. */
static int mode_blocked_all(void)
{
    uint64_t all = ~(uint64_t)0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    burn_main(wanted_ns);
    return 0;
}

/* Handlers of the program's own for the signals that a profiler might want, set while it runs: each
 * signal arrives once, with its value, and ends a wait. */
static volatile sig_atomic_t heard[65];
static void on_own(int signal, siginfo_t *info, void *context)
{
    (void)context;
    heard[signal] += info->si_code == SI_QUEUE && info->si_value.sival_int == 4711 ? 1 : 1000;
}

static int mode_handlers(void)
{
    static const int signals[] = {SIGURG, SIGWINCH, SIGPROF};
    struct sigaction action = {.sa_sigaction = on_own, .sa_flags = SA_SIGINFO}, before;
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return 2;
    burn_main(wanted_ns / 4);
    for (int i = 0; i < 3; i++) {
        if (sigaction(signals[i], &action, &before) != 0 || before.sa_handler != SIG_DFL)
            return 3;
        if (sigaction(signals[i], NULL, &before) != 0 || before.sa_sigaction != on_own)
            return 4;
        union sigval value = {.sival_int = 4711};
        for (int k = 1; k <= 20; k++) {
            burn_main(1000000);
            if (sigqueue(getpid(), signals[i], value) != 0 || heard[signals[i]] != k)
                return 10 + i;
        }
        pid_t child = fork(); /* without SA_RESTART a wait ends */
        if (child == 0) {
            usleep(100000);
            sigqueue(getppid(), signals[i], value);
            _exit(0);
        }
        errno = 0;
        if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
            return 20 + i;
        waitpid(child, NULL, 0);
        child = vfork(); /* whose handlers are its own */
        if (child == 0) {
            signal(signals[i], SIG_IGN);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        if (sigaction(signals[i], NULL, &before) != 0 || before.sa_sigaction != on_own)
            return 30 + i;
    }
    burn_main(wanted_ns / 2);
    for (int i = 0; i < 3; i++)
        if (heard[signals[i]] != 21)
            return 40 + i;
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} modes[] = {
    {"pending", mode_pending},   {"tiny", mode_tiny},       {"alternate", mode_alternate},
    {"daemon", mode_daemon},     {"clone", mode_clone},     {"spawn", mode_spawn},
    {"jump", mode_jump},         {"context", mode_context}, {"assembler", mode_assembler},
    {"blocked", mode_blocked},   {"aside", mode_aside},     {"blocked_all", mode_blocked_all},
    {"brief", mode_brief},       {"small", mode_small},     {"waiting", mode_waiting},
    {"handlers", mode_handlers}, {"shared", mode_shared},   {"vfork", mode_vfork},
    {"crowd", mode_crowd},       {"clones", mode_clones}};

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    wanted_ns = strtoull(arguments[2], NULL, 10) * 1000000;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(arguments[1], modes[i].name) == 0)
            return modes[i].run();
    return 2;
}
