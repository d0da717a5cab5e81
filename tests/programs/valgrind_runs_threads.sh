#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program with threads runs under valgrind's tools with the library in place: no instruction of
# ours is one that valgrind does not know.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/common.sh"
need valgrind
cat >"$place/threads.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *run(void *kept)
{
    for (size_t i = 1; i < 20000; i++)
        free(realloc(malloc(i % 3000 + 1), i % 5000 + 1));
    return kept;
}
int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, run, malloc(100)) != 0)
            return 1;
    for (int i = 0; i < 4; i++) {
        void *kept;
        pthread_join(threads[i], &kept);
        free(kept);
    }
    return puts("done") < 0;
}
C
build -pthread "$place/threads.c" -o "$place/threads"
for options in '' heap.rate:0; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB valgrind --tool=none "$place/threads" >"$place/out" \
        2>"$place/errors" || fail "'$options': exit $?: $(tail -5 "$place/errors")"
    grep -qx done "$place/out" || fail "'$options': it did not come to its end"
done
finish
