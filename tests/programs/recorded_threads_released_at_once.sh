#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial
# Thousands of recorded threads that begin to allocate at the same moment: the one that makes the
# recorder's file longer is often not running, and the others must not use up all processors
# while they wait for it. The limit is CPU time; awake, they took 45 s and more.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/threads_released_at_once.c" -o released
for how in "--rate 1" "--exact" "--exact --cpu"; do
    # shellcheck disable=SC2086 # two words
    (ulimit -t 10 && exec "$MEMOIR_TOOL" run $how --output out.mem ./released 2000 300 100 4096) >out 2>err
    code=$?
    [ $code -ne 77 ] || { echo "there can't be as many threads here: skipped"; exit 77; }
    [ $code -eq 0 ] || fail "$how: exit code $code: $(tail -n 5 out err)"
    "$MEMOIR_TOOL" out.mem >told 2>&1 || fail "$how: $(cat told)"
    grep -q '60[0-9] K\|600,' told || fail "$how: not 600,000 allocations: $(cat told)"
done
finish
