#!/bin/sh
# SPDX-License-Identifier: MIT
# A pointer in memory that the program mapped by itself keeps its block; with leak.mappings:off it does not.
. "$(dirname "$0")/common.sh"
cat >"$place/mapped.c" <<'END_C'
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/programs/wipe.h"

__attribute__((noinline)) static void keep(void **mapped)
{
    mapped[7] = malloc(12345);
}

int main(void)
{
    enum { SIZE = 1 << 16 };
    /* Not right beside another mapping: the kernel makes one of two, and no scan could tell them apart. */
    char *apart = mmap(NULL, 3 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (apart == MAP_FAILED || mprotect(apart + SIZE, SIZE, PROT_READ | PROT_WRITE) != 0)
        return 2;
    keep((void **)(apart + SIZE));
    wipe();
    return 0;
}
END_C
build "$place/mapped.c" -o "$place/mapped"
cd "$place" || exit 2
for setting in on off; do
    status=0
    "$MEMOIR_TOOL" run --leaks --output "$setting.memoir" --set leak.mappings=$setting ./mapped >out 2>&1 || status=$?
    lost=$(grep -c '^definitely lost: 16.0 KiB at 1 site' out)
    case $setting:$status:$lost in
    on:0:0 | off:1:1) ;;
    *) fail "leak.mappings=$setting: status $status, $lost lines of lost blocks: $(cat out)" ;;
    esac
done
finish
