#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a thread allocated and freed is its own in `memoir threads`, also when it has ended.
. "$(dirname "$0")/common.sh"
build "$(dirname "$0")/threads_keep_what_they_did.c" -o "$place/workers"
settle

"$MEMOIR_TOOL" run --exact -o run.memoir ./workers >/dev/null 2>&1 || fail "no recording"
"$MEMOIR_TOOL" threads run.memoir >said 2>&1 || fail "no answer"
for number in 0 1 2 3; do
    grep -q "19\.5 MiB .* worker-$number" said || fail "worker-$number has not what it allocated"
done
! grep -q 'other threads' said || fail "something is counted for other threads"

# 200 at the same time; neither what was not sampled nor the sum of old threads is a thread.
"$MEMOIR_TOOL" run --exact -o many.memoir ./workers 200 >/dev/null 2>&1 || fail "no second recording"
"$MEMOIR_TOOL" threads -n 0 many.memoir >many 2>&1 || fail "no second answer"
grep -q ' 201 threads' many || fail "not 201 threads: $(head -1 many)"
same=$(grep -c '19\.5 MiB .* worker-' many)
[ "$same" -eq 200 ] || fail "only $same of 200 threads have what they allocated"
# In a sampled run, too: by the counters of the threads' heaps, whatever was recorded of them.
whole() { # FILE WHAT
    "$MEMOIR_TOOL" threads -n 0 "$1" >rough 2>&1 || fail "$2: no answer"
    grep -q ' [45] threads' rough || fail "$2: not 4 threads, or 5 with the first: $(head -9 rough)"
    "$MEMOIR_TOOL" threads --json "$1" >rough.json || fail "$2: no JSON"
    "$MEMOIR_TOOL" top -n 0 --by thread --metric alloc "$1" >rough.top 2>&1 || fail "$2: no table"
    for number in 0 1 2 3; do
        grep -Eq " 19\.5 MiB +[0-9]+ % +20\.0 K .* worker-$number" rough ||
            fail "$2: worker-$number has not what it allocated: $(cat rough)"
        grep -Eq "^ *19\.5 MiB +[0-9]+ % .* worker-$number" rough.top ||
            fail "$2: another answer of top: $(cat rough.top)"
    done
    sum=$(sed -n 's/.*"alloc_objects": \([0-9]*\).*/\1/p' rough.json |
        awk '{ sum += $1 } END { print sum }')
    total=$("$MEMOIR_TOOL" top --json --metric count "$1" |
        sed -n 's/^ *"total": \([0-9]*\),/\1/p' | head -n 1)
    [ "$sum" = "$total" ] || fail "$2: the rows have $sum allocations, the program $total"
}
"$MEMOIR_TOOL" run -o rough.memoir ./workers >/dev/null 2>&1 || fail "no third recording"
whole rough.memoir "one in 512 KiB"
"$MEMOIR_TOOL" run --rate 64K -o fine.memoir ./workers >/dev/null 2>&1 || fail "no fourth recording"
whole fine.memoir "one in 64 KiB"
"$MEMOIR_TOOL" run -o killed.memoir ./workers 4 killed >/dev/null 2>&1
whole killed.memoir "killed"

# A part of what a thread did is estimated, and says so.
"$MEMOIR_TOOL" threads --focus work fine.memoir >part 2>&1 || fail "no answer to a part"
grep -q '±[0-9]*% .* worker-1' part || fail "an estimate without its error: $(cat part)"
"$MEMOIR_TOOL" threads --json --focus work fine.memoir | grep -q '"alloc_space_error": 0\.[0-9]*[1-9]' ||
    fail "none in JSON"
! grep -q '±' said || fail "counted values have errors"
"$MEMOIR_TOOL" threads --json run.memoir | grep -q _error.*[1-9] && fail "and in JSON"
[ "$failures" -eq 0 ] || cat said
finish
