#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' leak checker: HEAPCHECK in each mode, HEAP_CHECK_*, heap-checker.h; messages, files and
# ends as those of gperftools 2.10. A program that was built with gperftools' own header and library
# runs as it is; where these are installed, both libraries say the same about it.
set -eu
cxx=${CXX:-c++}
failed=0
mkdir -p files
lib=$(dirname "$MEMOIR_LIB")
$cxx -g -O1 -I"$MEMOIR_ROOT/include/memoir/compat" "$MEMOIR_ROOT/tests/programs/heap_checker.cc" \
    -o linked -L"$lib" -Wl,-rpath,"$lib" -lmemoir

fail() {
    echo "$*"
    [ ! -f err ] || cat out err
    failed=1
}

# run STATUS PROGRAM WORD [VARIABLE=VALUE]...: in out and err
run() {
    wanted=$1 program=$2 word=$3 status=0
    shift 3
    env HEAP_CHECK_DUMP_DIRECTORY=files "$@" "$program" $word >out 2>err || status=$?
    [ $status = "$wanted" ] || fail "$program $word $*: status $status, not $wanted"
}

says() { grep -qF -- "$1" err || fail "no '$1' about $program $word"; }
says_not() { ! grep -qF -- "$1" err || fail "'$1' about $program $word"; }
prints() { grep -qxF -- "$1" out || fail "no '$1' from $program $word"; }

