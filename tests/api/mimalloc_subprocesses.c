/* SPDX-License-Identifier: MIT */ /* static-too */
/* mimalloc's subprocesses keep the blocks of their threads apart; arenas are refused as where
 * memory is out, and a program that falls back goes on. */
#include <mimalloc.h>
#include <pthread.h>

#include "tests/api/check.h"

#pragma weak mi_malloc
#pragma weak mi_free
#pragma weak mi_heap_get_default
#pragma weak mi_heap_get_backing
#pragma weak mi_heap_contains_block
#pragma weak mi_subproc_main
#pragma weak mi_subproc_new
#pragma weak mi_subproc_delete
#pragma weak mi_subproc_add_current_thread
#pragma weak mi_reserve_os_memory
#pragma weak mi_reserve_os_memory_ex
#pragma weak mi_manage_os_memory
#pragma weak mi_reserve_huge_os_pages_interleave
#pragma weak mi_arena_area
#pragma weak mi_heap_new_in_arena

static mi_subproc_id_t process;

static void *runs_inside(void *arg)
{
    (void)arg;
    mi_subproc_add_current_thread(process);
    char *block = malloc(100), *other = mi_malloc(100000);
    CHECK(mi_heap_get_default() != mi_heap_get_backing());
    CHECK(!mi_heap_contains_block(mi_heap_get_backing(), block));
    CHECK(mi_heap_contains_block(mi_heap_get_default(), other));
    mi_free(other);
    pattern_fill(block, 100, 3);
    return block;
}

int main(void)
{
    pthread_t thread;
    void *block;
    CHECK(mi_subproc_main() == NULL);
    process = mi_subproc_new();
    CHECK(process != NULL);
    pthread_create(&thread, NULL, runs_inside, NULL);
    pthread_join(thread, &block);
    CHECK(!mi_heap_contains_block(mi_heap_get_backing(), block));
    mi_subproc_delete(process);
    CHECK(mi_heap_contains_block(mi_heap_get_backing(), block));
    CHECK_EQ(pattern_differs_at(block, 100, 3), 100);
    mi_free(block);

    mi_arena_id_t arena = 7;
    size_t size = 7;
    CHECK_EQ(mi_reserve_os_memory(1 << 20, false, false), 0);
    CHECK_EQ(mi_reserve_os_memory_ex(1 << 26, false, false, true, &arena), ENOMEM);
    CHECK(arena == 0 && mi_arena_area(arena, &size) == NULL && size == 0);
    CHECK(mi_heap_new_in_arena(arena) == NULL);
    CHECK(!mi_manage_os_memory(&size, sizeof size, true, false, true, -1));
    CHECK_EQ(mi_reserve_huge_os_pages_interleave(1, 0, 10), ENOMEM);
    return check_result();
}
