#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Guarded blocks (the option guard): the program's own handlers keep working, other faults pass through,
# threads and forked children go on, what can't be guarded is said once, and a report is one file, which
# `memoir guard` and `memoir run --guard` show with names.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/guarded_blocks.c" -o "$place/blocks"
cd "$place" || exit 2
ulimit -c 0

# run CODE OPTIONS CASE: runs a case with every block guarded; what it said is in `said`
run() {
    code=$1
    MEMOIR=guard:full,$2 LD_PRELOAD=$MEMOIR_LIB timeout 60 ./blocks "$3" >out 2>said
    got=$?
    [ "$got" -eq "$code" ] || {
        fail "$3 with $2: exit status $got, wanted $code"
        cat said
    }
}

says() { # COUNT PATTERN
    count=$(grep -Ec -e "$2" said)
    [ "$count" -eq "$1" ] || fail "'$2' was said $count times, wanted $1: $(head -5 said)"
}

run 7 "" own_handler
says 1 '^memoir: guard: overflow: write at 0x[0-9a-f]+, 0 bytes behind the end of a block of 64 bytes'
grep -q '^own handler$' out || fail "the program's handler did not run"
run 139 "" foreign_faults
says 0 memoir
run 134 guard.action:abort own_handler
run 0 guard.action:ignore goes_on
says 1 '^memoir: guard: overflow'
says 1 '^memoir: guard: use after free'
says 1 '^memoir: double free'
run 0 "" threads
says 0 memoir
run 0 "" system_call
says 0 memoir
run 0 "" shapes
says 0 memoir
run 0 guard.tight:on system_call
run 139 guard.suppress:another third_party
says 1 '^memoir: guard: overflow'
for pattern in 'another|third_party*s$' '^third_party' '/blocks$'; do
    run 0 "guard.suppress:$pattern" third_party
    says 0 '^memoir: (guard|double free)'
    says 1 '^  2 errors found by guard or debug, 2 of them suppressed$'
    says 1 '^  0 guarded blocks, 0 bytes with their pages; [0-9]* bytes of addresses in quarantine$'
done
run 0 guard.suppress:third_party,guard.quarantine:0 third_party_again
says 0 memoir
for option in guard.suppress:third_party guard.action:ignore; do
    run 139 $option third_party_strays
    says 1 '^memoir: guard: overflow: write at .*, 1048512 bytes behind'
done
run 134 guard.suppress:third_party_writes third_party
says 1 '^memoir: double free'
run 0 "" reads_before
run 139 guard.front:on reads_before
says 1 '^memoir: guard: underflow: read at 0x[0-9a-f]+, 16 bytes before the start of a block of 64 bytes'
run 139 guard.readable:on reads_far
says 1 '^memoir: guard: overflow: read at 0x[0-9a-f]+, [0-9]+ bytes behind the end of a block of 64 bytes'
run 0 guard.front:on shapes
says 0 memoir
run 0 guard.memory:1M few_addresses
says 1 '^memoir: guard: new blocks are no longer guarded: .*guard.memory'
run 0 guard.quarantine:0 shapes
(
    ulimit -v 400000
    run 0 "" few_addresses
    says 1 '^memoir: guard: (new blocks are no longer guarded|off)'
    [ "$failures" -eq 0 ]
) || fail "with 400 MB of addresses"

# A scan for lost blocks reads what guarded blocks hold.
for case in keeps loses; do
    MEMOIR=guard:sampled,guard.rate:1,heap.rate:1,leak.at_exit:on,capture:$place/$case.memoir \
        LD_PRELOAD=$MEMOIR_LIB ./blocks $case 2>said || fail "$case: $(cat said)"
    "$MEMOIR_TOOL" leaks --json "$case.memoir" >shown 2>&1
    grep -q '"leaked_bytes": 102400' shown && echo "$case lost" >>lost
done
[ "$(cat lost)" = "loses lost" ] || fail "lost blocks: $(cat lost) $(cat shown)"

# Sampled: threads, forks and shapes, at a rate that guards some of the blocks.
for case in threads shapes; do
    MEMOIR=guard:sampled,guard.rate:2,heap.rate:1K LD_PRELOAD=$MEMOIR_LIB ./blocks $case >out 2>said
    got=$?
    [ "$case:$got" = "shapes:1" ] || [ "$got" -eq 0 ] || fail "$case, sampled: $got $(cat said)"
    says 0 memoir
done

rm -f ./*.json
run 7 "" own_handler
set -- memoir-guard-*-1.json
[ -f "$1" ] && [ "$(stat -c %a "$1")" = 600 ] || fail "no report file of mode 600: $*"
"$MEMOIR_TOOL" guard "$1" >shown || fail "memoir guard failed"
grep -q '^    #0  own_handler  .*guarded_blocks.c:[0-9]*$' shown || fail "no name: $(cat shown)"
grep -q '^  allocated by thread' shown || fail "no second stack: $(cat shown)"
"$MEMOIR_TOOL" guard --json "$1" | grep -q '"function": "own_handler"' || fail "no name in JSON"
printf 'cut' >short.json && head -c 300 "$1" >>short.json
"$MEMOIR_TOOL" guard short.json >shown 2>&1 && fail "a torn report was read"
rm -f ./*.json
"$MEMOIR_TOOL" run --guard ./blocks own_handler >out 2>said
[ $? -eq 7 ] || fail "memoir run changed the exit status"
says 2 '^    #0  own_handler  .*guarded_blocks.c:[0-9]*$'
[ "$(grep -c '^  accessed by thread' said)" -eq 1 ] || fail "the stacks are not there once: $(cat said)"
grep -q '^  bytes (the block' said && ! grep -q 'names and lines:' said || fail "the report of the moment: $(cat said)"
"$MEMOIR_TOOL" run --guard --no-summary ./blocks own_handler >out 2>said
[ "$(grep -c '^  accessed by thread' said)" -eq 1 ] || fail "--no-summary: the stacks are not there once: $(cat said)"
rm -f ./memoir-guard-*.json
"$MEMOIR_TOOL" run --guard ./blocks own_handler >out 2>said
[ -f memoir-guard-*-1.json ] || fail "memoir run did not keep the report"
mkdir kept
"$MEMOIR_TOOL" run --guard --output kept/run.memoir ./blocks own_handler >out 2>said
grep -q '^  kept as kept/memoir-guard-[0-9]*-1.json$' said && [ -f kept/memoir-guard-*-1.json ] ||
    fail "the report is not beside the recording: $(cat said)"
finish