check() { # PROGRAM [VARIABLE=VALUE]...
    of=$1
    shift
    rm -f files/*
    for mode in minimal normal strict as-is; do
        run 1 "$of" leak HEAPCHECK=$mode "$@"
        says 'WARNING: Perftools heap leak checker is active -- Performance may suffer'
        says 'Leak check _main_ detected leaks of 20000 bytes in 53 objects'
        says 'The 2 largest leaks:'
        says 'Leak of 15000 bytes in 3 objects allocated from:'
        says 'Leak of 5000 bytes in 50 objects allocated from:'
        grep -q '^	@ [0-9a-f]* main$' err || fail "$of: frames without names: $(grep -m3 '@' err)"
        says "pprof $of \"files/"
        says '_main_-end.heap" --inuse_objects --lines --heapcheck  --edgefraction=1e-10 --nodefraction=1e-10 --gv'
        says 'Exiting with error code (instead of crashing) because of whole-program memory leaks'
        run 0 "$of" none HEAPCHECK=$mode "$@"
        says 'No leaks found for check "_main_" (but no 100% guarantee'
        prints cleanup
    done
    [ "$(ls files/*._main_-end.heap | wc -l)" = 4 ] || fail "files: $(ls files)"
    file=$(ls files/*._main_-end.heap | head -1)
    grep -q '^heap profile:     53:    20000 \[    53:    20000\] @ heapprofile$' "$file" || fail "$file: $(head -1 "$file")"
    [ "$(grep -c '^     1:      100 \[     1:      100\] @ 0x' "$file")" = 50 ] || fail "$file has other lines"
    grep -q '^MAPPED_LIBRARIES:' "$file" || fail "$file has no list of libraries"
    # What the file holds, for both readers.
    "$MEMOIR_TOOL" top --json "$file" | grep -q '"lose' || fail "$file names nothing"

    run 0 "$of" leak HEAPCHECK=local "$@"
    says_not 'Leak check'
    run 0 "$of" part HEAPCHECK=local "$@"
    prints 'active 1'
    prints 'clean 1'
    says 'Leak check part detected leaks of'
    says '.part-end.heap'
    run 0 "$of" whole HEAPCHECK=normal "$@"
    prints 'whole 0 10'
    says 'Canceling the automatic at-exit whole-program memory leak check'
    run 1 "$of" many HEAPCHECK=normal "$@"
    says 'The 20 largest leaks:'
    says 'Skipping leaks numbered 20..24'
    run 1 "$of" many HEAPCHECK=normal HEAP_CHECK_MAX_LEAKS=0 "$@"
    says_not 'Skipping leaks'
    run 1 "$of" inside HEAPCHECK=normal "$@"
    says 'detected leaks of 4000 bytes in 1 objects'
    run 0 "$of" inside HEAPCHECK=normal HEAP_CHECK_MAX_POINTER_OFFSET=-1 "$@"
    says 'Found no leaks without max_pointer_offset restriction'
    run 1 "$of" odd HEAPCHECK=normal HEAP_CHECK_TEST_POINTER_ALIGNMENT=1 "$@"
    says 'Found no leaks without pointer alignment'
    run 0 "$of" odd HEAPCHECK=normal HEAP_CHECK_POINTER_SOURCE_ALIGNMENT=1 "$@"
    run 1 "$of" none HEAPCHECK=as-is HEAP_CHECK_IGNORE_GLOBAL_LIVE=0 "$@"
    says 'Leak of 1000 bytes in 1 objects allocated from:'
    run 1 "$of" none HEAPCHECK=draconian "$@"
    says 'Not looking for thread stacks'
    says 'Leak of 1000 bytes in 1 objects allocated from:'
    says 'Leak of 120 bytes in 1 objects allocated from:'
    run 1 "$of" fork HEAPCHECK=normal "$@"
    prints 'child 0'
    (
        ulimit -c 0
        run 134 "$of" part "$@" # BytesLeaked without a check
        says 'Heap checker is not active, hence checker "part" will do nothing!'
        says '*NoLeaks|SameHeap must execute before this call'
        exit $failed
    ) || failed=1
}

check ./linked
(
    ulimit -c 0
    run 134 ./linked leak HEAPCHECK=bogus
    says 'Unsupported heap_check flag: bogus'
    run 134 ./linked unchecked HEAPCHECK=normal
    says 'Some *NoLeaks|SameHeap method must be called on any created HeapLeakChecker'
    run 134 ./linked unignore HEAPCHECK=normal
    says 'has not been ignored'
    run 134 ./linked leak HEAPCHECK=normal HEAP_CHECK_IDENTIFY_LEAKS=1
    says 'leaked 5000 byte object 0x'
    says 'Whole-program memory leaks found.'
    exit $failed
) || failed=1
run 0 ./linked leak HEAPCHECK=
says 'Turning perftools heap leak checking off'
run 1 ./linked leak HEAPCHECK=normal PERFTOOLS_VERBOSE=-1
says_not 'Performance may suffer'
says_not 'Starting tracking the heap'
run 1 ./linked leak HEAPCHECK=normal PERFTOOLS_VERBOSE=10
says 'Starting tracking the heap'
run 0 ./linked leak HEAPCHECK= PERFTOOLS_VERBOSE=10
says 'Starting tracking the heap'
run 1 ./linked leak HEAPCHECK=normal HEAP_CHECK_DUMP_DIRECTORY=nowhere
says 'Could not write pprof profile to nowhere/linked.'
# Both profilers at once.
run 1 ./linked leak HEAPCHECK=normal HEAPPROFILE=both
says 'Dumping heap profile to both.0001.heap'
says 'detected leaks of 20000 bytes in 53 objects'
[ -s both.0001.heap ] || fail "no heap profile beside the check"
# A program without those calls, in C, and its exit status.
echo 'int main(void) { return 3; }' >plain.c
${CC:-cc} plain.c -o plain
run 3 ./plain '' HEAPCHECK=normal LD_PRELOAD="$MEMOIR_LIB"

# On a busy machine the thread that asks may wait for a processor while it blocks signals.
burners=
for burner in 1 2 3 4 5 6 7 8 9 10; do
    timeout 300 sh -c 'while :; do :; done' &
    burners="$burners $!"
done
for turn in 1 2 3 4 5 6 7 8 9 10; do
    run 0 ./linked whole HEAPCHECK=normal
    prints 'whole 0 10'
done
# shellcheck disable=SC2086
kill $burners

# gperftools' own header and library, where they are. Whether a program that is linked with
# libtcmalloc starts at all is the question of programs/gperftools_class.sh.
$cxx -g -O1 "$MEMOIR_ROOT/tests/programs/heap_checker.cc" -o built -ltcmalloc 2>/dev/null || rm -f built
if [ -e built ] && ! (ulimit -c 0; LD_PRELOAD=$MEMOIR_LIB ./built none >out 2>err); then
    echo "not compared with gperftools: a program that is linked with it does not start: $(cat err)"
elif [ -e built ]; then
    check ./built LD_PRELOAD="$MEMOIR_LIB"
    for word in leak none; do # theirs and ours
        env HEAP_CHECK_DUMP_DIRECTORY=files HEAPCHECK=normal ./built $word >out 2>theirs || :
        env HEAP_CHECK_DUMP_DIRECTORY=files HEAPCHECK=normal LD_PRELOAD="$MEMOIR_LIB" ./built $word >out 2>ours || :
        for side in theirs ours; do
            sed -e '/w\/o callers/d' -e '/^If the leak report/d' -e '/^\*\*\* /d' -e 's/@ [0-9a-f]* .*/@ ADDRESS/' -e 's/[.][0-9]*[.]_main_/.PID._main_/' \
                -e 's/found .*/found/' $side >$side.same
        done
        diff theirs.same ours.same || fail "$word: gperftools and memoir differ"
    done
fi
exit $failed
