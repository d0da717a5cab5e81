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
"$MEMOIR_TOOL" run --rate 64K -o rough.memoir ./workers >/dev/null 2>&1 || fail "no third recording"
"$MEMOIR_TOOL" threads rough.memoir >rough 2>&1 || fail "no third answer"
grep -q ' [45] threads' rough || fail "not 4 threads, or 5 with the first: $(head -9 rough)"

# what is estimated says so
grep -q '±[0-9]*% .* worker-1' rough || fail "an estimate without its error: $(cat rough)"
"$MEMOIR_TOOL" threads --json rough.memoir | grep -q '"alloc_space_error": 0\.[0-9]*[1-9]' || fail "none in JSON"
! grep -q '±' said || fail "counted values have errors"
"$MEMOIR_TOOL" threads --json run.memoir | grep -q _error.*[1-9] && fail "and in JSON"
[ "$failures" -eq 0 ] || cat said
finish
