/* SPDX-License-Identifier: MIT */ /* static-too */
/* mimalloc's arenas: memory that the program hands over, or has reserved, holds the blocks of heaps
 * that are made in it, all of them and nothing else; a full one fails; what a heap gives back
 * serves the next one; heaps in arenas are deleted, destroyed, visited and used by threads as
 * others are; disallow_os_alloc leaves nothing but such memory. */
#include <malloc.h>
#include <mimalloc-stats.h>
#include <mimalloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "memoir/memoir.h"
#include "tests/api/check.h"

#pragma weak mi_malloc
#pragma weak mi_free
#pragma weak mi_usable_size
#pragma weak mi_option_set
#pragma weak mi_heap_new_ex
#pragma weak mi_heap_new_in_arena
#pragma weak mi_heap_delete
#pragma weak mi_heap_destroy
#pragma weak mi_heap_get_backing
#pragma weak mi_heap_get_default
#pragma weak mi_heap_set_default
#pragma weak mi_heap_malloc
#pragma weak mi_heap_zalloc
#pragma weak mi_heap_realloc
#pragma weak mi_heap_malloc_aligned
#pragma weak mi_heap_contains_block
#pragma weak mi_heap_visit_blocks
#pragma weak mi_arena_area
#pragma weak mi_reserve_os_memory
#pragma weak mi_reserve_os_memory_ex
#pragma weak mi_reserve_huge_os_pages_interleave
#pragma weak mi_manage_os_memory
#pragma weak mi_manage_os_memory_ex
#pragma weak mi_stats_get
#pragma weak memoir_stats

enum { SIZE = 8 << 20, MANY = 3000 };
static char *area;
static void *blocks[MANY];

static bool is_inside(const void *block)
{
    return (const char *)block >= area && (const char *)block < area + SIZE;
}

static uint64_t live(void)
{
    struct memoir_stats now;
    memset(&now, 0, sizeof now);
    memoir_stats(&now, sizeof now);
    return now.live_blocks;
}

static size_t size_of(size_t i)
{
    return i % 200 == 199 ? 40000 : i % 1500;
}

static void fill(mi_heap_t *heap)
{
    for (size_t i = 0; i < MANY; i++) {
        blocks[i] = mi_heap_malloc(heap, size_of(i));
        CHECK(is_inside(blocks[i]) && mi_usable_size(blocks[i]) >= size_of(i));
        pattern_fill(blocks[i], size_of(i), (unsigned)i);
    }
}

static void check(void)
{
    for (size_t i = 0; i < MANY; i++)
        CHECK_EQ(pattern_differs_at(blocks[i], size_of(i), (unsigned)i), size_of(i));
}

static void *works_inside(void *heap)
{
    mi_heap_set_default(heap);
    char *block = malloc(3000), *other = mi_malloc(300);
    bool inside = heap != mi_heap_get_backing();
    CHECK(is_inside(block) == inside && is_inside(other) == inside);
    mi_free(other);
    if (!inside)
        mi_free(block);
    return block;
}

static size_t visited;

static bool visit(const mi_heap_t *heap, const mi_heap_area_t *of, void *block, size_t size,
                  void *arg)
{
    (void)heap, (void)arg;
    CHECK(is_inside(of->blocks) && of->used > 0);
    visited += block != NULL;
    if (block != NULL)
        CHECK(is_inside(block) && size == mi_usable_size(block));
    return true;
}

/* The statistics of the process have blocks in arenas among those of their sizes. */
static void statistics(mi_heap_t *heap)
{
    enum { COUNT = 1000, BYTES = 112, LARGE = 100000 };
    mi_stats_t_decl(before);
    mi_stats_t_decl(after);
    CHECK(mi_stats_get(&before));
    for (int i = 0; i < COUNT; i++)
        blocks[i] = mi_heap_malloc(heap, BYTES);
    void *large = mi_heap_malloc(heap, LARGE);
    CHECK(mi_stats_get(&after));
    CHECK_EQ(after.malloc_normal_count.total - before.malloc_normal_count.total, COUNT);
    CHECK_EQ(after.malloc_normal.current - before.malloc_normal.current, COUNT * BYTES);
    CHECK_EQ(after.malloc_huge_count.total - before.malloc_huge_count.total, 1);
    mi_free(large);
    for (int i = 0; i < COUNT; i++)
        mi_free(blocks[i]);
    CHECK(mi_stats_get(&after));
    CHECK_EQ(after.malloc_normal.current - before.malloc_normal.current, 0);
    CHECK_EQ(after.malloc_huge.current - before.malloc_huge.current, 0);
}

/* All blocks of a heap come from the arena, and go with it. */
static void heaps(mi_arena_id_t arena)
{
    mi_heap_t *heap = mi_heap_new_in_arena(arena);
    CHECK(heap != NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, works_inside, mi_heap_get_backing());
    pthread_join(thread, NULL); /* the first one leaves memory of libc's behind */
    statistics(heap);
    uint64_t before = live();
    fill(heap);
    check();
    CHECK_EQ(live(), before + MANY);
    CHECK(mi_heap_contains_block(heap, blocks[5]));
    CHECK(!mi_heap_contains_block(mi_heap_get_backing(), blocks[5]));
    visited = 0;
    CHECK(mi_heap_visit_blocks(heap, true, visit, NULL));
    CHECK_EQ(visited, MANY);
    for (size_t i = 0; i < MANY; i += 2)
        free(blocks[i]);
    CHECK_EQ(live(), before + MANY / 2);
    blocks[0] = mi_heap_realloc(heap, blocks[1], 100000);
    CHECK(is_inside(blocks[0]) && pattern_differs_at(blocks[0], size_of(1), 1) == size_of(1));
    void *aligned = mi_heap_malloc_aligned(heap, 5000, 1 << 16);
    CHECK(is_inside(aligned) && (uintptr_t)aligned % (1 << 16) == 0);
    char *zero = mi_heap_zalloc(heap, 200000);
    for (size_t i = 0; i < 200000; i++)
        CHECK(zero[i] == 0);
    void *left;
    pthread_create(&thread, NULL, works_inside, heap);
    pthread_join(thread, &left);
    CHECK(is_inside(left));
    mi_heap_destroy(heap);
    CHECK_EQ(live(), before);
}

