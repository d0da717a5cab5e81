#!/bin/sh
# SPDX-License-Identifier: MIT
# memoir run --leaks: blocks that lists, stacks, registers, thread-local variables, keys and mappings
# of the program lead to are not lost, and those that nothing leads to are, with their sites; exit
# status 1 for them and 0 without. The rules exit and growth are still there.
set -eu
cc=${CC:-cc}
failed=0
$cc -g -O1 -pthread "$MEMOIR_ROOT/tests/programs/lost_blocks.c" -o lost

wanted() { # WHAT PATTERN FILE
    grep -q "$2" "$3" || { echo "$1: no '$2' in:"; cat "$3"; failed=1; }
}

for turn in 1 2 3; do
    rm -f ./*.memoir
    status=0
    "$MEMOIR_TOOL" run --leaks ./lost >out 2>err || status=$?
    [ $status = 1 ] || { echo "lost blocks: status $status, not 1"; cat err; failed=1; }
    wanted "summary $turn" '^definitely lost: 4.11 KiB in 2 places' err
    wanted "summary $turn" '20 objects of 208 B' err
    "$MEMOIR_TOOL" leaks --json ./*.memoir >json 2>/dev/null && { echo "leaks: status 0"; failed=1; }
    wanted "leaks $turn" '"rule": *"lost"' json
    wanted "leaks $turn" '"leaked_bytes": *4208' json
done
"$MEMOIR_TOOL" check --no-leaks ./*.memoir >out 2>&1 && { echo "check passed"; failed=1; }
"$MEMOIR_TOOL" leaks --rule exit --json ./*.memoir >json 2>/dev/null || :
wanted "rule exit" '"rule": *"exit"' json
rm -f ./*.memoir
"$MEMOIR_TOOL" run --leaks ./lost none >out 2>err || { echo "nothing lost: status $?"; cat err; failed=1; }
wanted "nothing lost" '^nothing is lost' err
"$MEMOIR_TOOL" check --no-leaks ./*.memoir >out 2>&1 || { echo "check fails:"; cat out; failed=1; }
# The control: what the rule exit calls a leak is more.
"$MEMOIR_TOOL" leaks --rule exit ./*.memoir >out 2>&1 && { echo "the control found nothing"; failed=1; }
exit $failed
