/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Threads that block every signal that a program can block stand still all the same: a block that
 * is nowhere but in a register of such a thread is not lost. One that waits for all signals is not
 * handed ours, and libc's own use of the signal that is left goes on. A thread that blocks that,
 * too, is not sent it: it would be killed by it if it became another program.
 */
#include "include/memoir/memoir.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { SCANS = 3, HOLDERS = 8, LONG_MS = 60000 };

static volatile int held, ready, handed, heard, polled, ends[2], others[2];

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[32 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

/* Reads from an empty pipe, with a pointer in one register and in no other place. */
static void *hold(void *argument)
{
    block_signals();
#if defined(__x86_64__)
    static char byte;
    uintptr_t hidden = ~(uintptr_t)calloc(1, 100);
    wipe();
    __atomic_fetch_add(&held, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    __asm__ volatile("mov %0, %%r12\n\txor %0, %0\n\tnot %%r12\n\txor %%eax, %%eax\n\tsyscall"
                     : "+r"(hidden)
                     : "D"((long)ends[0]), "S"(&byte), "d"(1L)
                     : "rax", "rcx", "r11", "r12", "memory");
#else
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    pause();
#endif
    return argument;
}

static void *wait_for_all(void *argument)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    block_signals();
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    int number = 0;
    switch ((intptr_t)argument) {
    case 0:
        CHECK(sigwait(&all, &number) == 0);
        break;
    case 1:
        number = sigwaitinfo(&all, &info);
        break;
    default:
        number = sigtimedwait(&all, &info, &(struct timespec){LONG_MS / 1000, 0});
    }
    CHECK(number == SIGUSR1);
    __atomic_fetch_add(&handed, 1, __ATOMIC_RELAXED);
    return argument;
}

static void on_other(int number)
{
    (void)number;
    heard = 1;
}

/* Waits for one signal; handlers of others still run. */
static void *wait_for_one(void *argument)
{
    sigset_t one;
    int number;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    do
        number = sigwaitinfo(&one, NULL);
    while (number < 0 && errno == EINTR);
    CHECK(number == SIGUSR1);
    return argument;
}

static void *wait_long(void *argument)
{
    block_signals();
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    polled = poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, LONG_MS);
    return argument;
}

static void *block_libcs(void *argument)
{
    enum { LIBCS = 33 };
    unsigned long all = ~0ul, pending = 0;
    char byte;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    CHECK(read(others[0], &byte, 1) == 1);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    CHECK((pending & 1ul << (SIGURG - 1)) != 0 && (pending & 1ul << (LIBCS - 1)) == 0);
    return argument;
}

/* Whether all other threads wait in the kernel. */
static bool all_wait(void)
{
    bool all = true;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    for (const struct dirent *entry; all && (entry = readdir(folder)) != NULL;) {
        char path[300], first = 'r';
        snprintf(path, sizeof path, "/proc/self/task/%s/syscall", entry->d_name);
        FILE *file = atoi(entry->d_name) == 0 ? NULL : fopen(path, "r");
        if (file != NULL && fread(&first, 1, 1, file) == 1)
            all = first != 'r' || atoi(entry->d_name) == getpid();
        if (file != NULL)
            fclose(file);
    }
    closedir(folder);
    return all;
}

static pthread_t start(void *(*run)(void *), intptr_t argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, (void *)argument) == 0);
    return thread;
}

int main(void)
{
    pthread_t waiters[3];
    struct memoir_leaks leaks;
    CHECK(pipe((int *)ends) == 0);
    for (int i = 0; i < HOLDERS; i++)
        start(hold, 0);
    for (int i = 0; i < 3; i++)
        waiters[i] = start(wait_for_all, i);
    struct sigaction action = {.sa_handler = on_other, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    pthread_t poller = start(wait_long, 0), waiter = start(wait_for_one, 0);
    while (ready < HOLDERS + 5)
        usleep(1000);
    while (!all_wait())
        usleep(1000);
    for (int i = 0; i < SCANS; i++) {
        wipe();
        CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
        CHECK(leaks.silent_threads == 0);
        CHECK(leaks.definite.blocks == 0);
        CHECK(leaks.possible.blocks == 0);
    }
    CHECK(handed == 0 && polled == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_kill(waiters[i], SIGUSR1) == 0);
        pthread_join(waiters[i], NULL);
    }
    CHECK(handed == 3);
    CHECK(pthread_kill(waiter, SIGUSR2) == 0);
    for (int i = 0; heard == 0 && i < LONG_MS / 4; i++)
        usleep(1000);
    CHECK(heard == 1);
    CHECK(pthread_kill(waiter, SIGUSR1) == 0);
    pthread_join(waiter, NULL);
    CHECK(pthread_cancel(poller) == 0); /* musl signals the thread */
    void *result;
    pthread_join(poller, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(setgid(getgid()) == 0); /* glibc signals each thread */
    CHECK(pipe((int *)others) == 0);
    ready = 0;
    pthread_t blocker = start(block_libcs, 0);
    while (ready == 0 || !all_wait())
        usleep(1000);
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL) && leaks.silent_threads == 1);
    CHECK(write(others[1], "x", 1) == 1);
    pthread_join(blocker, NULL);
    return check_result();
}
