#!/bin/sh
# SPDX-License-Identifier: MIT
# A scan for lost blocks ends with a right result or a refusal, and the program goes on, whatever it
# does meanwhile: many threads that wake all the time, mappings that come and go, fork, vfork, exit
# and exec, signals, 100 GiB of addresses, coroutines, memory that forked children do not get, blocks
# that the program has closed or has holes in, root given up, no further process; as process 1 of a namespace, and stopped by a signal in the middle of a scan.
# No copy is killed that the program has waited for.
set -eu
cc=${CC:-cc}
failed=0
$cc -g -O1 -pthread -I"$MEMOIR_ROOT/include" "$MEMOIR_ROOT/tests/programs/scans_in_odd_programs.c" \
    -o target "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"

odd() { # RESULTS COMMAND...: at least RESULTS scans have a result; 0: any number
    least=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status = 77 ] && return
    got=$(sed -n 's/^fine \([0-9]*\) of .*/\1/p' out)
    if [ $status != 0 ] || ! grep -q '^fine' out || [ "${got:-0}" -lt "$least" ]; then
        echo "$*: status $status"
        cat out err
        failed=1
    fi
}

odd 0 ./target crowd
for what in mappings forks vforks signals reserved coroutines dontfork wipeonfork dontfork_block wipeonfork_block huge dropped; do
    odd 1 ./target $what
done
odd 5 ./target closed
odd 5 ./target closed_in_place
odd 5 ./target holes
odd 5 ./target holes_in_place
odd 0 ./target no_process
for us in 500 2000 8000 30000; do
    odd 0 ./target exit $us
    odd 0 ./target exec $us
done
if unshare --pid --fork true 2>/dev/null; then
    odd 1 unshare --pid --fork --mount-proc ./target signals
fi

# Stopped and continued again and again, while it is scanned.
./target signals >out 2>err &
pid=$!
for turn in 1 2 3 4 5 6 7 8 9 10; do
    kill -STOP $pid 2>/dev/null || break
    sleep 0.01
    kill -CONT $pid 2>/dev/null || break
    sleep 0.01
done
wait $pid || { echo "stopped and continued: status $?"; cat out err; failed=1; }
grep -q '^fine' out || { echo "stopped and continued:"; cat out err; failed=1; }

# The scanning thread is held up until the copy has ended and the program has waited for it: its id may be
# another process's by then.
if strace -f -o /dev/null true 2>/dev/null; then
    odd 1 strace -f -o trace -e trace=kill,wait4 -e inject=wait4:delay_exit=50000 ./target waits_for_all
    if grep "kill.*ESRCH" trace; then
        echo "killed a copy that the program had waited for"
        failed=1
    fi
fi
exit $failed
