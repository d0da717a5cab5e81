#!/bin/sh
# SPDX-License-Identifier: MIT
# Memory that the program provides (jemalloc's extent hooks, mimalloc's arenas) is part of the heap
# wherever that is counted: the interfaces of jemalloc, gperftools, mimalloc, glibc and memoir agree,
# parts add up, and `memoir stats` does not take it for other mappings. The peak has it, too.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2
build "$root/tests/programs/stats_count_lent_memory.c" -o lent

answers out preload ./lent
grep -qx compared out || fail "it did not end: $(cat out)"

cat >check.py <<'END'
import json, sys
of = {row["key"]: row["bytes"] for row in json.load(open(sys.argv[1]))["rows"]}
MiB = 1 << 20
# 30 MiB and 3,000 blocks of one arena, 6,000 blocks of the other
if not 38 * MiB <= of["live"] <= 43 * MiB:
    sys.exit(f"live {of['live']}")
if not of["live"] + 10 * MiB <= of["heap"] or of["dirty"] < 10 * MiB or of["holes"] < 3000 * 1000:
    sys.exit(f"heap {of['heap']}, dirty {of['dirty']}, holes {of['holes']}")
if of["other"] > 6 * MiB or of.get("untouched", 0) < -6 * MiB:
    sys.exit(f"other {of['other']}, untouched {of.get('untouched')}")
END
launch env MEMOIR="$mode" LD_PRELOAD="$MEMOIR_LIB" ./lent wait
"$MEMOIR_TOOL" stats "$pid" --json >stats.json 2>errors || fail "stats: $?: $(cat errors)"
python3 check.py stats.json || fail "$("$MEMOIR_TOOL" stats "$pid")"
"$MEMOIR_TOOL" ctl "$pid" dump "$place/lent.memoir" >said 2>&1 || fail "no dump: $(cat said)"
"$MEMOIR_TOOL" stats lent.memoir --json >file.json 2>errors || fail "stats of a file: $?: $(cat errors)"
python3 check.py file.json || fail "of a file: $("$MEMOIR_TOOL" stats lent.memoir)"
kill "$pid"

# Such blocks have no records. What the program asked for them counts in full, not as rounding.
launch env MEMOIR=heap.rate:0 LD_PRELOAD="$MEMOIR_LIB" ./lent wait
"$MEMOIR_TOOL" stats "$pid" --json >stats.json 2>errors || fail "every block recorded: $?: $(cat errors)"
"$MEMOIR_TOOL" ctl "$pid" dump "$place/all.memoir" >said 2>&1 || fail "no dump: $(cat said)"
"$MEMOIR_TOOL" stats all.memoir --json >file.json 2>errors || fail "of a file: $?: $(cat errors)"
for numbers in stats.json file.json; do
    python3 -c '
import json, sys
of = {row["key"]: row["bytes"] for row in json.load(open(sys.argv[1]))["rows"]}
sys.exit(not of["asked"] > of["live"] / 10 * 9 or of["rounding"] > 1 << 20)' $numbers ||
        fail "rounding in $numbers: $("$MEMOIR_TOOL" stats "$pid")"
done
"$MEMOIR_TOOL" stats "$pid" | grep 'rounding.*not in the profile' >/dev/null || fail "nothing says what is not known"
kill "$pid"

# The heap was largest with 52 MiB in the arenas; later there are 36 MiB of malloc.
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -q -o run.memoir ./lent >out 2>errors || fail "run: $?: $(cat errors)"
"$MEMOIR_TOOL" peak -q --json run.memoir >peak.json 2>errors || fail "peak: $?: $(cat errors)"
python3 -c 'import json; total = json.load(open("peak.json"))["total"]; exit(not 50 << 20 <= total <= 56 << 20)' ||
    fail "the peak: $(head -c 300 peak.json)"
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -q --exact -o exact.memoir ./lent >out 2>errors || fail "run --exact: $?: $(cat errors)"
"$MEMOIR_TOOL" exact.memoir >page 2>&1 || fail "no page: $(cat page)"
! grep 'memory was full' page || fail "blocks that can't be recorded are said to have found no memory"
finish
