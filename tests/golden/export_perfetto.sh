#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# Perfetto's own format, by its definitions and, where trace_processor_shell is on the PATH, by
# Perfetto itself: what was live at each snapshot is what the program counted then, profiles of time
# and those without objects have their boxes, frames of one name at one address stay two, a file of
# code that ends before it starts does no harm.
set -u
. "${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/programs/common.sh"
need python3
settle
memoir=$MEMOIR_TOOL
reader=$root/tests/golden/readers/pftrace.py

# live FILE: the live bytes of each heap profile, in one line
live() { python3 "$reader" "$1" >out || fail "$1: it is not by the definitions"; awk '/^[0-9]/ { printf "%d ", $2 }' out; }

# What each has is live at some snapshots only; the sizes differ, and so do the counts.
cat >program.c <<'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "include/memoir/memoir.h"
static void *blocks[3000];
static size_t sum;
__attribute__((noinline)) void one(int i) { blocks[i] = malloc(100 + (size_t)i % 900); }
__attribute__((noinline)) void other(int i) { blocks[i] = malloc(3000); }
static void count(int from, int to, int sign)
{
    for (int i = from; i < to; i++)
        sum += sign * malloc_usable_size(blocks[i]);
}
static void moment(void)
{
    fprintf(stderr, "%zu ", sum);
    usleep(20000);
    memoir_snapshot("moment");
    usleep(20000);
}
int main(void)
{
    for (int i = 0; i < 1000; i++)
        one(i);
    count(0, 1000, 1);
    moment();
    for (int i = 1000; i < 1500; i++)
        other(i);
    count(1000, 1500, 1);
    moment();
    count(0, 990, -1);
    for (int i = 0; i < 990; i++)
        free(blocks[i]);
    moment();
    for (int i = 0; i < 700; i++)
        one(i);
    count(0, 700, 1);
    moment();
    count(1000, 1500, -1);
    for (int i = 1000; i < 1500; i++)
        free(blocks[i]);
    fprintf(stderr, "%zu ", sum);
    return 0;
}
END
build program.c -o program "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
"$memoir" run -q --exact --output a.memoir ./program 2>said || fail "no capture: $(cat said)"
"$memoir" export -q a.memoir -o a.pftrace
# The peak is a heap profile as well, the second one of two that are the same.
got=$(live a.pftrace | tr ' ' '\n' | uniq | tr '\n' ' ')
[ "$got" = "$(cat said)" ] || fail "live at the moments: '$got' instead of '$(cat said)'"
[ "$(grep -c '^moment moment$' out)" = 4 ] || fail "the snapshots have no names: $(cat out)"
grep -q '^heap libc.malloc 1[0-9]*$' out || fail "it is no heap of today's: $(grep ^heap out)"
id=$(readelf -n program 2>/dev/null | sed -n 's/.*Build ID: //p')
[ -z "$id" ] || grep -q "^file .*/program $id\$" out || fail "not the build id $id: $(grep ^file out)"

# The peak of a run is there, however short by the clock it was.
cat >short.c <<'END'
#include <stdlib.h>
int main(void)
{
    void *volatile block = malloc(500000);
    free(block);
    return 0;
}
END
build short.c -o short
"$memoir" run -q --exact --output short.memoir ./short 2>said || fail "no capture: $(cat said)"
"$memoir" export -q short.memoir -o short.pftrace
peak=$("$memoir" peak -q short.memoir --json | sed -n 's/^  "total": \([0-9]*\),$/\1/p')
[ "$(live short.pftrace | cut -d ' ' -f 1)" = "$peak" ] || fail "no peak of $peak: $(cat out)"

# Nothing live is a number, too.
cat >m.massif <<'END'
desc: --time-unit=ms
cmd: ./program
time_unit: ms
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=50
mem_heap_B=700
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=detailed
n1: 700 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: 700 0x401136: main (program.c:3)
END
"$memoir" export -q m.massif -o m.pftrace
[ "$(live m.pftrace)" = "700 " ] && grep -q '^counter live heap 2 700$' out || fail "massif: $(cat out)"

# Time, and something that counts nothing else.
printf 'main;work 30\nmain;rest 12\n' >b.folded
"$memoir" export -q b.folded -o b.pftrace
[ "$(live b.pftrace)" = "42 " ] || fail "folded stacks: $(cat out)"

cat >make.py <<'END'
# A profile of pprof's: f is inlined into f at one address, and stands alone at two others.
import sys
def number(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)
def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value
def message(*fields):
    return b"".join(field(key, value) for key, value in fields)
texts = ["", "space", "bytes", "f", "f.c", "/bin/short"]
lines = {1: (10, 20), 2: (10,), 3: (20,)}
parts = [(1, message((1, 1), (2, 2)))]
parts += [(2, message((1, bytes([location])), (2, number(100 * location)))) for location in lines]
parts += [(3, message((1, 1), (2, 0x400000), (3, 0x410000), (5, 5)))]
parts += [(3, message((1, 2), (2, 0x600000), (3, 0x500000), (5, 4)))]
parts += [(4, message((1, at), (2, 1), (3, 0x401000 + at), *((4, message((1, 1), (2, line))) for line in known)))
          for at, known in lines.items()]
parts += [(2, message((1, bytes([4])), (2, number(7)))), (4, message((1, 4), (2, 2), (3, 0x601000)))]
parts += [(5, message((1, 1), (2, 3), (4, 4)))] + [(6, text.encode()) for text in texts]
sys.stdout.buffer.write(message(*parts))
END
python3 make.py >c.pb
"$memoir" export -q c.pb -o c.pftrace
[ "$(live c.pftrace)" = "607 " ] || fail "frames of one name: $(cat out)"
# Perfetto itself: what was live at each time, and nothing that it complains of.
ask() { trace_processor_shell -Q "$2" "$1" 2>errors | sed 1d | tr -d '"'; }
complaints="SELECT ifnull(group_concat(name), '') FROM stats WHERE severity != 'info' AND value != 0"
if command -v trace_processor_shell >/dev/null 2>&1; then
    for file in a b c m short; do
        wanted=$(live $file.pftrace | tr ' ' '\n' | uniq | tr '\n' ' ')
        got=$(ask $file.pftrace "
            WITH times AS (SELECT DISTINCT ts FROM heap_profile_allocation),
                stacks AS (SELECT times.ts, iif(sum(count) > 0, sum(size), 0) AS live
                    FROM times JOIN heap_profile_allocation AS a ON a.ts <= times.ts
                    GROUP BY times.ts, callsite_id)
            SELECT sum(live) FROM stacks GROUP BY ts ORDER BY ts" | uniq | tr '\n' ' ')
        [ "$got" = "$wanted" ] || fail "Perfetto has '$got' of $file instead of '$wanted': $(cat errors)"
        said=$(ask $file.pftrace "$complaints")
        [ -z "$said" ] || fail "Perfetto complains of $file.pftrace: $said"
        "$memoir" export -q "$(ls $file.memoir $file.folded $file.massif $file.pb 2>/dev/null)" -o $file.perfetto.json
        said=$(ask $file.perfetto.json "$complaints")
        [ -z "$said" ] || fail "Perfetto complains of $file.perfetto.json: $said"
        [ "$(ask $file.perfetto.json 'SELECT count(*) > 0 FROM slice')" = 1 ] || fail "no boxes of $file"
    done
fi
finish
