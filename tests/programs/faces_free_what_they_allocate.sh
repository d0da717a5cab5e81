#!/bin/sh
# SPDX-License-Identifier: MIT
# Where blocks are guarded or debugged, each pair of functions that gperftools and mimalloc mean for each other
# fits: tc_new and tc_delete, mi_new and mi_free, the allocator for C++'s containers. Pairs that do not fit are
# still found.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >pairs.cc <<'C'
#include <cstdlib>
#include <cstring>
#include <gperftools/tcmalloc.h>
#include <map>
#include <mimalloc.h>
#include <new>
#include <vector>
static const std::nothrow_t &quiet = std::nothrow;
static const std::align_val_t line{64};
int main(int count, char **words)
{
    if (count > 1 && std::strcmp(words[1], "free") == 0)
        tc_free(tc_new(10));
    if (count > 1 && std::strcmp(words[1], "array") == 0)
        tc_deletearray(tc_new(10));
    if (count > 1 && std::strcmp(words[1], "libc") == 0)
        free(mi_new(10));
    for (size_t size = 1; size < 100000; size *= 3) {
        tc_delete(tc_new(size));
        tc_delete_nothrow(tc_new_nothrow(size, quiet), quiet);
        tc_delete_sized(tc_new(size), size);
        tc_delete_aligned(tc_new_aligned(size, line), line);
        tc_delete_sized_aligned(tc_new_aligned(size, line), size, line);
        tc_deletearray(tc_newarray(size));
        tc_deletearray_nothrow(tc_newarray_nothrow(size, quiet), quiet);
        tc_deletearray_sized(tc_newarray(size), size);
        tc_deletearray_aligned(tc_newarray_aligned(size, line), line);
        tc_free(tc_realloc(tc_malloc(size), size * 2));
        tc_delete(::operator new(size));
        ::operator delete[](tc_newarray(size));
        mi_free(mi_new(size));
        mi_free(mi_new_n(size, 2));
        mi_free(mi_new_aligned(size, 64));
        mi_free(mi_new_nothrow(size));
        mi_free_size(mi_new(size), size);
        mi_free_aligned(mi_new_aligned(size, 64), 64);
        mi_free(mi_new_realloc(mi_new(size), size * 2));
        mi_free(mi_rezalloc(mi_new(size), size * 2));
        mi_free(mi_malloc(size));
        free(mi_malloc(size));
        mi_free(new char[size]);
    }
    std::vector<int, mi_stl_allocator<int>> numbers;
    std::map<int, int, std::less<int>, mi_stl_allocator<std::pair<const int, int>>> squares;
    for (int i = 0; i < 2000; i++) {
        numbers.push_back(i);
        squares[i] = i * i;
    }
    return 0;
}
C
cxx_named tcmalloc -std=c++17 -w -g pairs.cc -o pairs
for options in heap:on guard:full debug:on guard:full,debug:on harden:on; do
    MEMOIR=$options ./pairs >out 2>&1 || fail "$options: status $?: $(head -n 3 out)"
    quiet out
done
for pair in free array libc; do
    for options in guard:full debug:on; do
        ! MEMOIR=$options ./pairs $pair >out 2>&1 || fail "$options: $pair: the mistake was not found"
        grep -q 'allocated with new' out || fail "$options: $pair: $(head -n 3 out)"
    done
done
finish
