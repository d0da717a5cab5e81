/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * What programs/leaks_of_a_running_program.sh scans: threads that work, wait, and end, one that
 * blocks all signals, blocks in use and 30 lost ones of 300 bytes; it prints "wrong" and ends if
 * anything of that goes another way than without a scan.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOST = 30, WIPE = 32 << 10, WAITS = 4, WORKERS = 2 };

struct node {
    struct node *next;
    uintptr_t check;
};

static volatile sig_atomic_t children;
static void *volatile sink;

static void on_child(int number)
{
    children = number;
}

static void wrong(const char *what)
{
    printf("wrong: %s, %s\n", what, strerror(errno));
    exit(1);
}

/* A list on the stack of a thread that changes all the time. */
static void *works(void *unused)
{
    struct node *first = NULL;
    unsigned length = 0;
    for (unsigned long turn = 0;; turn++) {
        if (length < 100 && turn % 3 != 0) {
            struct node *node = malloc(sizeof *node + turn % 200);
            node->next = first;
            node->check = ~(uintptr_t)node;
            first = node;
            length++;
        } else if (first != NULL) {
            struct node *node = first;
            if (node->check != ~(uintptr_t)node)
                wrong("a block changed");
            first = node->next;
            free(node);
            length--;
        }
    }
    return unused;
}

static void *waits(void *unused)
{
    void *volatile own = malloc(222);
    for (;;) {
        struct timespec time = {0, 20000000};
        if (poll(NULL, 0, 20) != 0)
            wrong("poll");
        if (nanosleep(&time, NULL) != 0)
            wrong("nanosleep");
    }
    return own;
}

static void *is_deaf(void *unused)
{
    void *volatile own = malloc(333);
    unsigned long all = ~0ul; /* also those that libc never blocks */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
    for (;;)
        poll(NULL, 0, 1000);
    return own;
}

/* Its stack stays mapped, with pointers to what it has lost; so deep that the next thread there has
 * no frame over them, whose unused parts would still hold them. */
static void *ends(void *unused)
{
    void *volatile *mine = (void *volatile *)__builtin_alloca(WIPE);
    for (int i = 0; i < LOST; i++)
        mine[i] = malloc(300);
    sink = mine[0];
    sink = NULL;
    return unused;
}

int main(void)
{
    pthread_t thread;
    signal(SIGCHLD, on_child);
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < WAITS; i++)
        pthread_create(&thread, NULL, waits, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread, NULL, works, NULL);
    pthread_create(&thread, NULL, is_deaf, NULL);
    puts("ready");
    fflush(stdout);
    for (char line[16]; fgets(line, sizeof line, stdin) != NULL;) {
        if (children != 0)
            wrong("a signal about a child");
        puts("fine");
        fflush(stdout);
    }
    return 0;
}
