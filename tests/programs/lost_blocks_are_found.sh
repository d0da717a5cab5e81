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
    wanted "summary $turn" '^definitely lost: 4.11 KiB at 2 sites' err
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
# Suppressions of both kinds, the exit status asked for, and no words.
runs() { # STATUS ARGUMENT...
    want=$1 status=0
    shift
    "$MEMOIR_TOOL" run "$@" >out 2>err || status=$?
    [ $status = "$want" ] || { echo "run $*: status $status, not $want"; cat err; failed=1; }
    rm -f ./*.memoir
}
echo 'leak:^lose$' >lsan.txt
printf '{\n   known\n   Memcheck:Leak\n   fun:*alloc\n   ...\n   fun:lose\n   ...\n}\n' >valgrind.txt
runs 1 --leaks ./lost
# Also where another process of the run has a larger heap, which nothing of is lost.
$cc -g -O1 "$MEMOIR_ROOT/tests/programs/lost_in_a_child.c" -o lost_in_a_child
runs 1 --leaks ./lost_in_a_child
wanted "child" '^memoir: 1 other process lost blocks: [0-9]*; --output FOLDER/ keeps' err
runs 0 --leaks --suppressions lsan.txt ./lost_in_a_child
runs 7 --leaks --error-exitcode 7 ./lost
runs 0 --leaks --error-exitcode 7 ./lost none
runs 7 --leaks --error-exitcode 7 -- sh -c './lost; exit 3'
runs 3 --leaks -- sh -c './lost; exit 3'
runs 0 --leaks --suppressions lsan.txt ./lost
runs 0 --leaks --error-exitcode 7 --suppressions valgrind.txt ./lost
runs 1 --leaks --no-summary ./lost
[ ! -s err ] || { echo "--no-summary says:"; cat err; failed=1; }
runs 3 --leaks --suppressions missing.txt ./lost
# Without a scan there is no verdict: 4, and a line says why; the program's own status stays.
printf '#include <stdlib.h>\n#include <unistd.h>\nint main(int n, char **v)\n{\n    void *block = malloc(100);\n    free(block);\n    return block ? n > 1 ? _exit(atoi(v[1])), 0 : 0 : 1;\n}\n' >ends.c
$cc ends.c -o ends
runs 0 --leaks ./ends
runs 4 --leaks ./ends 0
wanted "no scan" '^memoir: no scan for lost blocks was made' err
runs 4 --leaks --error-exitcode 7 --no-summary ./ends 0
wanted "no scan" '^memoir: no scan for lost blocks was made' err
runs 3 --leaks ./ends 3
wanted "no scan" '^memoir: no scan for lost blocks was made' err
if $cc -static ends.c -o still 2>/dev/null; then
    runs 4 --leaks ./still
    runs 0 ./still
fi
runs 2 --leaks --error-exitcode 256 ./lost
runs 2 --error-exitcode 7 ./lost
# The control: what the rule exit calls a leak is more.
"$MEMOIR_TOOL" leaks --rule exit ./*.memoir >out 2>&1 && { echo "the control found nothing"; failed=1; }
exit $failed
