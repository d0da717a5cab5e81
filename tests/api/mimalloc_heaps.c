/* SPDX-License-Identifier: MIT */ /* static-too */
/* mimalloc's heaps: blocks come from the heap that they were asked of, are freed by any free, stay
 * when it is deleted and go when it is destroyed; counts are exact throughout; threads and forked
 * children use, leave and end them. */
#include <malloc.h>
#include <mimalloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "memoir/memoir.h"
#include "tests/api/check.h"

#pragma weak mi_malloc
#pragma weak mi_free
#pragma weak mi_realloc
#pragma weak mi_usable_size
#pragma weak mi_collect
#pragma weak mi_register_error
#pragma weak mi_heap_new
#pragma weak mi_heap_delete
#pragma weak mi_heap_destroy
#pragma weak mi_heap_get_default
#pragma weak mi_heap_set_default
#pragma weak mi_check_owned
#pragma weak mi_version
#pragma weak mi_heap_get_backing
#pragma weak mi_heap_contains_block
#pragma weak mi_heap_check_owned
#pragma weak mi_heap_visit_blocks
#pragma weak mi_heap_malloc
#pragma weak mi_heap_zalloc
#pragma weak mi_heap_calloc
#pragma weak mi_heap_realloc
#pragma weak mi_heap_rezalloc
#pragma weak mi_heap_strdup
#pragma weak mi_heap_malloc_aligned
#pragma weak mi_heap_malloc_aligned_at
#pragma weak mi_heap_zalloc_aligned
#pragma weak mi_heap_collect
#pragma weak memoir_stats

enum { MANY = 20000 };
static unsigned char *blocks[MANY];
/* What the arguments say of the mode: each block lies alone, or some do, and a wrong free ends the
 * program; or blocks are smaller than those of their class. */
static bool guarded, sampled, hardened;

static struct memoir_stats stats(void)
{
    struct memoir_stats now;
    memset(&now, 0, sizeof now);
    memoir_stats(&now, sizeof now);
    return now;
}

static size_t size_of(size_t i)
{
    return i % 100 == 99 ? 30000 + i * 3 : i % 10 == 9 ? i % 9000 : i % 700;
}

static void fill(mi_heap_t *heap, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        blocks[i] = mi_heap_malloc(heap, size_of(i));
        CHECK(blocks[i] != NULL && mi_usable_size(blocks[i]) >= size_of(i));
        pattern_fill(blocks[i], size_of(i), i);
    }
}

static void check(size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(pattern_differs_at(blocks[i], size_of(i), i), size_of(i));
}

static void destroying_frees(void)
{
    struct memoir_stats before = stats();
    for (int round = 0; round < 5; round++) {
        mi_heap_t *heap = mi_heap_new();
        fill(heap, 2000);
        struct memoir_stats full = stats();
        CHECK_EQ(full.live_blocks - before.live_blocks, 2000);
        check(2000);
        for (size_t i = 0; i < 2000; i += 3) {
            if (i % 2 == 0)
                mi_free(blocks[i]);
            else
                free(blocks[i]);
        }
        struct memoir_stats some = stats();
        CHECK_EQ(full.live_blocks - some.live_blocks, 667);
        mi_heap_destroy(heap);
        struct memoir_stats after = stats();
        CHECK_EQ(after.live_blocks, before.live_blocks);
        CHECK_EQ(after.live_bytes, before.live_bytes);
        CHECK_EQ(after.samples_live, before.samples_live);
        CHECK_EQ(after.total.allocs - before.total.allocs, 2000 * (round + 1));
        CHECK_EQ(after.total.frees - before.total.frees, 2000 * (round + 1));
    }
}

static void deleting_keeps(void)
{
    struct memoir_stats before = stats();
    mi_heap_t *heap = mi_heap_new(), *backing = mi_heap_get_backing();
    fill(heap, 2000);
    CHECK(mi_heap_contains_block(heap, blocks[7]) && !mi_heap_contains_block(backing, blocks[7]));
    mi_heap_delete(heap);
    check(2000);
    CHECK(mi_heap_contains_block(backing, blocks[7]));
    for (size_t i = 0; i < 2000; i++)
        blocks[i] = i % 2 == 0 ? mi_realloc(blocks[i], size_of(i)) : blocks[i];
    check(2000);
    for (size_t i = 0; i < 2000; i++)
        mi_free(blocks[i]);
    CHECK_EQ(stats().live_blocks, before.live_blocks);
    mi_heap_delete(backing); /* neither ends the first heap */
    mi_heap_destroy(backing);
}

/* Of 3.4. */
CHECK_WEAK bool mi_heap_contains(const mi_heap_t *heap, const void *p);
CHECK_WEAK bool mi_any_heap_contains(const void *p);

