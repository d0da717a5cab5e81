#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Programs whose paths have spaces, a line's end, a backslash, or end in what the kernel adds to the
# names of deleted files: frames have names, in captures and in dumps of all formats.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
cat >program.c <<'C'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void own_function(void) { kept = malloc(200000); __asm__ volatile(""); }
int main(void) { own_function(); return 0; }
C
build program.c -o program -Wl,--build-id
mkdir "with space"
line=$(printf 'two\nlines')
for path in "with space/a program" "$line" 'back\slash' 'not (deleted)' "[bracket]"; do
    cp program "$path"
    rm -f ./*.memoir dump-*
    MEMOIR=heap.rate:0,capture:odd.memoir preload "./$path"
    for format in jemalloc gperftools pprof; do
        MEMOIR=heap.rate:0,dump.exit:on,dump.format:$format,dump.prefix:./dump preload "./$path"
    done
    for file in odd.memoir dump-*; do
        "$MEMOIR_TOOL" traces "$file" -n 1 -q >traces 2>&1
        grep -q own_function traces || fail "$path, ${file##*.}: $(cat traces)"
    done
done
finish
