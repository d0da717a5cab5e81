#!/bin/sh
# SPDX-License-Identifier: MIT
# `memoir ctl PID dump` while the program makes dumps of its own, and is told of each by a function: a dump
# that is turned away meanwhile is made by the library's thread, which has no libc, but the function is
# called by a thread of the program's.
. "$(dirname "$0")/common.sh"
settle
cat >hooked.c <<'END_OF_PROGRAM'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern int mallctl(const char *name, void *old, size_t *length, void *new, size_t size) __attribute__((weak));
static pid_t thread;
static int calls, foreign;
static void hook(const char *name)
{
    calls++;
    foreign += gettid() != thread;
    unlink(name);
}
int main(void)
{
    enum { BLOCKS = 100000, CHANGED = 10000, TURNS = 20000 };
    static void *blocks[BLOCKS];
    void (*told)(const char *) = hook;
    thread = gettid();
    if (mallctl == NULL || mallctl("experimental.hooks.prof_dump", NULL, NULL, &told, sizeof told) != 0)
        return 2;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(100 + (size_t)i % 500);
    puts("ready");
    fflush(stdout);
    for (int turn = 0; turn < TURNS && access("stop", F_OK) != 0; turn++) {
        for (int i = 0; i < CHANGED; i++) {
            free(blocks[i]);
            blocks[i] = malloc(2000 + (size_t)i % 500);
        }
        usleep(1000);
    }
    printf("%d calls, %d by another thread\n", calls, foreign);
    return calls > 0 && foreign == 0 ? 0 : 1;
}
END_OF_PROGRAM
build hooked.c -o hooked
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:6,lg_prof_interval:22,prof_prefix:told LD_PRELOAD=$MEMOIR_LIB ./hooked >out 2>err &
target=$!
for _ in $(seq 100); do
    grep -q ready out 2>/dev/null && break
    sleep 0.1
done
for _ in $(seq 100); do
    "$MEMOIR_TOOL" ctl $target dump now.memoir >said 2>&1 || break
    rm -f now.memoir
done
touch stop
wait $target || fail "exit code $?: $(cat out err said)"
finish
