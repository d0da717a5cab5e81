/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * What programs/scans_in_odd_programs.sh runs: scans_in_odd_programs WHAT. One thread makes scans
 * all the time, while the program does WHAT. Each scan must end, with a result that is right or a
 * refusal, and the program must go on. The last line is "fine" and how many scans had a result; 77:
 * the machine does not let it try.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "memoir/memoir.h"

enum { PAGE = 4096, SCANS = 6, CROWD = 400, STACK = 64 << 10, MANY = 200 };

static volatile bool ends;
static unsigned results, made;
static volatile unsigned wanted = SCANS;
static uint64_t in_place;
static void *held[MANY]; /* blocks that nothing else leads to */
static volatile sig_atomic_t alarms, children;

static void pause_us(unsigned us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000L};
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
}

static void *scans(void *unused)
{
    for (; made < wanted && !ends; made++) {
        struct memoir_leaks found = {0};
        if (!memoir_leaks(&found, sizeof found, NULL, NULL))
            continue;
        results++;
        in_place += found.in_place;
        if (found.definite.blocks != 0 || found.indirect.blocks != 0) {
            printf("lost: %lu blocks\n", (unsigned long)found.definite.blocks);
            fflush(stdout);
            _exit(1);
        }
    }
    ends = true;
    return unused;
}

static void *naps(void *unused)
{
    char *volatile block = malloc(40);
    while (!ends)
        pause_us(2000);
    free(block);
    return unused;
}

static void crowd(void)
{
    static pthread_t threads[CROWD];
    pthread_attr_t small;
    unsigned count = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    while (count < CROWD && pthread_create(&threads[count], &small, naps, NULL) == 0)
        count++;
    while (count > 0)
        pthread_join(threads[--count], NULL);
}

/* Mappings come and go, with pages in them that can't be touched. */
static void mappings(void)
{
    while (!ends) {
        char *map =
            mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED)
            continue;
        memset(map, 1, 64 * PAGE);
        mprotect(map + 8 * PAGE, 8 * PAGE, PROT_NONE);
        munmap(map + 32 * PAGE, 4 * PAGE);
        munmap(map, 64 * PAGE);
    }
}

/* Children have one thread and make a scan of their own. */
static void forks(void)
{
    while (!ends) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            struct memoir_leaks found;
            alarm(60);
            memoir_leaks(&found, sizeof found, NULL, NULL);
            _exit(3);
        }
        if (child > 0 && (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)) {
            printf("a child: %x\n", (unsigned)status);
            _exit(1);
        }
    }
}

static void vforks(void)
{
    while (!ends) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/sleep", "sleep", "0.01", (char *)NULL);
            _exit(1);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
    }
}

static void on_signal(int number)
{
    if (number == SIGALRM)
        alarms++;
    else
        children++;
}

/* The program's own signals go on, and the copy's end is none of them. */
static void signals(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!ends)
        pause_us(1000);
    setitimer(ITIMER_REAL, &never, NULL);
    if (alarms == 0 || children != 0) {
        printf("alarms %d, children %d\n", (int)alarms, (int)children);
        _exit(1);
    }
}

static void reserved(void)
{
    char *none = mmap(NULL, (size_t)100 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *some = mmap(NULL, (size_t)100 << 30, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (none == MAP_FAILED || some == MAP_FAILED)
        exit(77);
    void **far = (void **)(some + ((size_t)90 << 30));
    *far = held[0];
    held[0] = NULL;
    while (!ends)
        pause_us(1000);
    held[0] = *far;
}

static ucontext_t home, there;
static void coroutine(void)
{
    void *volatile block = malloc(500);
    swapcontext(&there, &home);
    free(block);
}

/* Stacks that are unmapped when the coroutine on them is done. */
static void coroutines(void)
{
    while (!ends) {
        void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED)
            continue;
        getcontext(&there);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = STACK;
        there.uc_link = &home;
        makecontext(&there, coroutine, 0);
        swapcontext(&home, &there);
        swapcontext(&home, &there);
        munmap(stack, STACK);
    }
}

/* Memory that a copy of the process does not get, or gets empty, holds the only pointers. */
static void not_in_children(int advice, bool block)
{
    static void **map; /* which leads to the block */
    if (block)
        map = aligned_alloc(PAGE, PAGE);
    else
        map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || madvise(map, PAGE, advice) != 0)
        exit(77);
    for (unsigned i = 0; i < MANY; i++) {
        map[i] = held[i];
        held[i] = NULL;
    }
    while (!ends)
        pause_us(1000);
    memcpy(held, map, sizeof held);
}

static void huge(void)
{
    size_t size = 2 << 20;
    void **map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (map == MAP_FAILED)
        exit(77);
    map[1000] = held[0];
    held[0] = NULL;
    while (!ends)
        pause_us(1000);
    held[0] = map[1000];
}

