#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# What malloc and its family return and leave in errno, mallopt's results, and the lines of
# malloc_stats and malloc_info are those of glibc: one program, run without the library and with
# it, prints the same.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/agrees_with_glibc.c" -o "$place/program"
cd "$place" || exit 2

./program >glibc 2>/dev/null || fail "exit code $? without the library"
preload ./program >ours 2>/dev/null || fail "exit code $?"
[ "$(wc -l <glibc)" -gt 4000 ] || fail "the program prints little"
if grep -qE 'MISALIGNED|SHORT|LOST|NOT' ours; then
    fail "a block is not what was asked for: $(grep -E 'MISALIGNED|SHORT|LOST|NOT' ours | head -n 3)"
fi
cmp -s glibc ours || {
    fail "glibc (<) and ours (>) differ in $(diff glibc ours | grep -c '^>') lines:"
    diff glibc ours | grep '^[<>]' | head -n 10
}

# The lines of malloc_stats, from the end, without the amounts.
./program stats 2>&1 | tail -n 8 | sed 's/  *[0-9]*$//' >glibc
preload ./program stats 2>stats
tail -n 8 stats | sed 's/  *[0-9]*$//' >ours
[ "$(wc -l <glibc)" -eq 8 ] || fail "glibc prints other lines by now: $(cat glibc)"
cmp -s glibc ours || fail "malloc_stats: $(diff glibc ours)"
grep -q '^memoir: process' stats || fail "malloc_stats: memoir's own lines are gone"

# Every element that glibc has behind its heaps and before their end; and it is XML.
./program info | grep -v '<sizes>\|</sizes>\|<unsorted' | sed 's/"[0-9]*"/N/g' | sort -u >glibc
preload ./program info >info || fail "malloc_info: exit code $?"
sed 's/"[0-9]*"/N/g' info | sort -u >ours
missing=$(comm -23 glibc ours)
[ -z "$missing" ] || fail "malloc_info lacks: $missing"
for element in '<total type="fast"' '<total type="mmap"' '<system type="current"' '<aspace type="total"'; do
    sed -n '/<\/heap>/,$p' info | grep -q "$element" || fail "malloc_info: no $element behind the heap"
done
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' info ||
        fail "malloc_info is not XML"
fi
finish
