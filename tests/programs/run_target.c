/* SPDX-License-Identifier: MIT */
/*
 * helper: a program whose heap is known, for `memoir run`. The first word says how it ends: `exit`
 * and a code, `signal` and a number, `wait` for a signal that it survives, `copy` its input,
 * `child` to do all of it in a child.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[100], *index_of[1000];
static volatile sig_atomic_t seen;

__attribute__((noinline)) void keep_some(void)
{
    for (int i = 0; i < 100; i++)
        kept[i] = memset(malloc(100000), 1, 100000);
}

__attribute__((noinline)) void build_index(void)
{
    for (int i = 0; i < 1000; i++)
        index_of[i] = memset(malloc(50000), 1, 50000);
}

__attribute__((noinline)) void drop_index(void)
{
    for (int i = 0; i < 1000; i++)
        free(index_of[i]);
}

__attribute__((noinline)) void short_lived(void)
{
    for (int i = 0; i < 300000; i++) {
        char *volatile word = malloc(40);
        free(word);
    }
}

static void on_signal(int signal)
{
    seen = signal;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "exit";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(way, "child") == 0 && fork() > 0) {
        wait(NULL);
        return 0;
    }
    keep_some();
    build_index();
    drop_index();
    short_lived();
    if (strcmp(way, "signal") == 0)
        raise(number);
    if (strcmp(way, "copy") == 0)
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
    if (strcmp(way, "wait") == 0) {
        signal(SIGUSR1, on_signal);
        signal(SIGTERM, on_signal);
        printf("ready\n");
        fflush(stdout);
        while (!seen)
            usleep(10000);
        printf("signal %d\n", (int)seen);
    }
    return number;
}
