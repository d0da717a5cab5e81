#!/bin/sh
# SPDX-License-Identifier: MIT
# LeakSanitizer's face: its report, summary and exit status with leak.lsan, LSAN_OPTIONS in that mode
# alone, suppressions, what a program defines, the functions; and a real sanitizer keeps its own.
set -eu
cc=${CC:-cc}
failed=0
lib=$(dirname "$MEMOIR_LIB")
source=$MEMOIR_ROOT/tests/programs/lsan.c
for kind in '' -DOWN_OPTIONS -DTURNED_OFF; do
    $cc -g -O1 $kind "$source" -o "linked$kind" -L"$lib" -Wl,-rpath,"$lib" -lmemoir
done

fail() {
    echo "$*"
    cat out err
    failed=1
}

run() { # STATUS PROGRAM WORD [VARIABLE=VALUE]...
    wanted=$1 program=$2 word=$3 status=0
    shift 3
    env "$@" "$program" $word >out 2>err || status=$?
    [ $status = "$wanted" ] || fail "$program $word $*: status $status, not $wanted"
}
says() { grep -q -- "$1" err || fail "no '$1' about $program $word"; }
says_not() { ! grep -q -- "$1" err || fail "'$1' about $program $word"; }
prints() { grep -qx -- "$1" out || fail "no '$1' from $program $word"; }

run 23 ./linked leak MEMOIR=leak.lsan:on
prints end
says '^==[0-9]*==ERROR: LeakSanitizer: detected memory leaks$'
says '^Direct leak of 500 byte(s) in 5 object(s) allocated from:$'
says '^Direct leak of 40 byte(s) in 1 object(s) allocated from:$'
says '^Indirect leak of 360 byte(s) in 9 object(s) allocated from:$'
says '^    #0 0x[0-9a-f]* in lose_plain (/.*/linked+0x[0-9a-f]*)$'
says '^SUMMARY: LeakSanitizer: 900 byte(s) leaked in 15 allocation(s).$'
run 0 ./linked none MEMOIR=leak.lsan:on
[ ! -s err ] || fail "something is said of no leaks"
# The variable is for the mode; others may have set it for their own programs.
run 0 ./linked leak LSAN_OPTIONS=exitcode=9
[ ! -s err ] || fail "something is said without the mode"
run 9 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=exitcode=9:report_objects=1
says '^Objects leaked above:$'
says '^0x[0-9a-f]* (100 bytes)$'
run 0 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=exitcode=0
says '^SUMMARY: '
run 0 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=detect_leaks=0
says_not LeakSanitizer
run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=max_leaks=1
[ "$(grep -c 'leak of' err)" = 1 ] || fail "max_leaks"
says '^The 1 top leak(s):$'
says '^Omitting [1-9][0-9]* more leak(s)\.$'
says '^SUMMARY: LeakSanitizer: 900 byte(s) leaked in 15 allocation(s).$'

for pattern in lose_list '^lose_l*t$' 'lose*list' ; do
    printf '# a comment\nleak:%s\n' "$pattern" >known
    run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=suppressions=known
    says '^SUMMARY: LeakSanitizer: 500 byte(s) leaked in 5 allocation(s).$'
    says '^Suppressions used:$'
    grep -qF "     10        400 $pattern" err || fail "the suppression $pattern is not listed"
done
for pattern in '^ose_list' 'lose_lis$' 'lose_list*x'; do # the control
    echo "leak:$pattern" >known
    run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=suppressions=known
    says '^SUMMARY: LeakSanitizer: 900 byte(s)'
done
echo 'leak:/linked$' >known
run 0 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=suppressions=known
says_not SUMMARY
run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=suppressions=nowhere
says "failed to read suppressions file 'nowhere'"

# Values in quotes, as in the sanitizers.
echo 'leak:lose_list' >'known: leaks'
run 23 ./linked leak MEMOIR=leak.lsan:on "LSAN_OPTIONS=suppressions='known: leaks':max_leaks=5"
says '^SUMMARY: LeakSanitizer: 500 byte(s) leaked in 5 allocation(s).$'
run 9 ./linked leak MEMOIR=leak.lsan:on 'LSAN_OPTIONS=suppressions="known: leaks":exitcode="9"'
says '^SUMMARY: LeakSanitizer: 500 byte(s) leaked in 5 allocation(s).$'

rm -f log.*
run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=log_path=log
[ ! -s err ] || fail "log_path, and something on standard error"
grep -q '^SUMMARY: LeakSanitizer: 900 byte(s) leaked in 15 allocation(s).$' log.* ||
    fail "no report at log_path"
run 23 ./linked leak MEMOIR=leak.lsan:on LSAN_OPTIONS=log_path=nowhere/log
says "can't open file: nowhere/log\.[0-9]*$"
says '^SUMMARY: '

# Forked processes are checked, too.
run 0 ./linked fork MEMOIR=leak.lsan:on
prints 'child 23'
says '^SUMMARY: LeakSanitizer: 200 byte(s) leaked in 2 allocation(s).$'

# Without stacks thread-local variables count all the same.
run 0 ./linked thread MEMOIR=leak.lsan:on
[ ! -s err ] || fail "a block of a live thread is called lost"
run 23 ./linked thread MEMOIR=leak.lsan:on LSAN_OPTIONS=use_stacks=0:use_registers=0
says '^SUMMARY: LeakSanitizer: 70 byte(s) leaked in 1 allocation(s).$'

run 0 ./linked loader MEMOIR=leak.lsan:on
prints 'loader none'
prints 'loader /nowhere'

run 7 ./linked-DOWN_OPTIONS leak MEMOIR=leak.lsan:on
says '^SUMMARY: LeakSanitizer: 500 byte(s)'
run 0 ./linked-DTURNED_OFF leak MEMOIR=leak.lsan:on
says_not LeakSanitizer
run 23 ./linked calls MEMOIR=heap.rate:0
prints 'registered 0'
prints 'unregistered 1'
! grep -q 'not reached' out || fail "a check by call does not end the program"

# A real sanitizer's functions are its own. It knows nothing of blocks that its malloc did not give,
# and finds no leak; a report would be ours.
if $cc -g -O1 -fsanitize=leak "$source" -o real 2>/dev/null && ./real none >out 2>err; then
    run 0 ./real calls LD_PRELOAD="$MEMOIR_LIB" MEMOIR=leak.lsan:on
    says_not LeakSanitizer
    prints 'not reached'
fi
exit $failed
