#!/bin/sh
# SPDX-License-Identifier: MIT
# A library loaded with RTLD_DEEPBIND allocates and frees with the C library's functions, the
# program with ours, and they pass blocks to each other.
. "$(dirname "$0")/common.sh"

build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libuser.so"
build "$root/tests/programs/deepbind_libraries_mix_heaps.c" -o "$place/program"
for whose in theirs ours; do
    expect 0 "$place/program" "$place/libuser.so" $whose
    expect 0 preload "$place/program" "$place/libuser.so" $whose
done
finish
