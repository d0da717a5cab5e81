#!/bin/sh
# SPDX-License-Identifier: MIT
# `memoir stats`: its lines add up, from the kernel's resident memory to what the program asked for,
# and parts of known size are where they belong.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2
build "$root/tests/programs/stats_add_up.c" -pthread -o parts
MEMOIR=heap.rate:0,return.delay:never LD_PRELOAD=$MEMOIR_LIB ./parts >ready &
process=$!
trap 'kill $process 2>/dev/null; rm -rf "$place"' EXIT
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ ! -s ready ] || break
    sleep 1
done
"$MEMOIR_TOOL" stats $process --json >stats.json 2>errors || fail "exit code $?: $(cat errors)"
"$MEMOIR_TOOL" stats $process >stats.txt 2>errors || fail "exit code $?: $(cat errors)"
python3 - <<'END' || fail "$(cat stats.txt)"
import json, sys
rows = json.load(open("stats.json"))["rows"]
left = None
of = {}
for row in rows:
    of[row["key"]] = row["bytes"]
    if row["sum"]:
        if left is not None and abs(left - row["bytes"]) > 0:
            sys.exit(f"{row['name']}: {row['bytes']}, but {left} is left")
        left = row["bytes"]
    else:
        left -= row["bytes"]
def within(key, low, high):
    if not low <= of.get(key, 0) <= high:
        sys.exit(f"{key}: {of.get(key, 0)}, not {low} to {high}")
MiB = 1 << 20
within("other", 8 * MiB, 10 * MiB)
within("stacks", 4 * MiB, 6 * MiB)
within("dirty", 49 * MiB, 52 * MiB)
within("asked", 2000 * 1100, 2000 * 1100 + 100000)
within("rounding", 2000 * 100, 2000 * 250 + 20000)
if of["holes"] + of["cached"] < 18000 * 1100:
    sys.exit(f"free blocks: {of['holes']} and {of['cached']}")
within("resident", sum(of[k] for k in ("other", "stacks", "dirty", "live")), 200 * MiB)
END
[ "$(wc -l <stats.txt)" -ge 13 ] || fail "too few lines: $(cat stats.txt)"
kill $process
"$MEMOIR_TOOL" stats $process >out 2>&1
[ $? -eq 4 ] || fail "of a process that has ended: exit code, and $(cat out)"
"$MEMOIR_TOOL" stats >out 2>&1
[ $? -eq 2 ] || fail "of nothing: exit code, and $(cat out)"
finish
