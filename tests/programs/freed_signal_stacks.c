/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * An alternate signal stack that is a block of the heap, freed while the kernel still has it: no
 * handler of ours may run there. "ends" dies of SIGTERM as Ruby does, after the free; the others
 * take a new block in the place of the old one, have a handler of ours run (dump.signal), and look
 * whether that wrote into the block.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILL = 0x5a };

static size_t size;
static char *volatile given;
static pthread_barrier_t both;

static void wrong(const char *what)
{
    printf("wrong: %s\n", what);
    exit(1);
}

static char *stack_set(void)
{
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
        wrong("sigaltstack");
    if (malloc_usable_size(stack.ss_sp) < size)
        wrong("malloc_usable_size of a stack");
    return stack.ss_sp;
}

static bool stack_is_set(void)
{
    stack_t stack;
    sigaltstack(NULL, &stack);
    return (stack.ss_flags & SS_DISABLE) == 0;
}

/* Blocks as long as the freed stack, one of them most likely in its place: a handler of ours that
 * runs must not change them. */
static void look(pthread_t thread)
{
    enum { BLOCKS = 8 };
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(size);
        memset(blocks[i], FILL, size);
    }
    pthread_kill(thread, SIGUSR1);
    usleep(50000);
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < size; at++)
            if (blocks[i][at] != FILL)
                wrong("a handler wrote into a block");
        free(blocks[i]);
    }
}

static void *thread_run(void *unused)
{
    given = stack_set();
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return unused;
}

static void others(bool joined)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, thread_run, NULL);
    pthread_barrier_wait(&both);
    if (!joined) {
        free(given);
        look(thread);
    }
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    if (joined)
        free(given);
    look(pthread_self());
}

int main(int count, char **words)
{
    const char *way = words[count - 1];
    size = strtoul(words[1], NULL, 10);
    if (strcmp(way, "thread") == 0 || strcmp(way, "joined") == 0) {
        others(strcmp(way, "joined") == 0);
        return puts("fine") < 0;
    }
    char *stack = stack_set();
    if (strcmp(way, "child") == 0) {
        int status = 0;
        pid_t child = fork();
        if (child != 0 && (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGTERM))
            wrong("how the child ended");
        if (child != 0)
            return puts("fine") < 0;
    }
    if (strcmp(way, "moved") == 0)
        stack = realloc(stack, 16 * size);
    else if (strcmp(way, "kept") != 0)
        free(stack);
    if (stack_is_set() != (strcmp(way, "kept") == 0))
        wrong("what sigaltstack tells");
    if (strcmp(way, "ends") == 0 || strcmp(way, "child") == 0) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    look(pthread_self());
    return puts("fine") < 0;
}
