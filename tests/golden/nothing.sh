#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Profiles with nothing in them, with one row, with the largest numbers there are, and differences
# below zero: every verb has an answer, and where that is nothing, it says what to do.
. "$(dirname "$0")/../programs/common.sh"
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

echo 'int main(void) { return 0; }' >idle.c
build idle.c -o idle
memoir run --lib "$MEMOIR_LIB" -q -o idle.memoir ./idle || fail "run"
memoir run --lib "$MEMOIR_LIB" -o other.memoir ./idle 2>said
grep -q '^    peak 0 B ' said || fail "a summary of nothing: $(cat said)"
for verb in report top tree traces peak leaks churn sizes threads; do
    expect 0 memoir $verb idle.memoir >said 2>errors
    grep -q 'idle.memoir has no samples; memoir doctor idle.memoir ' errors || fail "$verb: $(cat errors)"
    grep -q 'of frames named' said && fail "$verb: names of nothing: $(cat said)"
    expect 0 memoir $verb idle.memoir --json >said 2>errors
    python3 -m json.tool said >/dev/null || fail "$verb --json: $(cat said)"
done
expect 0 memoir diff idle.memoir idle.memoir --exit-code >said 2>errors
grep -q '^Nothing has changed' said || fail "diff: $(cat said)"
expect 1 memoir doctor idle.memoir >said 2>errors
grep -q '✗ it has no samples' said || fail "doctor: $(cat said)"
for ending in folded pb.gz svg csv; do
    expect 0 memoir export idle.memoir -o idle.$ending 2>errors
    grep -q 'idle.memoir has no samples' errors || fail "export .$ending: $(cat errors)"
done

# a peak before the clock moved is at the start, and at no nanosecond
cat >quick.c <<'E'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    void *volatile block = malloc(100000);
    for (int i = 0; i < 20; i++) {
        free(block);
        usleep(5000);
        block = malloc(10);
    }
    return 0;
}
E
build quick.c -o quick
for try in 1 2 3 4 5; do # a busy machine may be slower than that
    memoir run --lib "$MEMOIR_LIB" -q --exact -o quick.memoir ./quick || fail "run"
    memoir time quick.memoir >said
    ! grep -q 'at the start' said || break
done
grep -q 'at the start' said || echo "not tried: in round $try the peak was later: $(head -n 1 said)"
memoir export -q quick.memoir -o quick.html
grep -q 'at [0-9]* ns' said quick.html && fail "a peak at nanoseconds: $(cat said)"

# what is there, but not of this metric
cat >heap.raw <<'E'
--- symbol
binary=/bin/server
0x0000000000000010 main
---
--- heap
heap profile: 0: 0 [ 5: 5000] @ heapprofile
     0: 0 [ 5: 5000] @ 0x0010
MAPPED_LIBRARIES:
E
expect 0 memoir export heap.raw -o freed.folded 2>errors
grep -q 'heap.raw has no inuse_space; choose another with --metric' errors || fail "folded: $(cat errors)"
expect 0 memoir export heap.raw -o freed.folded --metric alloc 2>errors
grep -q 'has nothing' errors && fail "folded --metric alloc: $(cat errors)"
[ "$(cat freed.folded)" = 'main 5000' ] || fail "folded: $(cat freed.folded)"

# one row
echo 'main;f 5' >one.folded
memoir top one.folded | grep -q ' 5  100 %  .* f$' || fail "one row: $(memoir top one.folded)"
memoir traces one.folded | grep -q '^ *5  f$' || fail "one stack"
[ "$(memoir tree one.folded | grep -c '100 %')" = 3 ] || fail "one branch: $(memoir tree one.folded)"

# as much as fits, and more
echo 'main;f 1000000000000000000' >huge.folded
memoir top huge.folded | grep -q '1000 P' || fail "huge: $(memoir top huge.folded)"
memoir top huge.folded --json | grep -q '"self": 1000000000000000000' || fail "huge, in JSON"
cp huge.folded again.folded
memoir top huge.folded again.folded | grep -q '2000 P' || fail "a sum: $(memoir top huge.folded again.folded)"
echo 'main;f 9000000000000000000' >more.folded
expect 3 memoir top more.folded >said 2>errors
grep -q 'add up to more than 64 bits hold' errors || fail "too much: $(cat errors)"

# A function is one, wherever it called from; the one of just that name is the first.
printf 'start_main;main;f 5\nstart_main;main;g 7\nmain;h 2\n' >mains.folded
memoir peek mains.folded main >said
[ "$(grep -c '▶\|>' said)" = 2 ] && [ "$(grep '▶\|>' said | head -n 1 | awk '{ print $1, $5 }')" = '14 main' ] ||
    fail "peek: $(cat said)"

# Of many, the heavy ones have the lines, wherever they are; what is left out is said and counted.
{ for i in $(seq 1 60); do echo "main;many;f$i 5"; done; echo "main;one 200"; echo "other;two 150"; } >many.folded
memoir tree many.folded --rows 8 >said
for name in main many one other two; do
    grep -q " $name\$" said || fail "tree --rows 8 lacks $name: $(cat said)"
done
[ "$(grep -c '^ .*%' said)" -le 8 ] && grep -q -- '--rows 0' said || fail "tree --rows 8: $(cat said)"
memoir tree many.folded --rows 0 | grep -q 'f60$' || fail "tree --rows 0 has not all"
! memoir tree many.folded --rows 0 | grep -q -- '--rows' || fail "tree --rows 0 wants more"

# less than nothing
printf 'main;f 5\nmain;g 7\n' >before.folded
printf 'main;f 9\n' >after.folded
memoir tree after.folded --base before.folded >said
grep -q '^ *-3 .* main$' said || fail "tree: $(cat said)"
grep -q '^ *-7 .* g$' said || fail "tree: $(cat said)"
memoir traces after.folded --base before.folded | grep -q '^ *-7  g' || fail "traces below zero"
memoir diff before.folded after.folded | grep -q '7  *–  *-7  *gone' || fail "diff: $(memoir diff before.folded after.folded)"
finish
