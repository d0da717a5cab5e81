#!/bin/sh
# SPDX-License-Identifier: MIT
# The program beside this script, with operators of its own of each kind: they are called as often
# as without the library, by preload in every mode in which blocks differ, and by static link.
. "$(dirname "$0")/common.sh"
settle
ulimit -c 0
source=$root/tests/programs/operators_of_the_program.cc
archive=$(dirname "$MEMOIR_LIB")/libmemoir.a
for kinds in '-DPLAIN' '-DARRAY' '-DPLAIN -DARRAY' '-DPLAIN -DALIGNED' '-DPLAIN -DNOTHROW' '-DALIGNED' '-DNEW_ARRAY' \
    '-DPLAIN -DARRAY -DALIGNED -DNOTHROW' ''; do
    c++ -std=c++17 -O1 $kinds "$source" -o target || fail "no build"
    ./target >expected || fail "$kinds, without the library: exit code $?: $(cat expected)"
    for options in '' heap.rate:0 harden:on debug:on guard:full guard:sampled,guard.rate:1,heap.rate:4K; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./target >out 2>errors ||
            fail "$kinds '$options': exit code $?: $(cat out errors)"
        cmp -s expected out || fail "$kinds '$options': $(diff expected out)"
        quiet errors
    done
    for static in '' -static; do
        c++ -std=c++17 -O1 $kinds $static "$source" "$archive" -o linked || fail "$kinds $static: no link"
        ./linked >out 2>errors || fail "$kinds $static: exit code $?: $(cat out errors)"
        cmp -s expected out || fail "$kinds $static: $(diff expected out)"
        quiet errors
    done
done
finish
