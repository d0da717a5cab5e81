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
[ "$failures" -eq 0 ] || cat said
finish
