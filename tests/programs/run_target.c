/* SPDX-License-Identifier: MIT */
/*
 * helper: a program whose heap is known, for `memoir run`. The first word says how it ends: `exit`
 * and a code, `signal` and a number, `wait` for a signal that it survives, `copy` its input,
 * `child` to do all of it in a child, `map` for much memory that is not from malloc,
 * `killed` to be so after some time, `daemon` to wait in a child that goes on, `session` to do that
 * in a session of its own.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void map_much(void)
{
    enum { MUCH = 128 << 20 };
    void *memory = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        memset(memory, 1, MUCH);
}

static void on_signal(int signal)
{
    seen = signal;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "exit";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    bool waits =
        strcmp(way, "wait") == 0 || strcmp(way, "daemon") == 0 || strcmp(way, "session") == 0;
    if (waits) { /* first: the test may send one as soon as it knows the process */
        signal(SIGUSR1, on_signal);
        signal(SIGTERM, on_signal);
    }
    if (strcmp(way, "child") == 0 && fork() > 0) {
        wait(NULL);
        return 0;
    }
    if ((strcmp(way, "daemon") == 0 || strcmp(way, "session") == 0) && fork() > 0)
        return 0;
    if (strcmp(way, "session") == 0)
        setsid();
    keep_some();
    build_index();
    drop_index();
    short_lived();
    if (strcmp(way, "map") == 0)
        map_much();
    if (strcmp(way, "killed") == 0)
        for (int i = 0; i < 50; i++) {
            short_lived(); /* snapshots are taken by who allocates */
            if (i == 49)
                raise(SIGKILL);
        }
    if (strcmp(way, "signal") == 0)
        raise(number);
    if (strcmp(way, "copy") == 0)
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
    if (waits) {
        printf("ready\n");
        fflush(stdout);
        while (!seen)
            usleep(10000);
        printf("signal %d\n", (int)seen);
    }
    return number;
}
