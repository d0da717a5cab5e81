#!/bin/sh
# SPDX-License-Identifier: MIT
# helper: what jeprof, google-pprof and go tool pprof see in a file. Source it after common.sh, in
# the folder of a program `heap`; $what is the format.
#   flat_perl READER FILE OPTION   function and flat number a line, into the file `got`
#   flat_go FILE SAMPLE_INDEX      the same
#   agree COLUMN [SLACK]           complains unless `got` has the numbers of that column of the file
#                                  `expected`, whose lines begin with a function, but for SLACK
flat_perl() {
    "$1" --text --show_bytes --nodefraction=0 --nodecount=1000 "$3" heap "$2" 2>/dev/null |
        awk '$2 ~ /%$/ { print $6, $1 }' >got
    [ -s got ] || fail "$1 reads nothing from $what"
}

flat_go() {
    PPROF_TMPDIR=$place go tool pprof -top -unit=B -nodefraction=0 -nodecount=1000 \
        -sample_index="$2" heap "$1" 2>/dev/null |
        sed -n '/flat%/,$p' | awk 'NR > 1 { sub(/B$/, "", $1); print $6, $1 }' >got
    [ -s got ] || fail "go tool pprof reads nothing from $what"
}

agree() {
    python3 - "$1" "${2-0}" <<'END' || fail "$what differs in column $1"
import sys
column, slack = int(sys.argv[1]), float(sys.argv[2])
got = {}
for line in open("got"):
    name, number = line.split()
    got[name] = got.get(name, 0) + float(number)
wrong = 0
for line in open("expected"):
    name, number = line.split()[0], float(line.split()[column])
    if name != "?" and abs(got.get(name, 0) - number) > slack:
        print("%s: %s, expected %s" % (name, got.get(name, 0), number))
        wrong = 1
sys.exit(wrong)
END
}
