#!/bin/sh
# SPDX-License-Identifier: MIT
# A recording that gets a snapshot for days stays as short as `capture.size` says: the last snapshots
# are all there, of older ones the fewer the older they are; marks and the highest point of the heap
# over time stay. Killed while the file is made shorter, it is whole. Where no other file can be
# made beside it, snapshots become rarer.
#
#     SNAPSHOTS=N (1500)  of each run; 8640 are a day
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
snapshots=${SNAPSHOTS:-1500}
open_place
build "$root/tests/programs/long_recordings_stay_short.c" -o "$place/server"
settle

cat >look.py <<'END'
"""look.py FILE: length, snapshots, those of the last 20 that are there, the largest gap between two
as a share of its age in percent, marks, highest point in MiB."""
import sys
data = open(sys.argv[1], "rb").read()
def varint(at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
def unfold(value):
    return value >> 1 ^ -(value & 1)
at, found, marks, highest, clock = 16, [], 0, 0, 0
while at + 12 <= len(data):
    kind = int.from_bytes(data[at:at + 4], "little")
    length = int.from_bytes(data[at + 4:at + 8], "little")
    payload, end = at + 12, at + 12 + length
    if end > len(data):
        break
    if kind == 6:
        number, payload = varint(payload)
        time, payload = varint(payload)
        found.append((number, time))
    elif kind == 11:
        marks += 1
    elif kind == 5:
        point = [0] * 5
        while payload < end:
            for i in range(5):
                change, payload = varint(payload)
                point[i] += unfold(change)
            if point[0] <= clock:
                sys.exit("the heap over time goes back")
            clock = point[0]
            highest = max(highest, point[1])
    at = end
last = found[-1][0] if found else 0
recent = sum(1 for number, _ in found if number > last - 20)
now = found[-1][1] if found else 0
# By time and by number: on a busy machine the program may stand still between two snapshots.
gap = max([min((b[1] - a[1]) * 100 // max(now - a[1], 1), (b[0] - a[0]) * 100 // max(last - a[0], 1))
           for a, b in zip(found[:-20], found[1:])] + [0])
print(len(data), len(found), recent, gap, marks, highest >> 20)
END

look() { # OPTIONS
    what=$1
    rm -f run.memoir
    MEMOIR=capture:$place/run.memoir,$1 preload ./server "$snapshots" 300 >out 2>errors ||
        fail "$what: $(cat errors)"
    quiet errors
    # shellcheck disable=SC2046
    set -- $(python3 look.py run.memoir)
    length=${1:-0} count=${2:-0} recent=${3:-0} gap=${4:-100} marks=${5:-0} highest=${6:-0}
    [ "$marks" -eq 1 ] || fail "$what: $marks marks"
    [ "$highest" -ge 200 ] || fail "$what: the heap was at most $highest MiB"
    "$MEMOIR_TOOL" report run.memoir >out 2>errors || fail "$what: $(cat errors)"
    [ -z "$(find . -name '.memoir.*')" ] || fail "$what: left $(find . -name '.memoir.*')"
}

# The snapshot at the end may be too much.
look heap.rate:4K,capture.size:256K
[ "$length" -le 275000 ] && [ "$length" -gt 60000 ] || fail "$what: $length bytes"
[ "$count" -ge 10 ] && [ "$recent" -ge 8 ] || fail "$what: $count snapshots, $recent of the last 20"
[ "$gap" -le 60 ] || fail "$what: $gap % of the run without a snapshot"
look heap.rate:0,capture.size:2M
[ "$length" -le 2200000 ] || fail "$what: $length bytes"
look heap.rate:4K
[ "$length" -le 4400000 ] && [ "$recent" -eq 20 ] || fail "$what: $length bytes, $recent of the last 20"
[ "$gap" -le 25 ] || fail "$what: $gap % of the run without a snapshot"
look heap.rate:4K,capture.size:1G
[ "$count" -gt 400 ] && [ "$count" -le 1024 ] || fail "$what: $count snapshots, $length bytes"

# Killed at any moment; the file is made shorter nearly each time.
for i in $(seq 15); do
    rm -f run.memoir .memoir.*
    MEMOIR=capture:$place/run.memoir,heap.rate:1K,capture.size:48K preload ./server 100000 300 \
        $((100 + i * 17)) >out 2>errors
    "$MEMOIR_TOOL" report run.memoir >out 2>errors || fail "kill $i: $(cat errors)"
    python3 look.py run.memoir >out 2>&1 || fail "kill $i: $(cat out)"
    [ "$(find . -name '.memoir.*' | wc -l)" -le 1 ] || fail "kill $i: left $(find . -name '.memoir.*')"
done
rm -f run.memoir .memoir.*

# A folder in which the program may not make another file. (For root no folder is such.)
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && command -v perl >/dev/null; then
    mkdir shut
    cp "$(readlink -f "$MEMOIR_LIB")" libmemoir.so # where that user can read it
    chmod 755 libmemoir.so
    chown 65534 shut
    (
        for _ in $(seq 500); do
            [ ! -s shut/run.memoir ] || break
            sleep 0.01
        done
        chmod 555 shut
    ) &
    setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$place/libmemoir.so" \
        MEMOIR="capture:$place/shut/run.memoir,capture.interval:100ms,capture.size:16K,heap.rate:1K" \
        perl -e 'for (1 .. 60) {
            my @kept = map { "x" x 1000 . $_ } 1 .. 2000;
            select undef, undef, undef, 0.1 }' 2>errors
    quiet errors
    # shellcheck disable=SC2046
    set -- $(python3 look.py shut/run.memoir)
    [ "${2:-0}" -ge 3 ] && [ "${2:-0}" -le 45 ] || fail "a shut folder: ${2:-0} snapshots of 60"
    "$MEMOIR_TOOL" report shut/run.memoir >out 2>errors || fail "a shut folder: $(cat errors)"
fi
finish