/* It is full at some time; what was freed is there for the next heap. */
static void full(mi_arena_id_t arena)
{
    for (int round = 0; round < 3; round++) {
        mi_heap_t *heap = mi_heap_new_in_arena(arena);
        size_t taken = 0;
        char *block;
        while ((block = mi_heap_malloc(heap, 10000)) != NULL && is_inside(block))
            taken += mi_usable_size(block);
        CHECK(block == NULL && taken > SIZE * 3 / 4 && taken <= SIZE);
        CHECK(malloc(10000) != NULL); /* others have memory */
        mi_heap_destroy(heap);
    }
}

/* Blocks of a deleted heap stay, and their memory comes back when they are freed. */
static void deleted(mi_arena_id_t arena)
{
    for (int round = 0; round < 10; round++) {
        mi_heap_t *heap = mi_heap_new_in_arena(arena);
        fill(heap);
        mi_heap_delete(heap);
        check();
        CHECK(mi_heap_contains_block(mi_heap_get_backing(), blocks[9]));
        for (size_t i = 0; i < MANY; i++)
            mi_free(blocks[i]);
    }
}

static void *makes_and_deletes(void *arena)
{
    for (int round = 0; round < 2000; round++) {
        mi_heap_t *heap = mi_heap_new_in_arena(*(mi_arena_id_t *)arena);
        void *block = mi_heap_malloc(heap, 100);
        CHECK(is_inside(block));
        mi_heap_delete(heap);
        mi_free(block);
    }
    return NULL;
}

/* Each deleted heap ends once, whichever thread sees that it is empty. */
static void deleted_by_threads(mi_arena_id_t arena)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, makes_and_deletes, &arena);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static long mapped_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Their number has a limit; one more leaves nothing behind. */
static void too_many(void)
{
    mi_arena_id_t arena;
    int count = 0;
    while (count < 1000 && mi_reserve_os_memory_ex(1 << 16, false, false, true, &arena) == 0)
        count++;
    CHECK(count < 1000);
    long before = mapped_bytes();
    for (int i = 0; i < 100; i++)
        CHECK_EQ(mi_reserve_os_memory_ex(SIZE, false, false, true, &arena), ENOMEM);
    CHECK(mapped_bytes() - before < 10 * SIZE);
}

static void refused(void)
{
    mi_arena_id_t arena = 7;
    size_t size = 7;
    CHECK(!mi_manage_os_memory(&size, sizeof size, true, false, true, -1));
    CHECK(!mi_manage_os_memory(NULL, SIZE, true, false, true, -1));
    CHECK_EQ(mi_reserve_os_memory_ex(SIZE_MAX, false, false, true, &arena), ENOMEM);
    CHECK(arena == 0 && mi_arena_area(arena, &size) == NULL && size == 0);
    CHECK(mi_heap_new_in_arena(arena) == NULL && mi_heap_new_in_arena(99) == NULL);
    CHECK_EQ(mi_reserve_huge_os_pages_interleave((size_t)1 << 30, 0, 10), ENOMEM);
}

/* New memory comes from the arena that is not exclusive; when that is full, none does. */
static void nothing_else(void)
{
    mi_arena_id_t shared;
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mi_manage_os_memory_ex(memory, SIZE, true, false, true, -1, false, &shared));
    size_t inside = 0, elsewhere = 0;
    void *block, *list = NULL;
    mi_option_set(mi_option_disallow_os_alloc, 1);
    while ((block = malloc(100000)) != NULL) {
        *(void **)block = list;
        list = block;
        inside += (char *)block >= memory && (char *)block < memory + SIZE;
        elsewhere++;
        if (elsewhere > 100000)
            break;
    }
    mi_option_set(mi_option_disallow_os_alloc, 0);
    CHECK(block == NULL && inside > SIZE / 100000 * 3 / 4);
    CHECK((block = malloc(64 << 20)) != NULL);
    free(block);
    while (list != NULL) {
        block = list;
        list = *(void **)list;
        free(block);
    }
}

int main(void)
{
    mi_arena_id_t arena = 0, reserved = 0;
    size_t size = 0;
    refused();
    area = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mi_manage_os_memory_ex(area, SIZE, false, false, true, -1, true, &arena));
    CHECK(arena != 0 && mi_arena_area(arena, &size) == area && size == SIZE);
    heaps(arena);
    full(arena);
    deleted(arena);
    deleted_by_threads(arena);
    CHECK_EQ(mi_reserve_os_memory(1 << 20, false, false), 0);
    CHECK_EQ(mi_reserve_os_memory_ex(SIZE, false, false, true, &reserved), 0);
    area = mi_arena_area(reserved, &size);
    CHECK(area != NULL && size == SIZE && reserved != arena);
    heaps(reserved);
    full(reserved);
    mi_heap_t *kept = mi_heap_new_ex(0, false, reserved);
    char *block = mi_heap_malloc(kept, 100);
    pattern_fill(block, 100, 4);
    mi_heap_destroy(kept); /* deletes it only */
    CHECK(is_inside(block) && pattern_differs_at(block, 100, 4) == 100);
    free(block);
    nothing_else();
    too_many();
    return check_result();
}
