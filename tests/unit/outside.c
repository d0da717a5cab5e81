/* SPDX-License-Identifier: MIT */
/* Blocks outside of the window: aligned, apart from each other, known by their first byte only, and
 * gone when all are freed; also in a child that was forked while another thread took some. */
#include "tests/unit/unit.h"

#include <sys/wait.h>

#include "lib/alloc/alloc.h"

enum { BLOCKS = 400, TURNS = 20000, THREADS = 4, LONG = 32 << 10, STEPS = LONG / 64 };

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

static void *take_and_give(void *enough)
{
    bool zero;
    while (!load_acquire((uint32_t *)enough))
        assert(outside_give(outside_take(LONG, 16, &zero)));
    return NULL;
}

/* Frees the blocks one after the other; those that are left must still be there. */
static void give_in_child(char **blocks, unsigned count)
{
    alarm(60);
    alloc_fork_child();
    alloc_recover(lock_self(), true);
    for (unsigned i = 0; i < count; i++) {
        if (blocks[count - 1][0] != 'x' || !outside_give(blocks[i]))
            _exit(1);
    }
    _exit(0);
}

/* Of a block that was being taken, the child sees some steps: they look like a part of the block
 * before it. */
static void half_a_block_in_a_child(void)
{
    char *blocks[1 + STEPS], *between;
    uint32_t enough = 0;
    pthread_t thread;
    bool zero;
    blocks[0] = outside_take(64, 16, &zero);
    between = outside_take(LONG, 16, &zero);
    for (unsigned i = 1; i <= STEPS; i++)
        memset(blocks[i] = outside_take(64, 16, &zero), 'x', 64);
    assert(between == blocks[0] + 64 && outside_give(between));
    assert(pthread_create(&thread, NULL, take_and_give, &enough) == 0);
    for (unsigned i = 0; i < unit_times(200); i++) {
        pid_t pid = fork();
        if (pid == 0)
            give_in_child(blocks, 1 + STEPS);
        int status;
        assert(waitpid(pid, &status, 0) == pid && status == 0);
    }
    store_release(&enough, 1);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i <= STEPS; i++)
        assert(outside_give(blocks[i]));
    assert(outside_mapped() == 0);
}

int main(void)
{
    pthread_t threads[THREADS];
    unit_start();
    assert(alloc_fork_watch() || unit_emulated());
    only_the_first_byte_is_a_block();
    half_a_block_in_a_child();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, random_operations, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert(pthread_join(threads[i], NULL) == 0);
    assert(outside_mapped() == 0);
    return 0;
}
