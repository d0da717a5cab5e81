/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Where the kernel gives no process for a copy, memoir_leaks looks at the heap itself while all
 * threads stand still, finds the same, and says so. A filter refuses clone without CLONE_THREAD.
 */
#include "include/memoir/memoir.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { LOST = 40, SIZE = 500, THREADS = 3 };

static volatile unsigned long turns[THREADS];
static void *volatile kept, *volatile sink;

static void *run(void *argument)
{
    void *volatile mine = malloc(SIZE);
    volatile unsigned long *count = argument;
    for (;;)
        ++*count;
    return mine;
}

static __attribute__((noinline)) void lose(void)
{
    for (int i = 0; i < LOST; i++) {
        sink = calloc(1, SIZE);
        sink = NULL;
    }
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[32 << 10];
    memset((void *)dead, 0, sizeof dead);
}

static int processes_refuse(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static struct memoir_leaks look(void)
{
    struct memoir_leaks leaks;
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    return leaks;
}

int main(void)
{
    pthread_t thread;
    kept = malloc(SIZE);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, run, (void *)&turns[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        while (turns[i] == 0)
            usleep(1000);
    struct memoir_leaks before = look();
    CHECK(before.in_place == 0 && before.own_bytes > 0);
    lose();
    if (!processes_refuse()) {
        puts("no filter can be set: skipped");
        return 77;
    }
    for (int turn = 0; turn < 3; turn++) {
        struct memoir_leaks now = look();
        CHECK(now.in_place == 1 && now.copied_bytes == 0);
        CHECK(now.stood_us > 0 && now.stood_us <= now.took_us);
        CHECK(now.definite.blocks == before.definite.blocks + LOST);
        CHECK(now.threads == before.threads && now.silent_threads == 0);
    }
    for (int i = 0; i < THREADS; i++) /* they go on */
        for (unsigned long then = turns[i]; turns[i] == then;)
            usleep(1000);
    return check_result();
}
