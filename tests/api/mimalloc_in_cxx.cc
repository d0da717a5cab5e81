// SPDX-License-Identifier: MIT
// mimalloc's functions for C++: new by its name, with the new handler and bad_alloc, containers
// with its allocators.
#include <map>
#include <mimalloc.h>
#include <new>
#include <string>
#include <vector>

#include "tests/api/check.h"

#pragma weak mi_new
#pragma weak mi_new_n
#pragma weak mi_new_nothrow
#pragma weak mi_new_aligned
#pragma weak mi_new_aligned_nothrow
#pragma weak mi_new_realloc
#pragma weak mi_new_reallocn
#pragma weak mi_free
#pragma weak mi_usable_size
#pragma weak mi_heap_new
#pragma weak mi_heap_delete
#pragma weak mi_heap_destroy
#pragma weak mi_heap_collect
#pragma weak mi_heap_alloc_new_n
#pragma weak mi_heap_contains_block

static int asked;

static void handler()
{
    if (++asked == 3)
        std::set_new_handler(nullptr);
}

template <class F> static bool throws(F call)
{
    asked = 0;
    std::set_new_handler(handler);
    try {
        call();
    } catch (const std::bad_alloc &) {
        return asked == 3;
    }
    return false;
}

static void new_by_name()
{
    const size_t much = opaque_size(static_cast<size_t>(1) << 60);
    char *block = static_cast<char *>(mi_new(100));
    pattern_fill(block, 100, 1);
    block = static_cast<char *>(mi_new_realloc(block, 1000));
    CHECK_EQ(pattern_differs_at(block, 100, 1), 100);
    CHECK(throws([&] { block = static_cast<char *>(mi_new_realloc(block, much)); }));
    CHECK(throws([&] { block = static_cast<char *>(mi_new_reallocn(block, much, 100)); }));
    CHECK_EQ(pattern_differs_at(block, 100, 1), 100);
    ::operator delete(block);
    void *aligned = mi_new_aligned(10, 256);
    CHECK(is_aligned(aligned, 256));
    mi_free(aligned);
    CHECK(throws([&] { (void)mi_new(much); }));
    CHECK(throws([&] { (void)mi_new_n(much, 100); }));
    CHECK(throws([&] { (void)mi_new_aligned(much, 64); }));
    std::set_new_handler(nullptr);
    CHECK(mi_new_nothrow(much) == nullptr);
    CHECK(mi_new_aligned_nothrow(much, 64) == nullptr);
    mi_free(::operator new(10));
}

struct record {
    int number;
    std::string text;
};

static void containers()
{
    std::vector<record, mi_stl_allocator<record>> rows;
    for (int i = 0; i < 1000; i++)
        rows.push_back({i, std::string(static_cast<size_t>(i), 'x')});
    std::map<int, int, std::less<int>, mi_stl_allocator<std::pair<const int, int>>> map;
    for (int i = 0; i < 1000; i++)
        map[i] = i * 2;
    CHECK(rows[999].text.size() == 999 && map[500] == 1000);
    CHECK(mi_stl_allocator<int>() == mi_stl_allocator<char>());
    auto copy = rows;
    rows.clear();
    CHECK_EQ(copy.size(), 1000);
}

static void containers_in_heaps()
{
    std::vector<int, mi_heap_stl_allocator<int>> first, second;
    std::vector<record, mi_heap_destroy_stl_allocator<record>> rows;
    mi_heap_t *heap = mi_heap_new();
    {
        std::vector<int, mi_heap_stl_allocator<int>> given{mi_heap_stl_allocator<int>(heap)};
        given.assign(1000, 7);
        CHECK(mi_heap_contains_block(heap, given.data()));
    }
    for (int i = 0; i < 1000; i++) {
        first.push_back(i);
        rows.push_back({i, "text"});
    }
    second = first;
    CHECK(first.get_allocator() == second.get_allocator());
    CHECK(mi_heap_stl_allocator<int>() != first.get_allocator());
    CHECK(second[999] == 999 && rows[999].text == "text");
    mi_heap_destroy(heap);
}

int main()
{
    new_by_name();
    containers();
    containers_in_heaps();
    return check_result();
}
