/* SPDX-License-Identifier: MIT */
/* The allocator's own memory: zeroed, aligned, never handed out twice, used again. */
#include "lib/window/meta.h"

#include "tests/unit/unit.h"

enum { THREADS = 4, PIECES = 64 };

static unsigned bytes_not(const unsigned char *at, size_t size, unsigned char value)
{
    unsigned faults = 0;
    for (size_t i = 0; i < size; i++)
        faults += at[i] != value;
    return faults;
}

static void pieces_are_zero_and_aligned(void)
{
    for (size_t bytes = 1; bytes <= 100000; bytes = bytes * 3 / 2 + 1) {
        unsigned char *piece = meta_take(bytes);
        size_t align = 64;
        while (align < bytes && align < 4096)
            align *= 2;
        assert(piece != NULL && (uintptr_t)piece % align == 0);
        assert(bytes_not(piece, bytes, 0) == 0);
        assert(meta_id(piece) != 0 && meta_at(meta_id(piece)) == piece);
        memset(piece, 0xff, bytes);
        meta_give(piece, bytes);
        assert(meta_take(bytes) == piece && bytes_not(piece, bytes, 0) == 0);
        meta_give(piece, bytes);
    }
}

static void sizes_do_not_mix(void)
{
    void *small = meta_take(64), *large = meta_take(65);
    meta_give(small, 64);
    assert(meta_take(128) != small);
    assert(meta_take(1) == small);
    meta_give(large, 128); /* any size of the same power of two will do */
    assert(meta_take(100) == large);
}

static void what_is_for_ever_is_packed_and_zero(void)
{
    char *first = meta_take_for_ever(100), *second = meta_take_for_ever(100);
    assert(second == first + 128 && (uintptr_t)first % 64 == 0);
    assert(bytes_not((unsigned char *)first, 228, 0) == 0);
    assert((char *)meta_take(64) >= second + 100);
}

static void too_much_is_refused(void)
{
    assert(meta_take((size_t)1 << 40) == NULL);
    assert(meta_take_for_ever((size_t)1 << 60) == NULL);
    assert(meta_take(64) != NULL);
}

static void *churn(void *seed)
{
    struct piece {
        unsigned char *at;
        size_t bytes;
    } pieces[PIECES] = {{NULL, 0}};
    uint64_t random = (uintptr_t)seed;
    for (unsigned i = 0; i < unit_times(100000); i++) {
        struct piece *piece = &pieces[unit_random(&random) % PIECES];
        if (piece->at != NULL) {
            assert(bytes_not(piece->at, piece->bytes, (unsigned char)(uintptr_t)seed) == 0);
            meta_give(piece->at, piece->bytes);
            piece->at = NULL;
            continue;
        }
        piece->bytes = 1 + unit_random(&random) % 500;
        piece->at = meta_take(piece->bytes);
        assert(piece->at != NULL && bytes_not(piece->at, piece->bytes, 0) == 0);
        memset(piece->at, (int)(uintptr_t)seed, piece->bytes);
    }
    return NULL;
}

static void threads_share_without_overlap(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
    unit_start();
    pieces_are_zero_and_aligned();
    sizes_do_not_mix();
    what_is_for_ever_is_packed_and_zero();
    too_much_is_refused();
    threads_share_without_overlap();
    return 0;
}
