#!/bin/sh
# SPDX-License-Identifier: MIT
# jemalloc's background_thread: a program that frees memory and then makes no calls returns it, if the
# option or mallctl turns the thread on, and keeps it otherwise; forked children have none; off and on
# again. The same program with jemalloc's own library, where it is installed.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >idle.c <<'C'
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 5000, SIZE = 20000 };

int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

static long resident_kib(void)
{
    char text[128] = "";
    long all = 0, resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY);
    if (read(fd, text, sizeof text - 1) > 0)
        sscanf(text, "%ld %ld", &all, &resident);
    close(fd);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int is_on(void)
{
    bool on = false;
    size_t size = sizeof on;
    return mallctl("background_thread", &on, &size, NULL, 0) == 0 ? on : -1;
}

static void turn(bool on)
{
    if (mallctl("background_thread", NULL, NULL, &on, sizeof on) != 0)
        exit(3);
}

static long threads(void)
{
    size_t count = 0, size = sizeof count;
    long epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    mallctl("stats.background_thread.num_threads", &count, &size, NULL, 0);
    return (long)count;
}

/* How much of the memory that was freed went within four seconds, in percent. */
static long returned(void)
{
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE), 1, SIZE);
    long max = resident_kib();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    for (int i = 0; i < 40 && max - resident_kib() < BLOCKS / 10 * 9 * (SIZE / 1024); i++)
        usleep(100000);
    return (max - resident_kib()) * 100 / (BLOCKS * (SIZE / 1024));
}

int main(int count, char **words)
{
    int status = 0, first = is_on();
    if (count > 1)
        turn(words[1][0] == '1');
    if (count > 2) {
        for (int i = 0; i < 200; i++)
            turn(i % 2 == 0);
        turn(true);
    }
    int on = is_on();
    printf("%d %d", first, on);
    printf(" returned %d", returned() >= 80);
    printf(" threads %d", threads() >= 1);
    fflush(stdout);
    if (fork() == 0)
        _exit(is_on());
    wait(&status);
    printf(" child %d\n", WEXITSTATUS(status));
    return 0;
}
C
export MALLOC_CONF
"$CC" -O1 -fno-builtin idle.c -o idle || fail "it does not build"
theirs=
for library in /usr/lib/*/libjemalloc.so.2; do [ ! -e "$library" ] || theirs=$library; done
# says CONF WORDS EXPECTED
says() {
    MALLOC_CONF=$1,dirty_decay_ms:500
    for library in "$MEMOIR_LIB" $theirs; do
        got=$(LD_PRELOAD=$library timeout 60 ./idle $2 2>err)
        [ "$got" = "$3" ] || fail "$library, $1, $2: $got, not $3: $(cat err)"
    done
}
says background_thread:true '' '1 1 returned 1 threads 1 child 0'
says background_thread:false '' '0 0 returned 0 threads 0 child 0'
says background_thread:false 1 '0 1 returned 1 threads 1 child 0'
says background_thread:true 0 '1 0 returned 0 threads 0 child 0'
says background_thread:true '0 often' '1 1 returned 1 threads 1 child 0'
finish