static void blocks_know_their_heap(void)
{
    mi_heap_t *a = mi_heap_new(), *b = mi_heap_new(), *backing = mi_heap_get_backing();
    char *in_a = mi_heap_malloc(a, 10), *in_b = mi_heap_malloc(b, 10), *in_none = mi_malloc(10);
    char *large = mi_heap_malloc_aligned(a, 33554426, 8);
    char *shifted = mi_heap_malloc_aligned_at(b, 100, 64, 8);
    CHECK(mi_heap_contains_block(a, in_a) && !mi_heap_contains_block(a, in_b));
    CHECK(mi_heap_check_owned(b, in_b) && !mi_heap_check_owned(b, in_none));
    CHECK(mi_heap_contains(b, in_b + sizeof(void *)) && !mi_heap_contains(a, in_b));
    CHECK(mi_any_heap_contains(in_b + sizeof(void *)) && !mi_any_heap_contains(&a));
    CHECK(mi_heap_check_owned(b, in_b + sizeof(void *)) && !mi_heap_check_owned(b, in_b + 1));
    CHECK(!mi_heap_check_owned(a, in_b + sizeof(void *)) && !mi_heap_check_owned(a, &a));
    CHECK(mi_check_owned(in_none) && mi_check_owned(in_a) == (mi_version() >= 30000));
    CHECK(mi_heap_set_default(a) == backing);
    CHECK(mi_check_owned(in_a) && mi_check_owned(in_none) == (mi_version() >= 30000));
    CHECK(mi_heap_set_default(backing) == a);
    CHECK(mi_heap_contains_block(backing, in_none));
    CHECK(mi_heap_contains_block(a, large) && !mi_heap_contains_block(b, large));
    CHECK(is_aligned(shifted + 8, 64) && mi_heap_contains_block(b, shifted));
    CHECK(!mi_heap_contains_block(a, &a));
    mi_free(large);
    mi_free(shifted);
    CHECK(!mi_heap_contains_block(b, shifted));
    for (size_t align = 1; align <= 65536; align *= 2) {
        char *block = mi_heap_malloc_aligned(a, 100, align);
        CHECK(is_aligned(block, align) && mi_heap_contains_block(a, block));
        block = mi_heap_zalloc_aligned(b, 1000, align);
        CHECK(is_aligned(block, align) && first_other_byte(block, 1000, 0) == 1000);
        mi_free(block);
    }
    in_a = mi_heap_realloc(a, in_a, 100000);
    CHECK(mi_heap_contains_block(a, in_a));
    in_a = mi_heap_realloc(a, in_a, 200000);
    CHECK(mi_heap_contains_block(a, in_a));
    char *text = mi_heap_strdup(b, "text");
    CHECK(strcmp(text, "text") == 0 && mi_heap_contains_block(b, text));
    char *zeroed = mi_heap_rezalloc(a, mi_heap_calloc(a, 10, 10), 5000);
    CHECK_EQ(first_other_byte(zeroed, 5000, 0), 5000);
    mi_heap_destroy(a);
    mi_heap_destroy(b);
    mi_free(in_none);
}

static size_t areas, visited, visited_bytes;

static bool visit(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
                  void *arg)
{
    CHECK(heap == arg && area->block_size == size && area->used > 0);
    if (block == NULL)
        areas++;
    else {
        visited++;
        visited_bytes += size;
        CHECK((char *)block >= (char *)area->blocks);
        CHECK(mi_heap_contains_block((mi_heap_t *)heap, block));
    }
    return visited < 1500;
}

static void blocks_are_visited(void)
{
    mi_heap_t *heap = mi_heap_new();
    size_t bytes = 0;
    fill(heap, 1000);
    for (size_t i = 0; i < 1000; i += 2)
        mi_free(blocks[i]);
    for (size_t i = 1; i < 1000; i += 2)
        bytes += mi_usable_size(blocks[i]);
    CHECK(mi_heap_visit_blocks(heap, true, visit, heap));
    CHECK_EQ(visited, 500);
    CHECK(visited_bytes == bytes || (hardened && visited_bytes > bytes));
    CHECK(guarded ? areas == 500 : areas > 10 && areas < 500);
    fill(heap, 2000);
    visited = 0;
    CHECK(!mi_heap_visit_blocks(heap, true, visit, heap));
    CHECK_EQ(visited, 1500);
    mi_heap_destroy(heap);
}

static void defaults_are_used(void)
{
    mi_heap_t *heap = mi_heap_new(), *backing = mi_heap_get_backing();
    CHECK(mi_heap_get_default() == backing);
    CHECK(mi_heap_set_default(heap) == backing);
    CHECK(mi_heap_get_default() == heap);
    for (size_t i = 0; i < 300; i++) {
        char *mine = mi_malloc(size_of(i)), *plain = malloc(size_of(i)), *zero = calloc(1, 50);
        CHECK(mi_heap_contains_block(heap, mine) && mi_heap_contains_block(heap, plain));
        CHECK(mi_heap_contains_block(heap, zero));
        mi_free(i % 2 == 0 ? mine : plain);
        free(zero);
    }
    CHECK(mi_heap_set_default(backing) == heap);
    char *other = mi_malloc(10);
    CHECK(mi_heap_contains_block(backing, other));
    CHECK(mi_heap_set_default(heap) == backing);
    mi_heap_destroy(heap); /* the default is the first heap again */
    CHECK(mi_heap_get_default() == backing);
    mi_free(other);
    free(malloc(10));
}

