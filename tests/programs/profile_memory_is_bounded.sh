#!/bin/sh
# SPDX-License-Identifier: MIT
# With less memory for stacks than they need: the program works, all blocks are counted, those of new
# stacks together, and one line says so. With enough there is no such line.
. "$(dirname "$0")/common.sh"

run() {
    MEMOIR="heap.rate:0,heap.memory:$1,dump.exit:on,dump.format:jemalloc,dump.prefix:$PWD/m" \
        LD_PRELOAD="$MEMOIR_LIB" sort /etc/passwd > out 2> err || fail "heap.memory:$1: sort failed"
    lines=$(grep -c 'memoir: the heap profile is full' err)
    [ "$lines" = "$2" ] || fail "heap.memory:$1: $lines lines, not $2: $(cat err)"
    total=$(sed -n '2s/.*t\*: \([0-9]*\):.*/\1/p' m*.heap)
    stacks=$(grep -c '^@' m*.heap)
    rm -f m*.heap
    echo "heap.memory:$1: $total live blocks in $stacks stacks"
}

run 64M 0
whole=$total many=$stacks
for memory in 0 1 4K; do
    run "$memory" 1
    [ "$total" = "$whole" ] || fail "heap.memory:$memory: $total blocks, not $whole"
    [ "$stacks" -le "$many" ] || fail "heap.memory:$memory: $stacks stacks"
done
run 0 1
[ "$stacks" = 1 ] || fail "heap.memory:0: $stacks stacks"
finish
