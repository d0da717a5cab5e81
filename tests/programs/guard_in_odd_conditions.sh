#!/bin/sh
# SPDX-License-Identifier: MIT
# A heap error at a bad moment, or in bad surroundings: one report or an honest line, the end that the program
# would have had without us, and never a hang. With guard:full, and with harden:on where that finds it.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/guard_in_odd_conditions.c" -g -pthread -o "$place/odd"
cd "$place" || exit 2
ulimit -c 0

# run CODE OPTIONS COMMAND...: what it said is in `said`
run() {
    code=$1 options=$2
    shift 2
    MEMOIR=$options "$@" >out 2>said
    got=$?
    [ "$got" -ne 77 ] || { echo "$*: this kernel does not let us: left out"; return 1; }
    [ "$got" -eq "$code" ] || {
        fail "$* with $options: exit status $got, wanted $code"
        cat said
    }
}

says() { # COUNT PATTERN
    count=$(grep -Ec -e "$2" said)
    [ "$count" -eq "$1" ] || fail "'$2' was said $count times, wanted $1: $(head -5 said)"
}

overflow='^memoir: guard: overflow: write at 0x[0-9a-f]+, 0 bytes behind the end of a block of 64 bytes'
freed='^memoir: guard: use after free: write at 0x[0-9a-f]+, 1 bytes into a freed block of 64 bytes'
odd="env LD_PRELOAD=$MEMOIR_LIB ./odd"

# shellcheck disable=SC2086 # a command
{
    for case in in_handler in_last_destructor blocked without_mappings; do
        run 139 guard:full $odd $case && says 1 "$overflow"
    done
    for options in guard:full debug:on debug:on,guard.suppress:unheard_of; do
        run 134 $options $odd on_a_small_stack && says 1 'double free of|has been already deallocated'
    done
    run 134 debug:on $odd mismatch_on_a_small_stack && says 1 'allocated with malloc being deallocated with delete'
    run 0 guard:full $odd in_fork && says 1 "$overflow"
    run 139 guard:full $odd locked && says 1 "$freed"
    for quarantine in 64K 1M 64M; do
        run 139 guard:full,guard.quarantine:$quarantine $odd locked_many && says 1 "$overflow"
        run 139 guard:full,guard.quarantine:$quarantine ./odd old_kernel $odd locked_many && says 1 "$overflow"
    done
    run 7 guard:full $odd raw_handler && says 0 memoir # its handler has taken the place of ours
    grep -q '^raw handler$' out || fail "the handler that was installed past libc did not run"

    # A kernel before 6.13: no guard markers.
    run 139 guard:full ./odd old_kernel $odd overflow && says 1 "$overflow"
    run 139 guard:full ./odd old_kernel $odd use_after_free && says 1 "$freed"
    run 139 guard:full ./odd old_kernel $odd locked && says 1 "$freed"
    run 139 guard:full ./odd old_kernel $odd without_mappings && says 1 "$overflow" &&
        says 1 '^memoir: guard: new blocks are no longer guarded: the system gives no more memory or mappings'
    run 134 harden:on ./odd old_kernel $odd hardened && says 1 '^memoir: overflow of 0x[0-9a-f]+ .block of 64 bytes'
    run 139 harden:on ./odd old_kernel $odd hardened_for_long
    run 139 harden:on $odd hardened_for_long
    run 134 harden:on $odd hardened && says 1 '^memoir: overflow of 0x[0-9a-f]+ .block of 64 bytes'

    # No file can be made.
    run 139 "guard:full,guard.file:$place/nowhere/x" $odd overflow && says 1 "$overflow" &&
        says 1 '^  no report file: it can.t be made here .error 2.; guard.file:PATH'
    (
        ulimit -f 0
        MEMOIR=guard:full exec $odd overflow 2>&1 >/dev/null
    ) | cat >said
    says 1 "$overflow"
    says 1 '^  no report file: the limit on the size of files'
    (
        ulimit -f 0
        MEMOIR=guard:full exec $odd overflow >/dev/null 2>&1
    )
    [ $? -eq 139 ] || fail "the limit on the size of files decided how the program ended"
}

if command -v gdb >/dev/null; then
    gdb -batch -nx -ex "set env LD_PRELOAD $MEMOIR_LIB" -ex 'set env MEMOIR guard:full' -ex 'set startup-with-shell off' \
        -ex run -ex 'info symbol $pc' --args ./odd overflow >out 2>&1
    if grep -q 'ptrace: Operation not permitted' out; then
        echo "gdb may not trace here: left out"
    else
        grep -q '^Program received signal SIGSEGV' out && grep -q '^overflow' out ||
            fail "gdb did not stop in the function that wrote: $(tail -5 out)"
    fi
fi
finish
