#!/bin/sh
# SPDX-License-Identifier: MIT
# `memoir stats`, of a process and of a capture: its lines add up, from the kernel's resident memory
# to what the program asked for, and parts of known size are where they belong.
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
"$MEMOIR_TOOL" ctl $process dump "$place/parts.memoir" >out 2>&1 || fail "no dump: $(cat out)"
"$MEMOIR_TOOL" stats parts.memoir --json >file.json 2>errors || fail "exit code $?: $(cat errors)"
"$MEMOIR_TOOL" stats >file.txt 2>errors || fail "of the newest capture: $?: $(cat errors)"
grep -q '^parts.memoir$\|/parts.memoir$' file.txt || fail "the newest capture: $(cat file.txt)"
"$MEMOIR_TOOL" stats $process --interval 100ms >often.txt 2>&1 &
often=$!
cat >check.py <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
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
if "stacks" in of:
    within("other", 8 * MiB, 10 * MiB)
    within("stacks", 4 * MiB, 6 * MiB)
else: # of a capture: both together, and data of libraries
    within("other", 12 * MiB, 18 * MiB)
within("dirty", 49 * MiB, 52 * MiB)
within("asked", 2000 * 1100, 2000 * 1100 + 100000)
within("rounding", 2000 * 100, 2000 * 250 + 20000)
if of["holes"] + of["cached"] < 18000 * 1100:
    sys.exit(f"free blocks: {of['holes']} and {of['cached']}")
within("resident", sum(of.get(k, 0) for k in ("other", "stacks", "dirty", "live")), 200 * MiB)
END
python3 check.py stats.json || fail "$(cat stats.txt)"
python3 check.py file.json || fail "$(cat file.txt)"
# What a scan and the recorder keep is memoir's, not the program's.
"$MEMOIR_TOOL" leaks $process >leaks.txt 2>errors
[ $? -le 1 ] || fail "leaks: $(cat errors)"
"$MEMOIR_TOOL" stats $process --json >after.json 2>errors || fail "after a scan: exit code $?: $(cat errors)"
python3 - <<'END' || fail "after a scan: $("$MEMOIR_TOOL" stats $process)"
import json, sys
before, after = ({row["key"]: row["bytes"] for row in json.load(open(f))["rows"]} for f in ("stats.json", "after.json"))
if after["shared"] != before["shared"] or after["other"] > before["other"] + (1 << 20):
    sys.exit(f"shared {before['shared']} {after['shared']}, other {before['other']} {after['other']}")
END
[ "$(wc -l <stats.txt)" -ge 13 ] || fail "too few lines: $(cat stats.txt)"
for try in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(grep -c '^process' often.txt)" -lt 2 ] || break
    sleep 1
done
[ "$(grep -c '^process' often.txt)" -ge 2 ] || fail "each 100 ms: $(cat often.txt)"
kill $process
wait $often || fail "--interval: exit code $? at the end of the process"
"$MEMOIR_TOOL" stats $process >out 2>&1
[ $? -eq 4 ] || fail "of a process that has ended: exit code, and $(cat out)"
"$MEMOIR_TOOL" stats parts.memoir --interval 1s >out 2>&1
[ $? -eq 2 ] || fail "--interval of a capture: $(cat out)"
echo 'main 5' >parts.folded
"$MEMOIR_TOOL" stats parts.folded >out 2>&1
[ $? -eq 3 ] || fail "of a file that does not tell: $(cat out)"
rm parts.memoir
"$MEMOIR_TOOL" stats >out 2>&1
[ $? -eq 2 ] || fail "of nothing: exit code, and $(cat out)"

# Pages of guarded blocks are the heap's: each of the 2,000 live ones has one. The queue of the option
# debug is a table.
cat >guarded.py <<'END'
import json, sys
of = {row["key"]: row["bytes"] for row in json.load(open(sys.argv[1]))["rows"]}
MiB = 1 << 20
most = 9 * MiB if "stacks" in of else 17 * MiB
if not 8 * MiB <= of["other"] <= most or of["heap"] < 2000 * 4096 or of.get("untouched", 0) != 0:
    sys.exit(f"other {of['other']}, heap {of['heap']}, untouched {of.get('untouched')}")
END
for mode in guard:full debug:on; do
    : >ready
    MEMOIR=$mode LD_PRELOAD=$MEMOIR_LIB ./parts >ready 2>errors &
    process=$!
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        [ ! -s ready ] || break
        sleep 1
    done
    "$MEMOIR_TOOL" stats $process --json >stats.json 2>errors || fail "$mode: exit code $?: $(cat errors)"
    python3 guarded.py stats.json || fail "$mode: $("$MEMOIR_TOOL" stats $process)"
    "$MEMOIR_TOOL" ctl $process dump "$place/parts.memoir" >out 2>&1 || fail "no dump: $(cat out)"
    "$MEMOIR_TOOL" stats parts.memoir --json >file.json 2>errors || fail "$mode: exit code $?: $(cat errors)"
    python3 guarded.py file.json || fail "$mode, of a capture: $("$MEMOIR_TOOL" stats parts.memoir)"
    rm parts.memoir
    kill $process
done
finish
