#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program under the library leaves its profile when it ends, every block recorded, in each format:
# jeprof, google-pprof and go tool pprof see in it to the byte what the program knows.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/readers.sh"
need python3 nm
build "$root/tests/programs/profiles_are_read.c" -o "$place/heap"
cd "$place" || exit 2
found=no

# dump FORMAT FILE: runs the program, which leaves FILE and its own opinion
dump() {
    what=$1
    mkdir -p dumps
    MEMOIR=heap.rate:0,dump.exit:on,dump.format:$1,dump.prefix:$place/dumps/ preload ./heap \
        >expected 2>errors || fail "the program failed: $(cat errors)"
    quiet errors
    [ "$(ls dumps | wc -l)" -eq 1 ] || fail "not one dump: $(ls dumps)"
    mv dumps/* "$2"
}

if command -v jeprof >/dev/null; then
    found=yes
    dump jemalloc j.heap
    flat_perl jeprof j.heap --inuse_space && agree 2
    flat_perl jeprof j.heap --inuse_objects && agree 1
fi
if command -v google-pprof >/dev/null; then
    found=yes
    dump gperftools g.heap
    flat_perl google-pprof g.heap --inuse_objects && agree 1
    flat_perl google-pprof g.heap --alloc_objects && agree 3
    flat_perl google-pprof g.heap --inuse_space && agree 5
    flat_perl google-pprof g.heap --alloc_space && agree 6
fi
if command -v go >/dev/null; then
    found=yes
    dump gperftools g.heap
    flat_go g.heap inuse_space && agree 5
    flat_go g.heap alloc_space && agree 6
    dump pprof p.pb.gz
    flat_go p.pb.gz inuse_objects && agree 1
    flat_go p.pb.gz inuse_space && agree 2
    flat_go p.pb.gz alloc_objects && agree 3
    flat_go p.pb.gz alloc_space && agree 4
    flat_go p.pb.gz inuse_requested && agree 5
    flat_go p.pb.gz alloc_requested && agree 6
fi
[ $found = yes ] || skip "there is none of jeprof, google-pprof and go"
finish
