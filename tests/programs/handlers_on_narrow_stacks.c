/* SPDX-License-Identifier: MIT */
/*
 * helper: handlers allocate and free on an alternate stack that has some bytes beyond what the
 * kernel needs for a signal, in front of a page that may not be touched. Twice: in the first
 * thread, where most code is new to the library, and in another one.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAME_SIZE = 51 /* AT_MINSIGSTKSZ */, FRAME_OLD = 2048, BLOCKS = 50, LARGE = 40000 };

static void *volatile blocks[BLOCKS];
static volatile int rounds;

static void allocate(int number)
{
    (void)number;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = i % 10 == 9 ? malloc(LARGE + i) : i % 3 == 0 ? calloc(1, 100) : malloc(20 * i);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = realloc(blocks[i], 300);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    rounds++;
}

static void *run(void *room)
{
    size_t frame = getauxval(FRAME_SIZE), page = (size_t)sysconf(_SC_PAGESIZE);
    stack_t stack = {.ss_size = (frame == 0 ? FRAME_OLD : frame) + (size_t)room};
    char *memory = mmap(NULL, page + stack.ss_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0)
        exit(2);
    stack.ss_sp = memory + page;
    if (sigaltstack(&stack, NULL) != 0)
        exit(77);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *room = (void *)(size_t)atoi(argv[argc - 1]);
    struct sigaction action = {.sa_handler = allocate, .sa_flags = SA_ONSTACK};
    free(malloc(1)); /* the library starts here */
    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return 2;
    run(room);
    if (pthread_create(&thread, NULL, run, room) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    return rounds == 6 ? 0 : 1;
}
