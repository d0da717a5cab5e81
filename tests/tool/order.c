/* SPDX-License-Identifier: MIT */
/* one-thread */
/*
 * Stacks in order: each way of sorting (all at once, frame by frame, whole stacks) gives what a
 * plain comparison gives, and the number of frames that neighbours share is right.
 */
#include "tool/profile/profile.h"

#include "tests/unit/unit.h"

struct stacks {
    uint32_t *frames, *first;
    size_t count;
};

static uint32_t dice(void)
{
    static uint64_t state = 5;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33);
}

/* So many stacks, whose lengths add up to `room` at most. */
static struct stacks start(size_t count, size_t room)
{
    struct stacks stacks = {.count = count};
    stacks.frames = calloc(room + 1, sizeof *stacks.frames);
    stacks.first = calloc(count + 1, sizeof *stacks.first);
    assert(stacks.frames && stacks.first);
    return stacks;
}

static const uint32_t *path(const void *context, uint32_t stack, uint32_t *count)
{
    const struct stacks *stacks = context;
    *count = stacks->first[stack + 1] - stacks->first[stack];
    return stacks->frames + stacks->first[stack];
}

/* How many frames two stacks share, and which is smaller. */
static int compare(const struct stacks *stacks, uint32_t a, uint32_t b, bool from_end,
                   uint32_t *shared)
{
    uint32_t count_a, count_b;
    const uint32_t *left = path(stacks, a, &count_a), *right = path(stacks, b, &count_b);
    for (*shared = 0; *shared < count_a && *shared < count_b; ++*shared) {
        uint32_t x = left[from_end ? count_a - 1 - *shared : *shared];
        uint32_t y = right[from_end ? count_b - 1 - *shared : *shared];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return count_a < count_b ? -1 : count_a > count_b;
}

static void check(const struct stacks *stacks)
{
    for (unsigned from_end = 0; from_end < 2; from_end++) {
        struct order order;
        assert(order_make(&order, stacks->count, path, stacks, from_end));
        assert(order.count == stacks->count);
        bool *seen = calloc(stacks->count + 1, sizeof *seen);
        for (size_t i = 0; i < order.count; i++) {
            uint32_t stack = order_stack(&order, i), shared;
            assert(stack < stacks->count && !seen[stack]);
            seen[stack] = true;
            if (i == 0) {
                assert(order_shared(&order, i) == 0);
                continue;
            }
            uint32_t before = order_stack(&order, i - 1);
            int sign = compare(stacks, before, stack, from_end, &shared);
            assert(sign < 0 || (sign == 0 && before < stack));
            assert(order_shared(&order, i) == shared);
        }
        free(seen);
        order_free(&order);
    }
    free(stacks->frames);
    free(stacks->first);
}

static void random_stacks(size_t count, uint32_t depth_max, uint32_t kinds)
{
    struct stacks stacks = start(count, count * depth_max);
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t left = dice() % (depth_max + 1); left > 0; left--)
            stacks.frames[used++] = dice() % kinds;
        stacks.first[i + 1] = used;
    }
    check(&stacks);
}

/* A function that calls itself, seen at each depth, in front of `kinds` others. */
static void recursion(size_t count, uint32_t kinds)
{
    struct stacks stacks = start(count, count * (count + 1) / 2);
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            stacks.frames[used++] = 7;
        if (i > 0 && kinds > 0)
            stacks.frames[used - 1] = (uint32_t)(dice() % kinds);
        stacks.first[i + 1] = used;
    }
    check(&stacks);
}

/* The tree of the example in order.h. */
static void runs_are_nodes(void)
{
    static uint32_t frames[] = {1, 2, 3, 1, 2, 4, 5, 1, 6}, first[] = {0, 3, 7, 9};
    struct stacks stacks = {frames, first, 3};
    struct order order;
    assert(order_make(&order, 3, path, &stacks, false));
    assert(order_run(&order, 0, 3, 0) == 3 && order_run(&order, 0, 3, 1) == 2);
    assert(order_run(&order, 0, 3, 2) == 1 && order_run(&order, 1, 3, 1) == 2);
    order_free(&order);
}

int main(void)
{
    runs_are_nodes();
    random_stacks(0, 5, 2);
    random_stacks(1, 5, 2);
    random_stacks(1000, 0, 2);
    random_stacks(5000, 12, 3);
    random_stacks(150000, 10, 4); /* more than are sorted at once */
    random_stacks(150000, 10, 50000);
    recursion(300, 0);
    recursion(1600, 0); /* larger than the buffer, and does not get smaller */
    recursion(1600, 3);
    return 0;
}
