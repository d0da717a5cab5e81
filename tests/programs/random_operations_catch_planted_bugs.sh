#!/bin/sh
# SPDX-License-Identifier: MIT
# The positive control of the random-operation engine: one build for each bug that
# tests/stress/target.h can plant. Each must be found, and for the right reason; the build without
# a bug must pass.
set -u
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
failed=0

run() { # PLANT THREADS
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 -fno-builtin -D_GNU_SOURCE= -DPLANT="$1" -I"$root" -I"$root/include" -w \
        "$root/tests/stress/random_operations.c" -o "$place/engine" -pthread || exit 2
    LD_PRELOAD=$MEMOIR_LIB "$place/engine" --seed 7 --ops 600000 --threads "$2" >"$place/out" 2>&1
}

for threads in 1 3; do
    if ! run PLANT_NOTHING $threads; then
        echo "without a planted bug, $threads threads: failed"
        tail -n 3 "$place/out"
        failed=1
    fi
done

while read -r plant verdict; do
    for threads in 1 3; do
        if run "$plant" $threads; then
            echo "$plant with $threads threads: not caught"
            failed=1
        elif ! grep -Eq "^FAILED .*: ($verdict)" "$place/out"; then
            echo "$plant with $threads threads: caught for the wrong reason"
            tail -n 3 "$place/out"
            failed=1
        fi
    done
done <<END
PLANT_OVERLAP overlap
PLANT_DUPLICATE overlap
PLANT_NULL null
PLANT_MISALIGNED alignment
PLANT_DIRTY not zero
PLANT_LOST_BYTE contents lost
PLANT_SCRIBBLE contents of
PLANT_SHORT usable
PLANT_LONG overlap|usable
PLANT_ERRNO errno
PLANT_LEAK accounting
PLANT_MISCOUNT accounting in all
PLANT_MISCOUNT_THREAD accounting of the thread
PLANT_MISCOUNT_CLASS accounting of class
END
exit $failed
