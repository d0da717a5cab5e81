#!/bin/sh
# SPDX-License-Identifier: MIT
# memoir leaks PID and memoir ctl PID leaks: a running program is scanned again and again, while its
# threads allocate, wait, and block signals; what an ended thread lost is found, although its stack
# is still there; nothing else is; and the program sees nothing of it.
set -eu
cc=${CC:-cc}
failed=0
$cc -g -O1 -pthread "$MEMOIR_ROOT/tests/programs/leaks_of_a_running_program.c" -o target

wanted() { # WHAT PATTERN FILE
    grep -q "$2" "$3" || { echo "$1: no '$2' in:"; cat "$3"; failed=1; }
}

scan() { # OPTIONS
    mkfifo in
    MEMOIR=$1 LD_PRELOAD=$MEMOIR_LIB ./target <in >out 2>err &
    pid=$!
    exec 3>in
    until grep -q ready out; do sleep 0.05; done
    for turn in 1 2 3 4 5 6; do
        status=0
        "$MEMOIR_TOOL" leaks --json $pid >json 2>said || status=$?
        [ $status = 1 ] || { echo "$1: status $status, not 1"; cat json said; failed=1; }
        wanted "$1" '"rule": *"lost"' json
        wanted "$1" '"leaked_bytes": *9600' json
    done
    wanted "$1, before it" '^memoir: a scan of process .*stand still for about [0-9]* ms, ' said
    wanted "$1, what it did" '"stood_us": *[1-9]' json
    "$MEMOIR_TOOL" leaks --dry-run $pid >said || { echo "$1: --dry-run fails"; failed=1; }
    wanted "$1, --dry-run" '^memoir: a scan of process .*stand still' said
    "$MEMOIR_TOOL" ctl $pid leaks >answer || { echo "$1: ctl fails"; failed=1; }
    wanted "$1, ctl" '^leaks.definite_blocks:30$' answer
    wanted "$1, ctl" '^leaks.possible_blocks:0$' answer
    wanted "$1, ctl" '^leaks.silent_threads:1$' answer
    wanted "$1, ctl" '^leaks.in_place:0$' answer
    "$MEMOIR_TOOL" leaks --rule growth --json $pid >json 2>/dev/null || :
    wanted "$1, growth" '"rule": *"growth"' json
    # A later dump does not tell of the earlier scan.
    "$MEMOIR_TOOL" ctl $pid dump later.memoir
    "$MEMOIR_TOOL" leaks --json later.memoir >json 2>/dev/null || :
    wanted "$1, later" '"rule": *"none"' json
    echo >&3
    exec 3>&-
    wait $pid || { echo "$1: the program ended with $?"; failed=1; }
    wanted "$1" '^fine$' out
    [ ! -s err ] || { echo "$1: on standard error:"; cat err; failed=1; }
    rm -f in out later.memoir
}

scan heap.rate:0
scan heap.rate:512K
# What a scan found while the program ran does not change the exit status of memoir run: that is for --leaks.
mkfifo in
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -o rec.memoir sh -c 'echo $$ >pid; exec ./target' <in >out 2>err &
run=$!
exec 3>in
until grep -q ready out; do sleep 0.05; done
status=0
"$MEMOIR_TOOL" leaks "$(cat pid)" >json 2>said || status=$?
[ $status = 1 ] || { echo "memoir run, leaks: status $status, not 1"; cat json said; failed=1; }
echo >&3
exec 3>&-
wait $run || { echo "memoir run of a program that was scanned ended with $?"; failed=1; }
rm -f in
# One that is not there; and one without memoir, of which no scan is announced.
"$MEMOIR_TOOL" leaks 999999999 >out 2>&1 && { echo "a process that is not there"; failed=1; }
sleep 100 &
"$MEMOIR_TOOL" leaks $! >out 2>said && { echo "a process without memoir"; failed=1; }
kill $!
wanted "without memoir" 'runs without memoir' said
grep 'a scan of process' said && { echo "without memoir: a scan is announced"; failed=1; }
exit $failed
