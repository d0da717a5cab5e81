#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that lowers RLIMIT_AS, although guarded blocks have a reserve of 1 TiB of addresses: it gets
# its memory, and one line says what was given back.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >lowers.c <<'END_OF_PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(void)
{
    enum { COUNT = 3000 };
    static char *blocks[COUNT];
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    char *first = malloc(100000);
    memset(first, 1, 100000);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            size_t size = i % 100 == 0 ? 400000 : (size_t)i * 3;
            if ((blocks[i] = malloc(size)) == NULL)
                return printf("no memory: block %d of round %d\n", i, round);
            memset(blocks[i], i, size);
        }
        for (int i = 0; i < COUNT; i++)
            free(blocks[i]);
    }
    printf("ok %d\n", first[5000]);
    return 0;
}
END_OF_PROGRAM
build lowers.c -o lowers
for options in heap:on guard:sampled guard:full guard:full,guard.memory:4M debug:on harden:on; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./lowers >out 2>err || fail "$options: exit code $?: $(cat out err)"
    [ "$(cat out)" = "ok 1" ] || fail "$options: $(cat out err)"
    lines=$(grep -c 'lowered its limit of addresses' err)
    [ "$lines" -le 1 ] || fail "$options: said $lines times: $(cat err)"
    case $options in
    debug:on | *guard.memory*) [ "$lines" -eq 1 ] || fail "$options: nothing is said: $(cat err)" ;;
    esac
done
finish
