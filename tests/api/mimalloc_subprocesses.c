/* SPDX-License-Identifier: MIT */ /* static-too */
/* mimalloc's subprocesses keep the blocks of their threads apart. */
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
    return check_result();
}
