/* SPDX-License-Identifier: MIT */
/* Every distinct stack has one number, whoever adds it and whatever part of a walk is known. */
#include "tests/unit/unit.h"

#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { THREADS = 4, STACKS = 3000, DEPTH_MAX = 40 };

/* A stack that the number decides: common near the root, different at the leaf. */
static void walk_make(struct walk *walk, uint32_t number)
{
    uint64_t random = number * UINT64_C(0x9e3779b97f4a7c15) | 1;
    walk->count = 1 + (uint32_t)(unit_random(&random) % DEPTH_MAX);
    walk->same = 0;
    for (uint32_t i = 0; i < walk->count; i++)
        walk->pcs[i] = i < 5 ? 0x1000 + i : 0x2000 + unit_random(&random) % (i < 10 ? 4 : 1000);
}

static bool is_stack(uint32_t stack, const struct walk *walk)
{
    uintptr_t pcs[WALK_MAX];
    if (stacks_frames(stack, pcs, WALK_MAX) != walk->count)
        return false;
    for (uint32_t i = 0; i < walk->count; i++)
        if (pcs[i] != walk->pcs[walk->count - 1 - i])
            return false;
    return true;
}

static uint32_t numbers[THREADS][STACKS];

static void *add_all(void *argument)
{
    uint32_t *mine = argument;
    struct walk *walk = calloc(1, sizeof *walk);
    for (uint32_t k = 0; k < STACKS; k++) {
        uint32_t i = (k * 7 + (uint32_t)(uintptr_t)mine / 64) % STACKS; /* another order each */
        walk_make(walk, i);
        mine[i] = stacks_add(walk);
        assert(mine[i] > STACK_OTHER);
        assert(is_stack(mine[i], walk));
    }
    free(walk);
    return NULL;
}

static void threads_agree_on_numbers(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, add_all, numbers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    static struct walk walk;
    unsigned split = 0; /* two threads at the moment when an index was added */
    for (uint32_t i = 0; i < STACKS; i++) {
        walk_make(&walk, i);
        for (int k = 0; k < THREADS; k++) {
            assert(is_stack(numbers[k][i], &walk));
            split += numbers[k][i] != numbers[0][i];
        }
    }
    assert(split < STACKS / 10);
}

static void different_stacks_differ(void)
{
    static struct walk a, b;
    for (uint32_t i = 0; i + 1 < STACKS; i++) {
        walk_make(&a, i);
        walk_make(&b, i + 1);
        bool equal = a.count == b.count && memcmp(a.pcs, b.pcs, a.count * sizeof a.pcs[0]) == 0;
        assert((stacks_add(&a) == stacks_add(&b)) == equal);
    }
}

static void what_is_the_same_is_taken_over(void)
{
    static struct walk walk, whole;
    walk_make(&walk, 4711);
    walk.count = 20;
    for (uint32_t i = 0; i < walk.count; i++)
        walk.pcs[i] = 0x7000 + i;
    stacks_add(&walk);
    for (uint32_t same = 0; same <= 20; same++) {
        walk.same = same;
        for (uint32_t i = same; i < 20; i++)
            walk.pcs[i] = 0x9000 + same * 100 + i;
        whole = walk;
        whole.same = 0;
        uint32_t by_part = stacks_add(&walk);
        assert(by_part == stacks_add(&whole) && is_stack(by_part, &whole));
    }
}

static void numbers_are_complete_up_to_the_count(void)
{
    uint32_t caller, count = stacks_count();
    uintptr_t pc;
    assert(count > STACKS);
    for (uint32_t node = STACK_OTHER + 1; node < count; node++)
        assert(stacks_node(node, &caller, &pc) && caller < node && pc != 0);
    assert(!stacks_node(count, &caller, &pc));
    assert(!stacks_node(STACK_NONE, &caller, &pc) && !stacks_node(STACK_OTHER, &caller, &pc));
    uintptr_t pcs[1];
    assert(stacks_frames(STACK_NONE, pcs, 1) == 0);
}

static void beyond_the_cap_all_is_other(void)
{
    static struct walk walk, last;
    uint32_t before = stacks_count(), refused = 0;
    config.heap_memory = 0;
    for (uint32_t i = STACKS; i < 2 * STACKS; i++) {
        walk_make(&walk, i);
        if (stacks_add(&walk) != STACK_OTHER)
            continue;
        refused++;
        if (walk.count > 1 && walk.nodes[walk.count - 2] == STACK_OTHER)
            last = walk;
    }
    assert(refused > 0 && stacks_refused() == refused);
    assert(stacks_count() - before <= 256); /* what the last slab had room for */
    walk_make(&walk, 1);
    assert(stacks_add(&walk) == numbers[0][1]); /* what is known stays known */
    config.heap_memory = 64 << 20;
    walk_make(&walk, 2 * STACKS - 1);
    assert(is_stack(stacks_add(&walk), &walk));
    last.same = last.count - 1; /* as a thread's next walk has it, from the same callers */
    assert(is_stack(stacks_add(&last), &last));
}

int main(void)
{
    unit_start();
    threads_agree_on_numbers();
    different_stacks_differ();
    what_is_the_same_is_taken_over();
    numbers_are_complete_up_to_the_count();
    beyond_the_cap_all_is_other();
    return 0;
}