static void note_error(int error, void *count)
{
    *(int *)count += error == EAGAIN;
}

static void double_frees_are_found(void)
{
    mi_heap_t *heap = mi_heap_new();
    int errors = 0;
    mi_register_error(note_error, &errors);
    char *block = mi_heap_malloc(heap, 100);
    mi_free(block);
    mi_free(opaque_ptr(block)); /* told, and ignored */
    CHECK_EQ(errors, 1);
    mi_register_error(NULL, NULL);
    char *one = mi_heap_malloc(heap, 100), *two = mi_heap_malloc(heap, 100);
    CHECK(one != two);
    mi_heap_destroy(heap);
}

/* Frees what the main thread has allocated, and leaves a heap behind. */
static void *frees_and_leaves(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < MANY; i += 2)
        mi_free(blocks[i]);
    mi_heap_t *heap = mi_heap_new();
    unsigned char **kept = malloc(100 * sizeof *kept);
    for (size_t i = 0; i < 100; i++) {
        kept[i] = mi_heap_malloc(heap, 100 + i);
        pattern_fill(kept[i], 100 + i, i);
    }
    return kept;
}

static void threads_share(void)
{
    struct memoir_stats before = stats();
    mi_heap_t *heap = mi_heap_new();
    for (int round = 0; round < 3; round++) {
        fill(heap, MANY);
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, frees_and_leaves, NULL);
        pthread_join(thread, &result);
        unsigned char **kept = result;
        for (size_t i = 0; i < 100; i++) {
            CHECK_EQ(pattern_differs_at(kept[i], 100 + i, i), 100 + i);
            mi_free(kept[i]);
        }
        free(kept);
        for (size_t i = 1; i < MANY; i += 2) {
            CHECK_EQ(pattern_differs_at(blocks[i], size_of(i), i), size_of(i));
            mi_free(blocks[i]);
        }
    }
    mi_heap_destroy(heap);
    CHECK(stats().live_blocks <= before.live_blocks + 8); /* the thread library's own */
}

static mi_heap_t *shared;

/* As release 3 allows: several threads allocate from one heap. */
static void *uses_shared(void *arg)
{
    unsigned char *mine[200] = {0};
    size_t seed = (size_t)(uintptr_t)arg;
    for (size_t i = 0; i < 50000; i++) {
        size_t at = (i * 7919 + seed) % 200, size = (i * 31 + seed) % 2000 + 1;
        if (mine[at] != NULL) {
            CHECK_EQ(mine[at][0], (unsigned char)at);
            mi_free(mine[at]);
        }
        mine[at] = mi_heap_malloc(shared, size);
        mine[at][0] = (unsigned char)at;
        mine[at][size - 1] = (unsigned char)at;
    }
    return NULL; /* the rest is left to mi_heap_destroy */
}

static void threads_allocate_from_one_heap(void)
{
    struct memoir_stats before = stats();
    pthread_t threads[4];
    shared = mi_heap_new();
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, uses_shared, (void *)i);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(stats().live_blocks >= before.live_blocks + 790);
    mi_heap_destroy(shared);
    CHECK(stats().live_blocks <= before.live_blocks + 8);
}

static volatile bool stop;

static void *busy(void *arg)
{
    (void)arg;
    mi_heap_t *heap = mi_heap_new();
    for (size_t i = 0; !stop; i++) {
        void *block = mi_heap_malloc(heap, i % 3000);
        mi_free(block);
        if (i % 1000 == 0) {
            mi_heap_destroy(heap);
            heap = mi_heap_new();
        }
    }
    return NULL;
}

static void children_go_on(void)
{
    pthread_t thread;
    mi_heap_t *heap = mi_heap_new();
    fill(heap, 1000);
    stop = false;
    pthread_create(&thread, NULL, busy, NULL);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            check(1000);
            for (size_t i = 0; i < 1000; i += 2)
                mi_free(blocks[i]);
            mi_heap_t *other = mi_heap_new();
            for (size_t i = 0; i < 1000; i++)
                mi_heap_malloc(other, i);
            mi_heap_destroy(heap);
            mi_heap_destroy(other);
            heap = mi_heap_new();
            fill(heap, 1000);
            check(1000);
            mi_heap_destroy(heap);
            _exit(check_failures == 0 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK_AT(status == 0, "round %d: status %d", round, status);
    }
    stop = true;
    pthread_join(thread, NULL);
    mi_heap_destroy(heap);
}

int main(int count, char **arguments)
{
    guarded = count > 1 && strcmp(arguments[1], "guarded") == 0;
    sampled = count > 1 && strcmp(arguments[1], "sampled") == 0;
    hardened = count > 1 && strcmp(arguments[1], "hardened") == 0;
    destroying_frees();
    deleting_keeps();
    blocks_know_their_heap();
    blocks_are_visited();
    defaults_are_used();
    if (!guarded && !sampled)
        double_frees_are_found();
    threads_share();
    threads_allocate_from_one_heap();
    children_go_on();
    return check_result();
}
