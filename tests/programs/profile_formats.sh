#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Profiles of a known heap, read by the programs that made each format popular: what they show is
# what was in the heap.
. "$(dirname "$0")/common.sh"
need python3 nm readelf

build -DMEMOIR_VERSION='"test"' "$root/tests/programs/profile_formats.c" "$root"/base/*.c \
    "$root"/lib/watch/format*.c "$root/lib/watch/capture.c" "$root/lib/watch/sampler.c" \
    -o "$place/heap"
cd "$place" || exit 2
found=no

# agree COLUMN SLACK: function and number a line on standard input, as in that column of `expect`
# but for SLACK, in parts of a rate where it ends in R
agree() {
    ./heap expect "$rate" >expected
    python3 - "$1" "$2" "$rate" <<'END' || fail "$what at rate $rate differs in column $1"
import sys
column, slack, rate = int(sys.argv[1]), sys.argv[2], max(1, int(sys.argv[3]))
slack = float(slack[:-1]) * rate if slack.endswith("R") else float(slack)
expected = {line.split()[0]: float(line.split()[column]) for line in open("expected")}
got = {}
for line in open("got"):
    name, number = line.split()
    got[name] = got.get(name, 0) + float(number)
wrong = 0
for name, number in expected.items():
    if name != "?" and abs(got.get(name, 0) - number) > slack:
        print("%s: %s, expected %s" % (name, got.get(name, 0), number))
        wrong = 1
sys.exit(wrong)
END
}

# perl READER FILE OPTION: flat numbers of jeprof or google-pprof
perl_reader() {
    "$1" --text --show_bytes --nodefraction=0 --nodecount=100 "$3" heap "$2" 2>/dev/null |
        awk '$2 ~ /%$/ { print $6, $1 }' >got
    [ -s got ] || fail "$1 reads nothing from $what"
}

go_reader() { # FILE SAMPLE_INDEX
    PPROF_TMPDIR=$place go tool pprof -top -unit=B -nodefraction=0 -sample_index="$2" heap "$1" 2>/dev/null |
        sed -n '/flat%/,$p' | awk 'NR > 1 { sub(/B$/, "", $1); print $6, $1 }' >got
    [ -s got ] || fail "go tool pprof reads nothing from $what"
}

for rate in 0 65536; do
    # A file of whole samples can't be nearer to the truth than half of one.
    slack=2
    [ "$rate" -eq 0 ] || slack=0.6R
    if command -v jeprof >/dev/null; then
        found=yes
        what=jemalloc
        ./heap jemalloc "$rate" accum >j.heap || fail "no jemalloc file"
        perl_reader jeprof j.heap --inuse_space && agree 2 $slack
        perl_reader jeprof j.heap --alloc_space && agree 4 $slack
        ./heap jemalloc "$rate" >j.heap
        perl_reader jeprof j.heap --inuse_space && agree 2 $slack
        grep -q '^  t10: .* \[0: 0\] work?er$' j.heap || fail "no name of a thread"
        jeprof --text --show_bytes --thread=9 heap j.heap 2>/dev/null >text
        [ "$rate" -ne 0 ] || grep -q 'Total (t9): 121344 B' text || fail "not the sum of a thread"
        ! grep -q '\[[1-9]' j.heap || fail "cumulative numbers that nobody asked for"
    fi
    if command -v google-pprof >/dev/null; then
        found=yes
        what=gperftools
        ./heap gperftools "$rate" >g.heap || fail "no gperftools file"
        perl_reader google-pprof g.heap --inuse_space && agree 5 $slack
        perl_reader google-pprof g.heap --alloc_space && agree 6 $slack
    fi
    if command -v go >/dev/null; then
        found=yes
        what=gperftools
        ./heap gperftools "$rate" >g.heap
        go_reader g.heap inuse_space && agree 5 $slack
        go_reader g.heap alloc_space && agree 6 $slack
        what=pprof # final numbers, rounded a row at a time
        ./heap pprof "$rate" >p.pb.gz || fail "no pprof file"
        go_reader p.pb.gz inuse_objects && agree 1 2
        go_reader p.pb.gz inuse_space && agree 2 2
        go_reader p.pb.gz alloc_objects && agree 3 2
        go_reader p.pb.gz alloc_space && agree 4 2
        go_reader p.pb.gz peak_space && agree 4 2
        go_reader p.pb.gz inuse_requested && agree 5 2
        go_reader p.pb.gz alloc_requested && agree 6 2
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
