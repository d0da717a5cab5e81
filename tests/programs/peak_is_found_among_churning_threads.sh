#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Eight threads allocate and free gigabytes while one piles up 16 MB: the peak is that pile. A thread
# that waits for a processor while it adds up must not take what others did meanwhile for live, after
# which nothing would be a peak again.
. "$(dirname "$0")/common.sh"
need python3
cat >"$place/pile.c" <<'END_OF_FILE'
#include <pthread.h>
#include <stdlib.h>
static volatile int stop;
static void *churn(void *nothing)
{
    while (!stop)
        for (int i = 0; i < 100; i++)
            free(malloc(30000));
    return nothing;
}
int main(void)
{
    pthread_t threads[8];
    static void *kept[1000];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 1000; i++) {
        kept[i] = malloc(16384);
        for (volatile int k = 0; k < 20000; k++)
            continue;
    }
    stop = 1;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 1000; i++)
        free(kept[i]);
    return 0;
}
END_OF_FILE
build "$place/pile.c" -o "$place/pile"
for round in 1 2 3 4; do
    "$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -q --exact -o "$place/pile.memoir" "$place/pile" || fail "run: $?"
    peak=$("$MEMOIR_TOOL" peak "$place/pile.memoir" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
    [ "$peak" -gt 16000000 ] && [ "$peak" -lt 20000000 ] || fail "round $round: a peak of $peak bytes, not of 16384000"
done
finish
