#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Blocks with an owner, of mimalloc's heaps and jemalloc's arenas, are guarded as all others: by
# guard:full, by debug:on and as samples. Destroying a heap and resetting an arena end them: later
# accesses are reported, and so is damage that is found then. Counts, lookups, the default heap and
# the arena of a thread are as without a guard.
. "$(dirname "$0")/common.sh"
build -I"$root/include" -I"$root/include/memoir/compat" -pthread -fno-builtin -Wno-unused-result \
    "$root/tests/programs/guarded_owners.c" -o "$place/owners" || exit 2
settle
ulimit -c 0

# run CODE OPTIONS CASE PATTERN: how a case ends, and the line that it says
run() {
    MEMOIR=$2 LD_PRELOAD=$MEMOIR_LIB ./owners "$3" >out 2>said
    got=$?
    [ "$got" -eq "$1" ] || fail "$3 with $2: exit status $got, wanted $1: $(head -3 out said)"
    [ -z "$4" ] || grep -Eq "$4" said || fail "$3 with $2: no '$4': $(head -3 said)"
}

sampled=guard:sampled,guard.rate:1,heap.rate:1
for options in guard:full debug:on $sampled; do
    for case in heap_overflow heap_default arena_overflow arena_thread; do
        run 139 $options $case '^memoir: guard: overflow: write at .*, 0 bytes behind the end of a block of 64 bytes'
    done
    for case in heap_destroyed arena_reset; do
        run 139 $options $case '^memoir: guard: use after free: write at .*, 3 bytes into a freed block of 64'
    done
    run 0 $options no_error ''
    quiet said
done
run 134 guard:full heap_freed_twice '^memoir: double free'
run 134 $sampled heap_freed_twice '^memoir: double free'
run 134 debug:on heap_freed_twice 'has been already deallocated'
run 134 guard:full heap_damaged '^memoir: guard: overflow: .* was written to, 1 bytes behind the end of a block of 60'
run 134 debug:on heap_damaged '^memoir: memory stomping bug: a word after object'
run 0 harden:on no_error ''
quiet said
finish
