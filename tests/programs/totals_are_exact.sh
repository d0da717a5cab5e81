#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a capture says was allocated, is live and was live at the peak is what the program knows it
# allocated, at any rate. Only a sampled peak may be off, by what bins hold, and by less while every
# block is recorded again.
. "$(dirname "$0")/common.sh"
need python3
here=$(dirname "$0")
build "$here/totals.c" -o "$place/totals"
cd "$place" || exit 2

try() { # RATE SLACK OTHERS KIND STEPS
    rm -f run.memoir
    known=$(MEMOIR="heap.rate:$1,capture:run.memoir,capture.interval:$every" preload ./totals "$4" "$5")
    # shellcheck disable=SC2086 # five numbers
    python3 "$here/totals_are_exact.py" run.memoir "$2" "$3" $known ||
        fail "rate $1, $4 $5: the program knows $known"
    # shellcheck disable=SC2086 # the same
    ends_with_its_end "$3" $known || fail "rate $1, $4 $5: the heap over time does not end with its end"
}

ends_with_its_end() { # OTHERS CALLS BYTES BLOCKS LIVE PEAK
    "$MEMOIR_TOOL" time -q --json run.memoir | python3 -c '
import json, sys
others, live = int(sys.argv[1]), int(sys.argv[5])
last = json.load(sys.stdin)["points"][-1]["live_bytes"]
sys.exit(not live <= last <= live + others * 1024)' "$@"
}

every=100ms
for steps in 50 5000 200000; do
    # While realloc copies there are two blocks, which the program does not count.
    try 0 256 0 small $steps
    try 0 8192 0 mixed $steps
    try 0 204800 0 large $((steps / 10))
    for rate in 64K 512K; do
        try $rate 200000 0 small $steps
        try $rate 500000 0 mixed $steps
        try $rate 1500000 0 large $((steps / 10))
    done
done
for rate in 0 64K 512K; do
    try $rate 0 0 grow 1
    try $rate 0 0 rise 1
    try $rate 400000 0 saw 30000
    try $rate 400000 0 forget 30000
    try $rate 20000 0 shrink 100
    try $rate 600000 0 turns 20000
    try $rate 0 4 threads 20000 # libc allocates once for each thread
done
for steps in 1000 5000 20000; do # of 2.8, 7.9 and 10 MB
    try 512K 20000 0 later $steps
done
every=1h # a snapshot would find the peak
for rate in 0 64K 512K; do
    try $rate 500000 0 full 30000
done
finish
