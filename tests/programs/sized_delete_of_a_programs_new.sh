#!/bin/sh
# SPDX-License-Identifier: MIT
# The program beside this script, in every mode in which blocks differ.
. "$(dirname "$0")/common.sh"
settle
ulimit -c 0
c++ -std=c++17 -O1 "$root/tests/programs/sized_delete_of_a_programs_new.cc" -o target || fail "no build"
./target || fail "without the library: exit code $?"
for options in '' heap.rate:0 harden:on debug:on guard:full guard:sampled,guard.rate:1,heap.rate:4K; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./target >out 2>&1 || fail "'$options': exit code $?: $(cat out)"
    quiet out
done
finish
