#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# The positive control of the contract, misuse and scenario tests: an allocator with one planted
# bug each (planted_allocator.c), and the test that must fail on it. Without a bug the same tests
# pass.
. "$(dirname "$0")/common.sh"
need timeout
ulimit -c 0

test_build() { # PATH WITHOUT SUFFIX
    [ -e "$place/$(basename "$1")" ] && return
    if [ -e "$root/tests/$1.cc" ]; then
        "$CXX" -std=c++17 -O1 -fno-builtin -w -I"$root" -I"$root/include" "$root/tests/$1.cc" \
            -o "$place/$(basename "$1")" -pthread || exit 2
    else
        build "$root/tests/$1.c" -o "$place/$(basename "$1")"
    fi
}

passes() { # BUG TEST
    program=$place/$(basename "$2")
    preload=$place/$1.so:$MEMOIR_LIB
    case $2 in
    misuse/*) "$root/tests/misuse/run" "$program" "$root/tests/$2.c" "$preload" ;;
    *) LD_PRELOAD=$preload timeout 150 "$program" ;;
    esac >"$place/out" 2>&1
}

while read -r bug test; do
    test_build "$test"
    for planted in NONE "$bug"; do
        [ -e "$place/$planted.so" ] ||
            build -shared -fPIC -DBUG="$planted" "$root/tests/programs/planted_allocator.c" -o "$place/$planted.so"
    done
    # One bug may have several tests; the good allocator passes each.
    passes NONE "$test" || fail "$test fails without a bug: $(head -n 2 "$place/out")"
    if passes "$bug" "$test"; then
        fail "$test does not see $bug"
    else
        echo "$test catches $bug"
    fi
done <<END
FREE_SETS_ERRNO api/free_keeps_errno
FAILURE_LEAVES_ERRNO api/errno_is_set_on_failure_only
SUCCESS_SETS_ERRNO api/errno_is_set_on_failure_only
ALIGNMENT_IGNORED api/alignment_is_honoured
CALLOC_DIRTY api/calloc_is_zero
REALLOC_LOSES_BYTE api/realloc_keeps_content
REALLOC_FAILURE_FREES api/realloc_failure_keeps_block
REALLOC_ZERO_LEAKS api/realloc_to_zero_frees
USABLE_TOO_LARGE api/usable_size_is_usable
PVALLOC_NOT_WHOLE api/pages_from_valloc
PVALLOC_ELSEWHERE api/entry_points_share_one_heap
NEW_RETURNS_NULL api/cxx_new_throws_bad_alloc
NEW_RETURNS_NULL api/cxx_operators_without_libstdcxx
FREE_DOES_NOTHING misuse/double_free_small
FREE_DOES_NOTHING misuse/free_interior_sixteen
FREE_DOES_NOTHING misuse/free_stack
FREE_DOES_NOTHING programs/trim_returns_memory
FREE_ELSEWHERE_LOST programs/memory_freed_elsewhere_comes_home
LOCK_HELD_IN_CHILD programs/fork_while_threads_allocate
TRIM_DOES_NOTHING programs/trim_returns_memory
THREAD_LEAKS programs/thread_storm_keeps_memory_flat
THREAD_LEAKS programs/live_threads_cost_little
FAILS_WITH_CRASH programs/out_of_memory_is_clean
END
finish
