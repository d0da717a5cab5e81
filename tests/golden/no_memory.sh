#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each allocation of a command fails once: its answer is the same then, or it says what is the matter.
# It never crashes, and never leaves a part of an answer as if that were all.
. "$(dirname "$0")/../programs/common.sh"
settle
export LC_ALL=C COLUMNS=100
cat >fails.c <<'END'
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size), *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
static long count, at = -1;

static int fails(void)
{
    if (at < 0)
        at = getenv("FAILS_AT") ? atol(getenv("FAILS_AT")) : 0;
    count++;
    errno = ENOMEM;
    return count == at;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return fails() ? NULL : __libc_calloc(number, size); }
void *realloc(void *block, size_t size) { return fails() ? NULL : __libc_realloc(block, size); }

__attribute__((destructor)) static void end(void)
{
    if (at != 0 && count < at) /* there was none to fail */
        _exit(99);
}
END
build -shared -fPIC fails.c -o fails.so
printf 'main;a;b 10\nmain;c 5\nmain;a;d 7\n' >after.folded
printf 'main;a;b 4\nmain;c 5\n' >before.folded
printf 'heap profile: 3: 300 [5: 500] @ heapprofile\n1: 100 [2: 200] @ 0x10 0x20\n2: 200 [3: 300] @ 0x30\n' >before.heap
printf 'heap profile: 6: 900 [9: 999] @ heapprofile\n5: 800 [7: 899] @ 0x10 0x20\n1: 100 [2: 100] @ 0x40\n' >after.heap
: >said

while read -r words; do
    rm -f out.*
    # shellcheck disable=SC2086
    "$MEMOIR_TOOL" $words </dev/null >good 2>errors
    right=$?
    [ "$right" -le 1 ] || fail "memoir $words: $(cat errors)"
    cat out.* >>good 2>/dev/null
    at=0
    while at=$((at + 1)); do
        rm -f out.*
        # shellcheck disable=SC2086
        FAILS_AT=$at LD_PRELOAD=$place/fails.so "$MEMOIR_TOOL" $words </dev/null >out 2>errors
        code=$?
        [ "$code" -ne 99 ] || break
        cat out.* >>out 2>/dev/null
        if [ "$code" -gt 4 ]; then
            fail "memoir $words, allocation $at: exit code $code"
        elif [ "$code" -ne "$right" ] || ! cmp -s good out; then
            [ -s errors ] || fail "memoir $words, allocation $at: not a word"
            cat errors >>said
        fi
    done
    [ "$at" -gt 50 ] || fail "memoir $words: $at allocations"
done <<'END'
report after.folded
report after.folded -o out.html
top after.folded
tree after.folded
tree after.folded --json
peek after.folded a
traces after.folded
leaks before.heap after.heap
diff before.folded after.folded
sizes after.folded
threads after.folded
check after.heap --base before.heap --max-growth 5%
export after.folded -o out.svg
export after.folded -o out.dot
export after.folded -o out.pb.gz
export after.folded -o out.folded
export after.folded -o out.pftrace
merge before.folded after.folded -o out.folded
redact after.folded -o out.folded
doctor after.folded
pprof -top after.folded
jeprof --text after.folded
END
grep -q 'out of memory' said || fail "nothing is said of memory"
finish
