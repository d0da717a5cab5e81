#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of a capture that knows every block, all numbers agree: what `top` lists adds up to its total, each
# export read again has the same totals and the same numbers for each function, and the peak that
# heaptrack_print, ms_print and DHAT's viewer show of it is that of `memoir peak`.
# shellcheck disable=SC2016 # programs of awk
set -u
. "${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/programs/common.sh"
need python3
cd "$place" || exit 2
export LC_ALL=C HOME="$place"
memoir=$MEMOIR_TOOL

# Much is gone at the end, some is there only then, and sizes differ.
cat >program.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile blocks[4000];
__attribute__((noinline)) void early(int i) { blocks[i] = malloc(100 + (size_t)i * 7); }
__attribute__((noinline)) void burst(int i) { blocks[i] = malloc(20000); }
__attribute__((noinline)) void late(int i) { blocks[i] = malloc(333); }
__attribute__((noinline)) void brief(void) { free(malloc(50)); }
int main(void)
{
    for (int i = 0; i < 1000; i++)
        early(i);
    for (int i = 1000; i < 2000; i++)
        burst(i), brief();
    usleep(50000);
    for (int i = 500; i < 2000; i++)
        free(blocks[i]);
    for (int i = 2000; i < 3000; i++)
        late(i);
    return 0;
}
END
build program.c -o program
"$memoir" run --exact --output a.memoir ./program >/dev/null 2>&1
[ -s a.memoir ] || { echo "no capture"; exit 2; }

# numbers FILE METRIC: the total, whether the list adds up to it, and each function's own
numbers() {
    "$memoir" top -q --json --frames all --by function --rows 0 --metric "$2" "$1" 2>errors | python3 -c '
import json, sys
answer = json.load(sys.stdin)
rows = {}
for row in answer["rows"]:
    rows[row["name"]] = rows.get(row["name"], 0) + row["self"]
assert answer["whole"] == answer["total"] == sum(rows.values()), (answer["whole"], answer["total"], rows)
print(answer["whole"], *sorted("%s=%d" % item for item in rows.items() if item[1]))' || cat errors
}
compared=0
same() { # WHAT WANTED GOT
    compared=$((compared + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$3' instead of '$2'"
}

# The control: another number is noticed.
count=$failures
same control 1 2 >/dev/null
[ "$failures" -eq $((count + 1)) ] || { echo "control: a wrong number was not noticed"; exit 1; }
failures=$count compared=0

for metric in inuse_space inuse_objects alloc_space alloc_objects peak_space peak_objects; do
    numbers a.memoir $metric >"wanted.$metric"
    grep -q '=' "wanted.$metric" || fail "nothing is known of $metric"
done
grep -q 'burst=' wanted.inuse_space && fail "burst is live at the end"
grep -q 'late=' wanted.peak_space && fail "late was there at the peak"
grep -q 'burst=1000' wanted.peak_objects || fail "at the peak: $(cat wanted.peak_objects)"

all="inuse_space inuse_objects alloc_space alloc_objects"
while read -r ending metrics; do
    "$memoir" export -q a.memoir -o "a.$ending" --metric inuse_space || fail "no a.$ending"
    for metric in $metrics; do
        same "$ending, $metric" "$(cat "wanted.$metric")" "$(numbers "a.$ending" "$metric")"
    done
done <<END
pb.gz $all peak_space peak_objects
speedscope.json $all peak_space peak_objects
callgrind $all peak_space peak_objects
heaptrack $all peak_space peak_objects
dhat.json $all peak_space peak_objects
symbolized $all
heap $all
massif inuse_space peak_space
END
# Formats without a peak have it as what is in use, if that is asked for.
for ending in heap symbolized; do
    "$memoir" export -q a.memoir -o "a.$ending" --metric peak_space
    same "$ending, peak" "$(cat wanted.peak_space)" "$(numbers "a.$ending" inuse_space)"
done
for metric in $all peak_space; do
    "$memoir" export -q a.memoir -o a.folded --metric "$metric"
    same "folded, $metric" "$(cat "wanted.$metric")" "$(numbers a.folded samples)"
    "$memoir" export -q a.memoir -o a.csv
    same "csv, $metric" "$(cat "wanted.$metric")" "$(python3 - "$metric" <<'P'
import csv, sys
rows = {}
for row in csv.DictReader(open("a.csv", newline="")):
    rows[row["function"]] = rows.get(row["function"], 0) + int(row[sys.argv[1]])
print(sum(rows.values()), *sorted("%s=%d" % item for item in rows.items() if item[1]))
P
)"
done

# Their own readers.
peak=$("$memoir" peak a.memoir --json | sed -n 's/^  "total": \([0-9]*\),$/\1/p')
same "memoir peak" "${peak:-none}" "$(cut -d ' ' -f 1 wanted.peak_space)"
if command -v heaptrack_print >/dev/null; then
    for cost in peak leaked allocations; do
        heaptrack_print -F "$cost.txt" --flamegraph-cost-type $cost a.heaptrack >heaptrack.out 2>&1
    done
    same "heaptrack_print, peak" "$peak" "$(awk '{ s += $NF } END { printf "%d", s }' peak.txt)"
    same "heaptrack_print, live" "$(cut -d ' ' -f 1 wanted.inuse_space)" "$(awk '{ s += $NF } END { printf "%d", s }' leaked.txt)"
    same "heaptrack_print, calls" "$(cut -d ' ' -f 1 wanted.alloc_objects)" \
        "$(sed -n 's/^calls to allocation functions: \([0-9]*\) .*/\1/p' heaptrack.out)"
fi
if command -v ms_print >/dev/null; then
    same "ms_print, peak" "$peak" "$(ms_print a.massif | awk '$2 ~ /^[0-9,]+$/ && $4 ~ /^[0-9,]+$/ {
        gsub(",", ""); if ($4 > most) most = $4 } END { printf "%d", most }')"
fi
view=$(find /usr/libexec/valgrind /usr/lib/valgrind -name dh_view.js 2>/dev/null | head -n 1)
if command -v node >/dev/null && [ -n "$view" ]; then
    node "$root/tests/golden/readers/dhat.js" "$view" a.dhat.json >dhat.out
    same "dh_view.js, peak" "$peak" "$(awk 'NR == 1 { print $3 }' dhat.out)"
    same "dh_view.js, live" "$(cut -d ' ' -f 1 wanted.inuse_space)" "$(awk 'NR == 1 { print $4 }' dhat.out)"
fi
# Perfetto's heap profiles: at the peak and at the end, with all that was allocated.
"$memoir" export -q a.memoir -o a.pftrace
python3 "$root/tests/golden/readers/pftrace.py" a.pftrace >pftrace.out || fail "pftrace: it is not by the definitions"
same "pftrace, end" "$(cut -d ' ' -f 1 wanted.inuse_space) $(cut -d ' ' -f 1 wanted.inuse_objects) $(cut -d ' ' -f 1 wanted.alloc_space)" \
    "$(awk '/^[0-9]/ { last = $2 " " $3 " " $4 } END { print last }' pftrace.out)"
same "pftrace, peak" "$peak $(cut -d ' ' -f 1 wanted.peak_objects)" \
    "$(awk '/^[0-9]/ && $2 > most { most = $2; line = $2 " " $3 } END { print line }' pftrace.out)"
echo "$compared numbers compared"
finish
