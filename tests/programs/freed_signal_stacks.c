/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * An alternate signal stack that is a block of the heap, freed while the kernel still has it: no
 * handler of ours may run there. "ends" dies of SIGTERM as Ruby does, after the free; the others
 * take a new block in the place of the old one, have a handler of ours run (dump.signal), and look
 * whether that wrote into the block. A realloc that leaves the block where it is, or fails, leaves
 * the thread its stack ("stays"), and so does a free of a block that was its stack before it made
 * the system call itself ("passed").
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

static char *volatile handler_at;

static void on_signal(int number)
{
    (void)number;
    handler_at = (char *)&number;
}

static void look_at_handler(const char *stack, size_t bytes)
{
    handler_at = NULL;
    raise(SIGUSR2);
    if (handler_at < stack || handler_at >= stack + bytes)
        wrong("the stack of a handler of the program");
}

static void stays(char *stack)
{
    look_at_handler(stack, size);
    if (realloc(stack, PTRDIFF_MAX / 2) != NULL) /* NOLINT: it fails */
        wrong("realloc to more than there is");
    look_at_handler(stack, size);
    for (size_t max = size; max < size + 32; max += 8) {
        char *block = realloc(stack, max);
        if (block != stack) { /* in modes that always move */
            free(block);
            return;
        }
        look_at_handler(stack, size);
        if (malloc_usable_size(stack) < max)
            wrong("malloc_usable_size of a longer stack");
        memset(stack + size, FILL, max - size);
    }
    free(stack);
    if (stack_is_set())
        wrong("what sigaltstack tells after the free");
}

static void passed(char *stack)
{
    static char other[1 << 16];
    stack_t set = {.ss_sp = other, .ss_size = sizeof other};
    if (syscall(SYS_sigaltstack, &set, NULL) != 0)
        wrong("the system call");
    free(stack);
    look_at_handler(other, sizeof other);
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
    if (strcmp(way, "stays") == 0 || strcmp(way, "passed") == 0) {
        sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK},
                  NULL);
        (strcmp(way, "stays") == 0 ? stays : passed)(stack);
        return puts("fine") < 0;
    }
    if (strcmp(way, "child") == 0) {
        int status = 0;
        pid_t child = fork();
        if (child != 0 && (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGTERM))
            wrong("how the child ended");
        if (child != 0)
            return puts("fine") < 0;
    }
    uintptr_t before = (uintptr_t)stack;
    bool kept = strcmp(way, "kept") == 0;
    if (strcmp(way, "moved") == 0)
        kept = (uintptr_t)realloc(stack, 16 * size) == before; /* there may be room behind it */
    else if (!kept)
        free(stack);
    if (stack_is_set() != kept)
        wrong("what sigaltstack tells");
    if (strcmp(way, "ends") == 0 || strcmp(way, "child") == 0) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    look(pthread_self());
    return puts("fine") < 0;
}
