#!/bin/sh
# SPDX-License-Identifier: MIT
# Variables of tcmalloc's that bound it: the heap, the caches of all threads, and how fast memory goes
# back; and the options they stand for.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/gperftools_limits.c" -pthread -o limits

run() { # [NAME=VALUE...]: $first and $second MiB, $cached KiB
    env "$@" LD_PRELOAD="$MEMOIR_LIB" ./limits >out 2>errors || fail "$*: exit code $?: $(cat errors)"
    [ ! -s errors ] || fail "$*: $(cat errors)"
    { read -r first second && read -r cached; } <out || fail "$*: $(cat out)"
}
between() { # WHAT VALUE LOW HIGH
    [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1: $2, not $3 to $4"
}

run A=1
between "without a limit" "$first" 255 256
free_cached=$cached
for limit in TCMALLOC_HEAP_LIMIT_MB=64 MEMOIR=limit:64M; do
    run "$limit"
    between "$limit" "$first" 55 64
    between "$limit, again" "$second" 55 64
done
# Less than 512 KiB is 512 KiB, as with gperftools.
for total in TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=600000 MEMOIR=cache.total:600000 \
    TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=0; do
    run "$total"
    between "$total" "$cached" 1 900 # 586, and the least that the bins of four threads have
done
between "caches without a bound" "$free_cached" 2000 100000
for rate in TCMALLOC_RELEASE_RATE=2.5 TCMALLOC_RELEASE_RATE=0 TCMALLOC_AGGRESSIVE_DECOMMIT=1 \
    TCMALLOC_DISABLE_MEMORY_RELEASE=t; do
    run $rate
    between "$rate" "$first" 255 256
done

# A line for each large block, and the next one only for a block that is an eighth larger.
cat >large.c <<'C'
#include <stdlib.h>
int main(void)
{
    void *volatile blocks[5] = {malloc(4 << 20), malloc(5 << 20), malloc(5 << 20), calloc(6, 1 << 20),
                                malloc(100)};
    blocks[4] = realloc(blocks[4], 8 << 20);
    return blocks[4] == NULL;
}
C
build large.c -o large
TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=5000000 preload ./large 2>errors || fail "large: exit code $?"
sed 's/ == 0x[0-9a-f]* @ \( 0x[0-9a-f]*\)\{3,\}$/ ok/' errors >lines
printf 'tcmalloc: large alloc %s bytes ok\n' 5242880 6291456 8388608 | cmp -s - lines ||
    fail "large blocks: $(cat errors)"
preload ./large 2>errors
[ ! -s errors ] || fail "without the variable: $(cat errors)"
finish
