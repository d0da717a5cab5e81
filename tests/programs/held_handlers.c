/* SPDX-License-Identifier: MIT */
/*
 * helper of held_handlers.sh: a thread is held by a debugger in the middle of one of the library's
 * signal handlers while another thread does what would be rare at that moment.
 *
 *   held_handlers rate   the thread is about to leave its timer to a perf event; the rate becomes
 *                        one without events. Then the thread runs `after`, which has to be sampled
 *   held_handlers scan [STEPS]   the thread answers a scan for lost blocks when the next scan has
 *                        begun, in which its number is another thread's. It is held after this
 *                        number of instructions of the handler; without STEPS after all, which are
 *                        counted. Prints their number, and of how many threads the second scan does
 *                        not know the registers: one hides
 *
 * The child of the debugger is the program. A pipe each way tells how far they are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memoir/memoir.h"
#include "tests/programs/cpu_time.h"

#pragma weak memoir_cpu_start
#pragma weak memoir_leaks

/* Held for less than the 50 ms that a scan waits for a thread under a debugger. */
enum { RATE_FAST = 4000, RATE_SLOW = 50, AFTER_MS = 600, STEPS_MAX = 20000, HELD_US = 10000 };

static int to_tracer[2], to_program[2];

static void tell(int fd, int value)
{
    if (write(fd, &value, sizeof value) != sizeof value)
        _exit(4);
}

static int hear(int fd)
{
    int value;
    if (read(fd, &value, sizeof value) != sizeof value)
        _exit(0); /* the other side is done */
    return value;
}

static int look(pid_t tid)
{
    int status;
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
        _exit(5);
    return status;
}

/* ---- the rate ---- */

__attribute__((noinline)) static void before(volatile int *stop)
{
    while (!*stop)
        CPU_BURN(1000000, 3);
}

__attribute__((noinline)) static void after(void)
{
    CPU_BURN((uint64_t)AFTER_MS * 1000000, 5);
}

static volatile int enough;

static void *rate_thread(void *unused)
{
    tell(to_tracer[1], (int)syscall(SYS_gettid));
    before(&enough);
    after();
    return unused;
}

static void rate_program(void)
{
    pthread_t thread;
    if (memoir_cpu_start(RATE_FAST) != 0)
        _exit(77);
    pthread_create(&thread, NULL, rate_thread, NULL);
    hear(to_program[0]); /* it is held */
    memoir_cpu_start(RATE_SLOW);
    tell(to_tracer[1], 0);
    hear(to_program[0]); /* it is not */
    enough = 1;
    pthread_join(thread, NULL);
    exit(0);
}

/* At the system call that stops the thread's timer. */
static int stops_timer(pid_t tid)
{
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, tid, NULL, &registers);
    if (registers.orig_rax != SYS_timer_settime)
        return 0;
    for (int i = 0; i < 4; i++)
        if (ptrace(PTRACE_PEEKDATA, tid, (void *)(registers.rdx + 8 * i), NULL) != 0)
            return 0;
    return 1;
}

static void rate_trace(void)
{
    pid_t tid = hear(to_tracer[0]);
    ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    for (int status = look(tid), calls = 0;; status = look(tid)) {
        int event = status >> 16, stopped = WSTOPSIG(status);
        if (event == 0 && stopped == (SIGTRAP | 0x80) && ++calls % 2 == 1 && stops_timer(tid))
            break;
        ptrace(PTRACE_SYSCALL, tid, NULL,
               (void *)(long)(event == 0 && !(stopped & 0x80) ? stopped : 0));
    }
    tell(to_program[1], 0);
    hear(to_tracer[0]);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    tell(to_program[1], 0);
}

/* ---- the scan ---- */

static volatile int first_ends, busy_ends;
static int held_tid;

static void *first_thread(void *unused) /* its number is free at the second scan */
{
    while (!first_ends)
        usleep(1000);
    return unused;
}

static void *held_thread(void *unused)
{
    __atomic_store_n(&held_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
    for (;;)
        pause();
    return unused;
}

/* Hides from the signal, so a scan does not know its registers. */
static void *busy_thread(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!busy_ends)
        ;
    return unused;
}

/* Threads of which the registers are not known; -1: there was no scan. */
static int silent(void)
{
    struct memoir_leaks leaks = {0};
    return memoir_leaks(&leaks, sizeof leaks, NULL, NULL) ? (int)leaks.silent_threads : -1;
}

static void scan_program(void)
{
    pthread_t first, held, busy;
    pthread_create(&first, NULL, first_thread, NULL);
    usleep(20000);
    pthread_create(&held, NULL, held_thread, NULL);
    while (__atomic_load_n(&held_tid, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    pthread_create(&busy, NULL, busy_thread, NULL);
    usleep(20000);
    tell(to_tracer[1], held_tid);
    hear(to_program[0]); /* it is traced */
    silent();
    first_ends = 1;
    pthread_join(first, NULL);
    tell(to_tracer[1], 0); /* now the next one, while the thread is held, */
    int count = silent();
    tell(to_tracer[1], 0); /* which is over */
    printf("silent %d\n", count);
    exit(0);
}

/* Steps through the handler: until it waits for the end of the scan, or for that many instructions.
 * How many. */
static int steps(pid_t tid, int limit)
{
    struct user_regs_struct registers;
    for (int count = 0;; count++) {
        ptrace(PTRACE_GETREGS, tid, NULL, &registers);
        long code = ptrace(PTRACE_PEEKTEXT, tid, (void *)registers.rip, NULL);
        if (count == limit || ((code & 0xffff) == 0x050f && registers.rax == SYS_futex) ||
            count == STEPS_MAX)
            return count;
        ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL);
        look(tid);
    }
}

/* A scan interrupts it. */
static void until_signal(pid_t tid)
{
    ptrace(PTRACE_SEIZE, tid, NULL, NULL);
    tell(to_program[1], 0);
    for (int status = look(tid); WSTOPSIG(status) != SIGURG; status = look(tid))
        ptrace(PTRACE_CONT, tid, NULL, (void *)(long)WSTOPSIG(status));
    ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(long)SIGURG);
    look(tid);
}

static void scan_trace(int limit)
{
    pid_t tid = hear(to_tracer[0]);
    until_signal(tid);
    printf("steps %d\n", steps(tid, limit));
    fflush(stdout);
    if (limit != STEPS_MAX)
        hear(to_tracer[0]);
    usleep(HELD_US);
    if (ptrace(PTRACE_DETACH, tid, NULL, NULL) != 0)
        waitpid(tid, NULL, __WALL); /* the program has ended */
    hear(to_tracer[0]);
    if (limit == STEPS_MAX)
        hear(to_tracer[0]);
    close(to_program[1]);
}

int main(int count, char **words)
{
    int rate = count > 1 && strcmp(words[1], "rate") == 0;
    if (pipe(to_tracer) != 0 || pipe(to_program) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        close(to_program[1]);
        close(to_tracer[0]);
        rate ? rate_program() : scan_program();
    }
    close(to_program[0]);
    close(to_tracer[1]);
    rate ? rate_trace() : scan_trace(count > 2 ? atoi(words[2]) : STEPS_MAX);
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
