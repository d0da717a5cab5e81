/* SPDX-License-Identifier: MIT */
/* Blocks outside of the window: aligned, apart from each other, known by their first byte only, and
 * gone when all are freed. */
#include "tests/unit/unit.h"

#include "lib/alloc/outside.h"

enum { BLOCKS = 400, TURNS = 20000, THREADS = 4 };

struct shadow {
    unsigned char *block;
    size_t size;
    unsigned char value;
};

static void check(const struct shadow *shadow)
{
    assert(outside_size(shadow->block) >= shadow->size);
    assert(shadow->block[0] == shadow->value && shadow->block[shadow->size - 1] == shadow->value);
}

static void *random_operations(void *number)
{
    struct shadow shadows[BLOCKS] = {{0}};
    uint64_t state = (uintptr_t)number * 2 + 1;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        struct shadow *shadow = &shadows[(state >> 33) % BLOCKS];
        if (shadow->block != NULL) {
            check(shadow);
            assert(outside_give(shadow->block));
            shadow->block = NULL;
            continue;
        }
        bool zero;
        size_t align = (size_t)16 << (state >> 50) % 10;
        shadow->size = 1 + (state >> 20) % ((state >> 60) == 0 ? 300000 : 2000);
        shadow->value = (unsigned char)turn;
        shadow->block = outside_take(shadow->size, align, &zero);
        assert(shadow->block != NULL && (uintptr_t)shadow->block % align == 0);
        if (zero)
            assert(shadow->block[0] == 0 && shadow->block[shadow->size - 1] == 0);
        memset(shadow->block, shadow->value, shadow->size);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (shadows[i].block != NULL) {
            check(&shadows[i]);
            assert(outside_give(shadows[i].block));
        }
    return NULL;
}

static void only_the_first_byte_is_a_block(void)
{
    bool zero;
    char *small = outside_take(100, 16, &zero), *large = outside_take(1 << 20, 1 << 21, &zero);
    int stranger;
    assert(small != NULL && large != NULL && (uintptr_t)large % (1 << 21) == 0);
    assert(outside_size(small) == 128 && outside_size(large) >= 1 << 20);
    assert(outside_size(small + 16) == 0 && outside_size(small + 64) == 0);
    assert(outside_size(large + 4096) == 0 && outside_size(&stranger) == 0);
    assert(!outside_give(small + 64) && !outside_give(large + 64));
    assert(outside_give(small) && !outside_give(small));
    assert(outside_give(large) && !outside_give(large));
    assert(outside_mapped() == 0 && outside_size(small) == 0);
    assert(outside_take(SIZE_MAX / 2, 16, &zero) == NULL);
    assert(outside_take(16, (size_t)1 << 62, &zero) == NULL);
}

int main(void)
{
    pthread_t threads[THREADS];
    unit_start();
    only_the_first_byte_is_a_block();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, random_operations, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
    assert(outside_mapped() == 0);
    return 0;
}
