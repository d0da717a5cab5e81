/* SPDX-License-Identifier: MIT */
/* helper: killed_at_any_moment.sh */
/*
 * A program that allocates and frees in several threads until it ends, in one of many ways, and
 * counts what it has done in a file that it shares with whoever looks at it afterwards.
 *
 *     killed_at_any_moment TRUTH THREADS HOW [NS]
 *
 * HOW "forked": a child does all that, from its first moment on; its number is printed.
 * With NS each call is followed by a wait of NS nanoseconds, each block is freed at once, and
 * sizes come in turn, so that no bin is ever empty and the clocks of all run in step: what is
 * hardest to count.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 2048, THREADS_MAX = 32, CALLS = 100000 };

/* One cache line a thread. */
static struct {
    _Atomic uint64_t allocs, frees, unused[6];
} * truth;

static const char *how;
static int64_t wait_ns = -1;

static void wait_a_little(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < wait_ns);
}

static void on_fault(int number)
{
    signal(number, SIG_DFL); /* the program's own handler, which lets it die */
}

/* One that writes a report first, as crash handlers do, on a stack of its own. */
static void on_fault_report(int number)
{
    (void)number;
    for (int i = 0; i < 100; i++) {
        void *volatile block = malloc(1000);
        atomic_fetch_add(&truth[0].allocs, 1);
        free(block);
        atomic_fetch_add(&truth[0].frees, 1);
    }
    _exit(1);
}

static void on_alarm(int number)
{
    (void)number;
    abort();
}

/* An end that the threads do not expect: nearly always inside of malloc or free. */
static void end_anywhere(void)
{
    static char stack[64 << 10];
    struct sigaction fault = {.sa_handler = on_fault_report, .sa_flags = SA_ONSTACK};
    stack_t place = {.ss_sp = stack, .ss_size = sizeof stack};
    struct itimerval soon = {.it_value = {0, 50000}};
    if (strcmp(how, "segv-report") == 0) {
        sigaltstack(&place, NULL);
        sigaction(SIGSEGV, &fault, NULL);
        *(volatile int *)0 = 1;
    }
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void end(void)
{
    if (strcmp(how, "segv") == 0)
        *(volatile int *)0 = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "double-free") == 0) { /* the end is inside free */
        void *volatile block = malloc(100);
        free(block);
        free(block);
    } else if (strcmp(how, "_exit") == 0)
        _exit(0);
    else if (strcmp(how, "exit_group") == 0)
        syscall(SYS_exit_group, 0);
    else if (strcmp(how, "never") != 0 && strcmp(how, "forked") != 0)
        end_anywhere();
}

static void *work(void *number)
{
    static _Thread_local void *slots[SLOTS];
    uint64_t x = 88172645463325252u + (uintptr_t)number * 977;
    for (unsigned calls = 0;; calls++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        void **slot = &slots[wait_ns >= 0 ? 0 : x % SLOTS];
        if (*slot != NULL) {
            free(*slot);
            *slot = NULL;
            atomic_fetch_add(&truth[(intptr_t)number].frees, 1);
        } else {
            *slot = malloc(16 + (wait_ns >= 0 ? calls * 20 : x >> 20) % 2000);
            atomic_fetch_add(&truth[(intptr_t)number].allocs, 1);
        }
        if (wait_ns > 0)
            wait_a_little();
        if (calls == CALLS && (intptr_t)number == 0)
            end();
    }
}

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    int threads = atoi(words[2]), fd = open(words[1], O_RDWR | O_CREAT, 0600);
    how = words[3];
    if (count > 4)
        wait_ns = atoll(words[4]);
    if (threads > THREADS_MAX || ftruncate(fd, 4096) != 0)
        return 2;
    truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    signal(SIGSEGV, on_fault);
    if (strcmp(how, "forked") == 0) {
        pid_t child = fork();
        if (child != 0) {
            dprintf(1, "%d\n", (int)child);
            waitpid(child, NULL, 0);
            return 0;
        }
    }
    /* Thread 0 of the truth ends the program: it is not the first one. */
    for (intptr_t i = 0; i + 1 < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)i) != 0)
            return 2;
    }
    work((void *)(intptr_t)(threads - 1));
}
