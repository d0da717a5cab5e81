#!/bin/sh
# SPDX-License-Identifier: MIT
# A program is killed together with the one that started it, as `timeout -s KILL` and the kernel do. While
# its memory goes back to the kernel it is no process with the library any more, but still has its recorder
# file: `memoir run` waits for that, and the recording has what was allocated up to the kill.
. "$(dirname "$0")/common.sh"
cat >"$place/grows.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    enum { BLOCK = 128 << 10, BLOCKS = 2048 };
    for (int i = 0; i < BLOCKS; i++) {
        char *block = malloc(BLOCK);
        memset(block, 1, BLOCK);
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
END
cat >"$place/starts.sh" <<'END'
./grows >fifo &
read -r line <fifo
kill -9 $! $$
END
build "$place/grows.c" -o "$place/grows"
cd "$place" || exit 2
mkfifo fifo
for round in 1 2 3; do
    "$MEMOIR_TOOL" run --output run.memoir -- sh starts.sh 2>said
    grep -q '^    the largest of 2 processes, .*ended by signal 9' said || fail "$round: no end: $(cat said)"
    grep -q '^    peak 256 MiB' said || fail "$round: what came before the kill is lost: $(cat said)"
    rm -f run.memoir
done
finish
