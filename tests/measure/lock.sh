#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts with callgrind what a free mutex costs, locked and unlocked: off, not an instruction more than
# without the library; with locks:on at most 20 more.
#
# Positive control: with locks:on it must be seen to cost something.
tools=valgrind
. "$(dirname "$0")/common.sh"
"${CC:-cc}" -O1 -w -D_GNU_SOURCE= "$root/tests/programs/lock_waits.c" -pthread -ldl -o "$place/waits"

counted() { # LIBRARY OPTIONS: instructions of a lock and its unlock
    for times in 1000 101000; do
        LD_PRELOAD=$1 MEMOIR=$2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$place/waits" free $times 2>&1 |
            sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
    done | awk 'NR == 1 { first = $1 } NR == 2 { printf "%.0f\n", ($1 - first) / 100000 }'
}

bare=$(counted "" "") off=$(counted "$library" locks:off) on=$(counted "$library" locks:on)
echo "a free mutex, lock and unlock: $bare instructions, $off with the library, $on with locks:on"
[ "$off" -eq "$bare" ] || { echo "off costs something"; exit 1; }
[ "$on" -le $((bare + 20)) ] || { echo "on costs more than 20 instructions"; exit 1; }
[ "$on" -gt "$bare" ] || { echo "on is not on: the count can't fail"; exit 1; }
