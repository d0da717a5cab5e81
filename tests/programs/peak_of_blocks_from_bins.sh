#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A peak that is made of blocks from threads' bins is found, though the centres see nothing of it:
# for one size of up to 1 KiB it is off by at most 128 KiB a thread that nobody saw go, what a
# thread has not told the others, and the step between two looks (ARCHITECTURE.md, "The peak").
# Where several threads want to look at once, one of them does: so twice the first there.
# Of many sizes this much may be unseen of each, but not more than bins hold. Never is it more than
# the program had, but for what libc allocates for itself.
. "$(dirname "$0")/common.sh"
need python3
build "$(dirname "$0")/peak.c" -o "$place/peak" -lpthread
cd "$place" || exit 2

peak_found() {
    "$MEMOIR_TOOL" peak -q --json run.memoir |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'
}

try() { # UNSEEN_KIB KIND SIZE THREADS MIB
    unseen=$1
    shift
    rm -f run.memoir
    known=$(MEMOIR="heap.rate:512K,capture:run.memoir" preload ./peak "$@") || fail "$*: $?"
    found=$(peak_found)
    step=$((known / 256))
    [ $step -ge $((($3 + 1) * 16384)) ] || step=$((($3 + 1) * 16384))
    [ "$found" -ge $((known - $3 * (unseen + 64) * 1024 - step)) ] &&
        [ "$found" -le $((known + $3 * 16384)) ] ||
        fail "$*: a peak of $found bytes, the program knows $known"
}

for mib in 2 30; do
    for size in 64 256 1024; do
        try 128 late $size 1 $mib
        try 256 late $size 4 $mib
    done
    try 880 many 1024 1 $mib
done
finish
