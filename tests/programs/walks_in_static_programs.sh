#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit test of walks, linked statically: there the C library helps less, and gcc -static leaves
# no sorted header for the unwind tables.
. "$(dirname "$0")/common.sh"

cd "$place" || exit 2
for way in -static -static-pie '-static -no-pie'; do
    # shellcheck disable=SC2086 # a list of flags
    build -O2 -fno-stack-protector $way "$root/tests/unit/unwind.c" "$root"/base/*.c \
        "$root"/lib/alloc/*.c "$root/lib/watch/unwind.c" -o walks
    expect 0 ./walks
    # shellcheck disable=SC2086
    build -O2 -fno-stack-protector $way "$root/tests/unit/cfi.c" "$root"/base/*.c \
        "$root"/lib/alloc/*.c -o tables
    expect 0 ./tables
done
finish
