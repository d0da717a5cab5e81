#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Profiles of a known heap, read by the programs that made each format popular: what they show is
# what was in the heap.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/readers.sh"
need python3 nm readelf

build -DMEMOIR_VERSION='"test"' "$root/tests/programs/profile_formats.c" "$root"/base/*.c "$root"/base/file/*.c \
    "$root"/lib/dump/format*.c "$root/lib/dump/capture.c" "$root/lib/dump/capture_cpu.c" \
    "$root/lib/dump/capture_record.c" "$root/lib/heap/sampler.c" "$root/lib/heap/scale.c" "$root/lib/watch/unloaded.c" \
    -o "$place/heap"
cd "$place" || exit 2
found=no

for rate in 0 65536; do
    # A file of whole samples can't be nearer to the truth than half of one.
    slack=2
    [ "$rate" -eq 0 ] || slack=$((rate * 6 / 10))
    ./heap expect "$rate" >expected
    if command -v jeprof >/dev/null; then
        found=yes
        what=jemalloc
        ./heap jemalloc "$rate" accum >j.heap || fail "no jemalloc file"
        flat_perl jeprof j.heap --inuse_space && agree 2 $slack
        flat_perl jeprof j.heap --alloc_space && agree 4 $slack
        ./heap jemalloc "$rate" >j.heap
        flat_perl jeprof j.heap --inuse_space && agree 2 $slack
        grep -q '^  t10: .* \[0: 0\] work?er$' j.heap || fail "no name of a thread"
        jeprof --text --show_bytes --thread=9 heap j.heap 2>/dev/null >text
        [ "$rate" -ne 0 ] || grep -q 'Total (t9): 121344 B' text || fail "not the sum of a thread"
        ! grep -q '\[[1-9]' j.heap || fail "cumulative numbers that nobody asked for"
    fi
    if command -v google-pprof >/dev/null; then
        found=yes
        what=gperftools
        ./heap gperftools "$rate" >g.heap || fail "no gperftools file"
        flat_perl google-pprof g.heap --inuse_space && agree 5 $slack
        flat_perl google-pprof g.heap --alloc_space && agree 6 $slack
    fi
    if command -v go >/dev/null; then
        found=yes
        what=gperftools
        ./heap gperftools "$rate" >g.heap
        flat_go g.heap inuse_space && agree 5 $slack
        flat_go g.heap alloc_space && agree 6 $slack
        what=pprof # final numbers, which add up to the counters
        ./heap pprof "$rate" >p.pb.gz || fail "no pprof file"
        flat_go p.pb.gz inuse_objects && agree 7 2
        flat_go p.pb.gz inuse_space && agree 8 2
        flat_go p.pb.gz alloc_objects && agree 9 2
        flat_go p.pb.gz alloc_space && agree 10 2
        flat_go p.pb.gz peak_space && agree 10 2
        flat_go p.pb.gz inuse_requested && agree 11 2
        flat_go p.pb.gz alloc_requested && agree 12 2
        go tool pprof -raw p.pb.gz >raw 2>/dev/null || fail "pprof does not like our file"
        grep -q 'inuse_space/bytes.dflt.' raw || fail "no default type of sample"
        grep -q 'thread:.work?er.' raw && grep -q 'thread_id:.10 id.' raw || fail "no label with a thread"
        grep -q "^1: .*/heap $(readelf -n heap | sed -n 's/.*Build ID: //p')" raw ||
            fail "the first mapping is not the program with its build id"
    fi
done
./heap jemalloc 65536 raw | grep -q '^  t\*: 1066: 3763568 \[0: 0\]$' || fail "raw numbers are not raw"
./heap pprof 0 >p.pb.gz && gzip -t p.pb.gz || fail "gzip does not like our file"
[ $found = yes ] || skip "there is none of jeprof, google-pprof and go"
finish
