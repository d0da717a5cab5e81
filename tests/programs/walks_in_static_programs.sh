#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit tests of walks and tables, linked statically: there the C library helps less, and gcc
# -static leaves no sorted header for the unwind tables.
. "$(dirname "$0")/common.sh"

cd "$place" || exit 2
for file in "$root"/base/*.c "$root"/lib/window/*.c "$root"/lib/alloc/*.c "$root/lib/watch/unwind.c" "$root/lib/watch/rules.c" "$root/lib/watch/own_stack.c" \
    "$root/lib/watch/code.c"; do
    build -O1 -fPIE -fno-stack-protector -c "$file" -o "$(basename "$file" .c).o"
done
for way in -static -static-pie; do
    for test in unwind cfi; do
        build -O2 -fPIE -fno-stack-protector "$way" "$root/tests/unit/$test.c" ./*.o -o "$test"
        expect 0 "./$test"
    done
done
finish
