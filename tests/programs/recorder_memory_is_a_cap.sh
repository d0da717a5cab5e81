#!/bin/sh
# SPDX-License-Identifier: MIT
# recorder.memory bounds the recorder's file; what is beyond it is missing, one line says so, and the
# rest can be read after kill -9.
. "$(dirname "$0")/common.sh"
cat >"$place/many.c" <<'END_C'
/* Allocates by 2^14 different stacks, then kills itself. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile last;
static void left(unsigned path, unsigned depth);
static void right(unsigned path, unsigned depth);

__attribute__((noinline)) static void step(unsigned path, unsigned depth)
{
    if (depth == 0)
        last = malloc(100);
    else if (path & 1)
        left(path >> 1, depth - 1);
    else
        right(path >> 1, depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void left(unsigned path, unsigned depth)
{
    step(path, depth);
    __asm__ volatile("");
}

__attribute__((noinline)) static void right(unsigned path, unsigned depth)
{
    step(path, depth);
    __asm__ volatile("");
}

int main(void)
{
    for (unsigned path = 0; path < 1 << 14; path++)
        step(path, 14);
    return kill(getpid(), SIGKILL);
}
END_C
build -O1 -fno-optimize-sibling-calls "$place/many.c" -o "$place/many"
cd "$place" || exit 2
killed() { # CAP: many has run with it and was killed; $bytes, $said and $count are what it left
    MEMOIR=heap.rate:0,recorder:state-$1,recorder.memory:$1 LD_PRELOAD=$MEMOIR_LIB ./many 2>errors
    bytes=$(stat -c %s "state-$1") said=$(grep -c '^memoir: the recorder file is full' errors)
    "$MEMOIR_TOOL" recover "state-$1" --output "$1.memoir" >out 2>&1 || fail "$1: $(cat out)"
    count=$("$MEMOIR_TOOL" top "$1.memoir" --metric alloc_objects --json 2>>out |
        sed -n 's/.*"total": *\([0-9]*\).*/\1/p' | head -n 1)
    echo "recorder.memory:$1: $bytes bytes, $said lines, ${count:=0} allocations"
}
killed 128M
{ [ "$bytes" -gt $((1 << 20)) ] && [ "$said" = 0 ] && [ "$count" = 16384 ]; } || fail "not all is there: $(cat errors out)"
killed 1M
{ [ "$bytes" -le $((1 << 20)) ] && [ "$said" = 1 ] && [ "$count" -ge 1000 ]; } || fail "no cap: $(cat errors out)"
finish
