/* SPDX-License-Identifier: MIT */
/*
 * helper: a server's life in a minute. Takes N snapshots of a heap of S sites, one each
 * millisecond, with a mark and a short rise of the heap in the first tenth; with a third argument
 * it is killed in the middle of making one.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*snapshot)(const char *words);
static int (*mark)(const char *name);
static void *volatile kept;

/* A stack of its own for each number. */
__attribute__((noinline)) static void site(unsigned number, size_t size)
{
    if (number == 0)
        kept = memset(malloc(size), 1, size);
    else if (number & 1)
        site(number >> 1, size);
    else
        site(number >> 1, size + 0 * number);
    __asm__ volatile("" ::: "memory");
}

static void on_alarm(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    int count = atoi(argv[1]), sites = atoi(argv[2]);
    snapshot = (int (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_snapshot");
    mark = (int (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_mark");
    if (argc > 3) {
        struct itimerval when = {.it_value = {0, atoi(argv[3]) * 1000 % 1000000}};
        when.it_value.tv_sec = atoi(argv[3]) / 1000;
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &when, NULL);
    }
    for (int i = 0; i < sites; i++)
        site((unsigned)i + 1, 1000);
    for (int i = 0; i < count; i++) {
        if (i == count / 20 && mark("early") != 0)
            return 2;
        if (i == count / 10) {
            void *large = malloc(200 << 20);
            memset(large, 1, 1 << 20);
            nanosleep(&(struct timespec){0, 20000000}, NULL);
            free(large);
        }
        if (snapshot("now") != 0)
            return 3;
        site((unsigned)(i % sites) + 1, 100);
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    puts("done");
    return 0;
}