/* The only pointers are in blocks that the program has closed, whole or in part; they stay so. */
static void closed(void)
{
    char **blocks[MANY];
    int ends_of_pipe[2];
    for (unsigned i = 0; i < MANY; i++) {
        if (posix_memalign((void **)&blocks[i], PAGE, 3 * (size_t)PAGE) != 0)
            exit(77);
        blocks[i][1] = held[i];
        mprotect(blocks[i], (1 + i % 3) * (size_t)PAGE, PROT_NONE);
        held[i] = (void *)blocks[i];
    }
    wanted = made + SCANS;
    if (pipe(ends_of_pipe) != 0)
        exit(77);
    while (!ends)
        pause_us(1000);
    for (unsigned i = 0; i < MANY; i++) {
        if (write(ends_of_pipe[1], blocks[i], 1) != -1 || errno != EFAULT) {
            puts("open after a scan");
            exit(1);
        }
        mprotect(blocks[i], 3 * (size_t)PAGE, PROT_READ | PROT_WRITE);
        free(blocks[i][1]);
    }
}

/* Parts of blocks are guards of the kernel's, or no longer mapped: the rest is read. */
static void holes(void)
{
    enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };
    char **blocks[MANY];
    size_t middle = 4 * (size_t)PAGE;
    for (unsigned i = 0; i < MANY; i++) {
        size_t size = i % 2 == 0 ? 3 * middle : (size_t)2 << 20;
        if (posix_memalign((void **)&blocks[i], PAGE, size) != 0)
            exit(77);
        memset(blocks[i], 1, size);
        blocks[i][1] = held[i];
        if (i % 4 < 2 &&
            syscall(SYS_madvise, (char *)blocks[i] + middle, middle, GUARD_INSTALL) != 0)
            exit(77);
        if (i % 4 >= 2)
            munmap((char *)blocks[i] + middle, middle);
        held[i] = (void *)blocks[i];
    }
    wanted = made + SCANS;
    while (!ends)
        pause_us(1000);
    for (unsigned i = 0; i < MANY; i++) {
        if (i % 4 < 2)
            syscall(SYS_madvise, (char *)blocks[i] + middle, middle, GUARD_REMOVE);
        else
            mmap((char *)blocks[i] + middle, middle, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        held[i] = blocks[i][1];
        free(blocks[i]);
    }
}

static void in_place_with(void (*what)(void))
{
    size_t size = (size_t)140 << 20;
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || madvise(map, size, MADV_DONTFORK) != 0)
        exit(77);
    memset(map, 1, size);
    what();
    munmap(map, size);
    if (in_place == 0) {
        puts("no scan was made in place");
        exit(1);
    }
}

/* The same in place: there is too much that a copy would not get. */
static void closed_in_place(void)
{
    in_place_with(closed);
}

static void holes_in_place(void)
{
    in_place_with(holes);
}

/* No further process: the scan is made in place. */
static void no_process(void)
{
    struct rlimit none = {1, 1};
    if (getuid() == 0 && setuid(65534) != 0)
        exit(77);
    if (setrlimit(RLIMIT_NPROC, &none) != 0)
        exit(77);
    while (!ends)
        pause_us(1000);
}

/* The program waits for all its children, those that clone has made without a signal, too. */
static void waits_for_all(void)
{
    while (!ends)
        if (waitpid(-1, NULL, __WALL) < 0)
            pause_us(100);
}

/* The kernel protects the memory of a process that gave up root from its own user. */
static void dropped(void)
{
    if (setuid(65534) != 0)
        exit(77);
    wanted += made; /* whatever was made as root */
    while (!ends)
        pause_us(1000);
}

static const struct {
    const char *name;
    void (*run)(void);
    int advice;
} kinds[] = {
    {"crowd", crowd, 0},
    {"mappings", mappings, 0},
    {"forks", forks, 0},
    {"vforks", vforks, 0},
    {"signals", signals, 0},
    {"reserved", reserved, 0},
    {"coroutines", coroutines, 0},
    {"dontfork", NULL, MADV_DONTFORK},
    {"wipeonfork", NULL, MADV_WIPEONFORK},
    {"dontfork_block", NULL, MADV_DONTFORK},
    {"wipeonfork_block", NULL, MADV_WIPEONFORK},
    {"huge", huge, 0},
    {"closed", closed, 0},
    {"closed_in_place", closed_in_place, 0},
    {"holes", holes, 0},
    {"holes_in_place", holes_in_place, 0},
    {"dropped", dropped, 0},
    {"no_process", no_process, 0},
    {"waits_for_all", waits_for_all, 0},
};

int main(int count, char **args)
{
    pthread_t thread;
    const char *what = count > 1 ? args[1] : "";
    alarm(100);
    for (unsigned i = 0; i < MANY; i++)
        held[i] = malloc(200);
    if (strcmp(what, "exit") == 0 || strcmp(what, "exec") == 0 || strncmp(what, "closed", 6) == 0 ||
        strncmp(what, "holes", 5) == 0)
        wanted = 1000000;
    pthread_create(&thread, NULL, scans, NULL);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(what, kinds[i].name) == 0) {
            if (kinds[i].run != NULL)
                kinds[i].run();
            else
                not_in_children(kinds[i].advice, strchr(what, '_') != NULL);
        }
    if (count > 2) { /* in the middle of one */
        pause_us((unsigned)atoi(args[2]));
        if (strcmp(what, "exec") == 0)
            execl("/bin/echo", "echo", "fine", (char *)NULL);
        puts("fine");
        return 0;
    }
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < MANY; i++)
        free(held[i]);
    printf("fine %u of %u, in place %lu\n", results, made, (unsigned long)in_place);
    return 0;
}
