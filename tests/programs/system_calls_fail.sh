#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# The k-th mmap, munmap, mremap, madvise or mprotect fails, once or from there on: the program sees
# NULL and ENOMEM or nothing at all, and its heap stays consistent. It is linked statically, so
# that all those calls are the allocator's and the start-up's own. Arguments: how far k goes, and
# its step after the first 8.
. "$(dirname "$0")/common.sh"
need strace
last=${1:-36}
step=${2:-4}

build -static "$root/tests/programs/system_calls_fail.c" "$MEMOIR_STATIC" -o "$place/program"
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"
ulimit -c 0

expect 0 "$place/program"
strace -f -c -o "$place/calls" "$place/program" || fail "it fails under strace alone"

# A start-up of the C library's that gets no memory for itself may end as it likes; from main on,
# ours counts.
run() { # CALL WHEN
    strace -f -o "$place/trace" -e trace="$1" -e inject="$1":error=ENOMEM:when="$2" "$place/program" \
        >"$place/out" 2>&1
    code=$?
    grep -q INJECTED "$place/trace" || [ "$2" != 1 ] || fail "$1: nothing was injected"
    [ $code -eq 0 ] || ! grep -q started "$place/out" ||
        fail "$1 fails at $2: exit code $code: $(sed -n 2,3p "$place/out")"
}

for call in mmap munmap mremap madvise mprotect; do
    grep -q " $call\$" "$place/calls" || continue
    made=$(awk -v call="$call" '$NF == call { print $4 }' "$place/calls")
    for which in "" +; do
        k=1
        while [ $k -le "$last" ] && [ $k -le "$made" ]; do
            run $call $k$which
            k=$((k < 8 ? k + 1 : k + step))
        done
    done
    echo "$call: $made calls, k up to $last tried"
done
finish
