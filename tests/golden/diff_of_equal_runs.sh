#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Two sampled runs of a program that always does the same have equal totals, and `memoir diff` finds
# no change at any site: blocks of many sizes on one stack, large ones among them, and realloc. A site
# that does allocate half as much again is found.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
export LC_ALL=C.UTF-8 HOME="$place"
cat >program.c <<'END'
#include <stdlib.h>
static void *kept[100000];
static int count;
static void keep(void *block, int i) { if (i % 3 == 0) kept[count++] = block; else free(block); }
__attribute__((noinline)) void small(int n) { for (int i = 0; i < n; i++) keep(malloc(100 + i * 7919 % 300), i); }
__attribute__((noinline)) void middle(int n) { for (int i = 0; i < n; i++) keep(malloc(5000 + i * 7919 % 20000), i); }
__attribute__((noinline)) void large(int n) { for (int i = 0; i < n; i++) keep(malloc(40000 + i * 7919 % 900000), i); }
__attribute__((noinline)) void *grow(void *block, size_t size) { return realloc(block, size); }
int main(int words, char **word)
{
    small(20000);
    middle(words > 1 ? 1200 : 800);
    large(200);
    for (int i = 0; i < 10000; i++) {
        void *block = NULL;
        for (size_t size = 60; size < 120; size += 8) block = grow(block, size);
        keep(block, i);
    }
    return 0;
}
END
build program.c -o program
record() { # NAME FLAGS... -- WORDS...
    name=$1
    shift
    "$MEMOIR_TOOL" run -q --output "$name.memoir" "$@" 2>words || fail "$(cat words)"
}
for rate in 64K 512K; do
    for round in 1 2 3 4; do
        record a --rate $rate ./program
        record b --rate $rate ./program
        for metric in alloc_space alloc_objects inuse_space peak_objects; do
            "$MEMOIR_TOOL" diff --exit-code a.memoir b.memoir --metric $metric --json >diff.json ||
                fail "rate $rate, round $round: $metric has changed: $("$MEMOIR_TOOL" diff --exit-code a.memoir b.memoir --metric $metric)"
            python3 -c 'import json, sys
answer = json.load(open("diff.json"))
sys.exit(answer["total"] != answer["base_total"] or answer["noise"] != 0 or answer["change"] != 0)' ||
                fail "rate $rate: totals of $metric differ"
        done
    done
done
record c --rate 64K ./program more
record d --rate 64K ./program
"$MEMOIR_TOOL" diff --exit-code d.memoir c.memoir --metric alloc_space >changed.txt && fail "half as much again is no change"
grep '▲' changed.txt | grep -q middle || fail "not found: $(cat changed.txt)"
finish
