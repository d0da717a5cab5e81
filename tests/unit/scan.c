/* SPDX-License-Identifier: MIT */
/*
 * The scan for lost blocks: random graphs of blocks, with pointers to starts and into blocks, have
 * the verdicts that a slow and simple search gives; long lists, wide arrays, cycles and each kind
 * of pointer into a block are found out about one by one.
 */
#include "lib/leak/scan.h"

#include "base/arch.h"
#include "tests/unit/unit.h"

enum { BLOCKS = 120, INSIDE = 24, ROOTS = 16 };

static struct heap *heap;
static struct scan_result *result;

static void *take(size_t size)
{
    if (size > BLOCK_MAX) {
        bool zero;
        char *large = large_take(0, size, GRANULE, &zero);
        assert(large != NULL);
        *live_at(large) = live_sign(large);
        memset(large, 0, size);
        return large;
    }
    void *block = unit_malloc(heap, class_of(size));
    memset(block, 0, size);
    return block;
}

static void give(void *block)
{
    if (mark_of(block) == MARK_LARGE) {
        *live_at(block) = 0;
        large_give(span_of(block));
    } else {
        unit_free(heap, block);
    }
}

static void run(const struct scan_rules *rules, const void *roots, size_t bytes)
{
    struct scan scan;
    memset(result, 0, sizeof *result);
    assert(scan_begin(&scan, rules, result));
    scan_root(&scan, (uintptr_t)roots, (uintptr_t)roots + bytes);
    scan_finish(&scan);
    scan_end(&scan);
    assert(result->complete && result->root_bytes == bytes);
}

static uint64_t rows_sum(size_t offset)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SCAN_ROWS; i++)
        sum += ((const struct scan_sum *)((const char *)&result->rows[i] + offset))->blocks;
    return sum;
}

static void expect(uint64_t reachable, uint64_t possible, uint64_t indirect, uint64_t definite)
{
    assert(result->reachable.blocks == reachable);
    assert(result->possible.blocks == possible);
    assert(result->indirect.blocks == indirect);
    assert(result->definite.blocks == definite);
    assert(rows_sum(offsetof(struct scan_row, possible)) == possible);
    assert(rows_sum(offsetof(struct scan_row, indirect)) == indirect);
    assert(rows_sum(offsetof(struct scan_row, owned)) == indirect);
    assert(rows_sum(offsetof(struct scan_row, definite)) == definite);
}

/* How one block leads to another: not at all, by a pointer into it, or to its start. */
enum { NOTHING, WEAK, STRONG };
static uint8_t edge[BLOCKS][BLOCKS], from_root[BLOCKS];
static bool reach[BLOCKS][BLOCKS]; /* by pointers of any kind, among lost blocks */

static void spread(uint8_t *seen, unsigned min)
{
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < BLOCKS; i++)
            for (unsigned k = 0; k < BLOCKS; k++)
                if (seen[i] && !seen[k] && edge[i][k] >= min)
                    seen[k] = more = true;
    }
}

static void expect_graph(void)
{
    uint8_t strong[BLOCKS], any[BLOCKS];
    unsigned reachable = 0, possible = 0, lost = 0, definite = 0;
    for (unsigned i = 0; i < BLOCKS; i++)
        strong[i] = from_root[i] == STRONG;
    spread(strong, STRONG);
    for (unsigned i = 0; i < BLOCKS; i++)
        any[i] = strong[i] || from_root[i] != NOTHING;
    spread(any, WEAK);
    for (unsigned i = 0; i < BLOCKS; i++) {
        reachable += strong[i];
        possible += any[i] && !strong[i];
        for (unsigned k = 0; k < BLOCKS; k++)
            reach[i][k] = i == k || (!any[i] && !any[k] && edge[i][k] != NOTHING);
    }
    for (unsigned via = 0; via < BLOCKS; via++)
        for (unsigned i = 0; i < BLOCKS; i++)
            for (unsigned k = 0; k < BLOCKS; k++)
                reach[i][k] |= reach[i][via] && reach[via][k];
    for (unsigned i = 0; i < BLOCKS; i++) {
        bool first = !any[i]; /* of its cycle, which no other block leads to */
        for (unsigned k = 0; k < BLOCKS; k++)
            if (reach[k][i] && (!reach[i][k] || k < i))
                first = false;
        lost += !any[i];
        definite += first;
    }
    expect(reachable, possible, lost - definite, definite);
}

static void random_graphs_have_the_verdicts_of_a_simple_search(void)
{
    static const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN};
    uint64_t random = 7;
    for (unsigned round = 0; round < unit_times(60); round++) {
        uintptr_t *blocks[BLOCKS], roots[ROOTS] = {0};
        memset(edge, 0, sizeof edge);
        memset(from_root, 0, sizeof from_root);
        for (unsigned i = 0; i < BLOCKS; i++) {
            size_t size = 512 + unit_random(&random) % 3000;
            blocks[i] = take(unit_random(&random) % 8 == 0 ? size * 40 : size);
        }
        for (unsigned n = 0; n < round * 4; n++) {
            unsigned i = (unsigned)(unit_random(&random) % BLOCKS);
            unsigned k = (unsigned)(unit_random(&random) % BLOCKS);
            bool weak = unit_random(&random) % 4 == 0;
            /* A word of its own for each pair: the first 64 stay for what is inside. */
            uintptr_t *word = &blocks[i][8 + (k % 56)];
            if (*word != 0)
                continue;
            *word = (uintptr_t)blocks[k] + (weak ? INSIDE + 16 * (n % 3) + 1 : 0);
            edge[i][k] = weak ? (edge[i][k] > WEAK ? edge[i][k] : WEAK) : STRONG;
        }
        for (unsigned n = 0; n < ROOTS; n++) {
            unsigned k = (unsigned)(unit_random(&random) % BLOCKS);
            bool weak = unit_random(&random) % 3 == 0;
            roots[n] = (uintptr_t)blocks[k] + (weak ? INSIDE : 0);
            if (from_root[k] != STRONG)
                from_root[k] = weak ? WEAK : STRONG;
        }
        run(&rules, roots, sizeof roots);
        expect_graph();
        for (unsigned i = 0; i < BLOCKS; i++)
            give(blocks[i]);
    }
}

static void long_lists_and_wide_arrays_are_followed_to_their_ends(void)
{
    static const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN};
    enum { LENGTH = 20000, WIDTH = 20000 };
    uintptr_t root = 0, *wide = take(WIDTH * sizeof *wide);
    for (unsigned i = 0; i < LENGTH; i++) {
        uintptr_t *node = take(32);
        node[1] = root;
        root = (uintptr_t)node;
    }
    for (unsigned i = 0; i < WIDTH; i++)
        wide[i] = (uintptr_t)take(16);
    uintptr_t roots[] = {root, (uintptr_t)wide};
    run(&rules, roots, sizeof roots);
    expect(LENGTH + WIDTH + 1, 0, 0, 0);
    run(&rules, &root, sizeof root);
    expect(LENGTH, 0, WIDTH, 1);
    for (unsigned i = 0; i < WIDTH; i++)
        give((void *)wide[i]);
    give(wide);
    while (root != 0) {
        uintptr_t *node = (uintptr_t *)root;
        root = node[1];
        give(node);
    }
}

enum { NODES = 30000, LISTS = 12, STARTS = 3, LEAVES = 500, WEAK_ROOTS = 1500 };
static uintptr_t *node[NODES];
static unsigned next[NODES][2], waiting[NODES]; /* NODES: none */
static bool seen[NODES];

/* What is not seen yet, and can be reached from a node; the number of such nodes. */
static unsigned nodes_from(unsigned start)
{
    unsigned waits = 0, count = 0;
    if (!seen[start])
        seen[waiting[waits++] = start] = true;
    for (; waits > 0; count++) {
        const unsigned *to = next[waiting[--waits]];
        for (unsigned k = 0; k < 2; k++)
            if (to[k] != NODES && !seen[to[k]])
                seen[waiting[waits++] = to[k]] = true;
    }
    return count;
}

static void nodes_connect(uint64_t *random)
{
    unsigned leaf = NODES - LEAVES;
    for (unsigned i = NODES; i > 1; i--) { /* in random order */
        unsigned other = (unsigned)(unit_random(random) % i);
        uintptr_t *swapped = node[i - 1];
        node[i - 1] = node[other];
        node[other] = swapped;
    }
    for (unsigned i = 0; i < NODES; i++) {
        bool ends = i + 1 >= NODES - LEAVES || unit_random(random) % (NODES / LISTS) == 0;
        bool joins = i < NODES - LEAVES && unit_random(random) % 2 == 0;
        /* Some lead to a block that no other leads to, and so belong to no guess. */
        bool forks = i < NODES - LEAVES && leaf < NODES && unit_random(random) % 2000 == 0;
        unsigned other = (unsigned)(unit_random(random) % (NODES - LEAVES));
        next[i][0] = forks ? leaf++ : NODES;
        next[i][1] = !ends ? i + 1 : joins ? other : NODES;
        memset(node[i], 0, 32);
        for (unsigned k = 0; k < 2; k++)
            if (next[i][k] != NODES)
                node[i][i % 3 + k] = (uintptr_t)node[next[i][k]];
        seen[i] = false;
    }
}

/* Lists are followed from places that were guessed (lib/leak/chains.h): whatever leads to their
 * first, their last and their middle blocks, and however they meet, the verdicts are those of a
 * simple search. Pointers into blocks come between those to starts, while guesses are under way. */
static void guessed_lists_have_the_verdicts_of_a_simple_search(void)
{
    static const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN};
    static uintptr_t roots[STARTS + WEAK_ROOTS];
    uint64_t random = 11;
    for (unsigned i = 0; i < NODES; i++)
        node[i] = take(32);
    for (unsigned round = 0; round < unit_times(20); round++) {
        unsigned reachable = 0, possible = 0, from[STARTS + WEAK_ROOTS];
        unsigned roots_count = round % 2 == 0 ? STARTS : STARTS + WEAK_ROOTS;
        nodes_connect(&random);
        for (unsigned i = 0; i < roots_count; i++) {
            bool weak = i != 0 && i != roots_count / 2 && i != roots_count - 1;
            from[i] = (unsigned)(unit_random(&random) % (NODES - LEAVES));
            roots[i] = (uintptr_t)node[from[i]] + (roots_count > STARTS && weak ? INSIDE + 1 : 0);
            reachable += roots[i] % GRANULE == 0 ? nodes_from(from[i]) : 0;
        }
        for (unsigned i = 0; i < roots_count; i++)
            possible += nodes_from(from[i]);
        run(&rules, roots, roots_count * sizeof *roots);
        assert(result->reachable.blocks == reachable && result->possible.blocks == possible);
        assert(result->definite.blocks + result->indirect.blocks == NODES - reachable - possible);
        for (unsigned i = 0; i < result->lost_count; i++)
            for (unsigned k = 0; roots_count == STARTS && i < 3 && k < NODES; k++)
                assert(!seen[k] || (uintptr_t)node[k] != result->lost[i].start);
    }
    for (unsigned i = 0; i < NODES; i++)
        give(node[i]);
}

/* All nodes, in the order in which a search has done with them. */
static void nodes_order(unsigned *order)
{
    static unsigned path[NODES];
    static uint8_t tried[NODES];
    unsigned done = 0;
    memset(tried, 0, sizeof tried);
    memset(seen, 0, sizeof seen);
    for (unsigned start = 0; start < NODES; start++) {
        unsigned depth = 0;
        if (!seen[start])
            seen[path[depth++] = start] = true;
        while (depth > 0) {
            unsigned here = path[depth - 1];
            unsigned to = tried[here] < 2 ? next[here][tried[here]] : NODES;
            if (tried[here]++ >= 2)
                order[done++] = path[--depth];
            else if (to != NODES && !seen[to])
                seen[path[depth++] = to] = true;
        }
    }
}

/* The same for lists that are lost, some of them closed to cycles: one block is definitely lost of
 * each list, or cycle, that no other leads to. */
static void lost_lists_have_the_verdicts_of_a_simple_search(void)
{
    static const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN};
    static unsigned order[NODES];
    uintptr_t none = 0;
    uint64_t random = 17;
    for (unsigned i = 0; i < NODES; i++)
        node[i] = take(32);
    for (unsigned round = 0; round < unit_times(20); round++) {
        unsigned definite = 0, first = 0;
        nodes_connect(&random);
        for (unsigned i = 0; round % 2 != 0 && i < NODES - LEAVES; i++) {
            if (next[i][1] == i + 1)
                continue;
            next[i][1] = round % 4 == 1 ? first : next[i][1];
            node[i][i % 3 + 1] = next[i][1] == NODES ? 0 : (uintptr_t)node[next[i][1]];
            first = i + 1;
        }
        nodes_order(order);
        memset(seen, 0, sizeof seen);
        for (unsigned i = NODES; i-- > 0;)
            definite += nodes_from(order[i]) > 0;
        run(&rules, &none, sizeof none);
        expect(0, 0, NODES - definite, definite);
    }
    for (unsigned i = 0; i < NODES; i++)
        give(node[i]);
}

/* Blocks outside of the window, by number; all of one site. */
enum { AGED = 8, AGED_BYTES = 64, AGED_SITE = 7 };
static _Alignas(GRANULE) char aged[AGED][AGED_BYTES];
static struct record aged_records[AGED];

static uint32_t aged_count(void)
{
    return AGED;
}

static bool aged_at(uint32_t number, struct found *block, const struct record **record)
{
    *block = (struct found){(uintptr_t)aged[number], AGED_BYTES, number};
    *record = &aged_records[number];
    return true;
}

static uint32_t aged_find(uintptr_t address)
{
    return (uint32_t)((address - (uintptr_t)aged) / AGED_BYTES);
}

static void ages_are_those_of_reachable_blocks_alone(void)
{
    const struct scan_others others = {
        .memory = {(uintptr_t)aged[1], (uintptr_t)aged[AGED]},
        .count = aged_count,
        .at = aged_at,
        .find = aged_find,
    };
    const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN, .others = &others, .ages = true};
    const uint64_t young = UINT64_C(1) << 40; /* ticks: the scan's own time is nothing beside it */
    uintptr_t roots[AGED - 1];
    for (unsigned i = 1; i < AGED; i++) {
        bool old = i > AGED / 2; /* only pointers into these: by far the oldest of their site */
        uint64_t born = arch_ticks() - (old ? young + young / 4 * (i - AGED / 2) : young);
        aged_records[i] = (struct record){AGED_SITE, 0, (uint16_t)(born >> 32), (uint32_t)born};
        roots[i - 1] = (uintptr_t)aged[i] + (old ? INSIDE + 1 : 0);
    }
    run(&rules, roots, sizeof roots);
    expect(AGED / 2, AGED - 1 - AGED / 2, 0, 0);
    assert(result->ages.used_count == 1);
    const struct scan_age *age = &result->ages.rows[result->ages.used[0]];
    assert(age->site == AGED_SITE && age->blocks == AGED / 2 && age->quarters[3] == AGED / 2);
    assert(age->quarters[0] + age->quarters[1] + age->quarters[2] + age->untouched == 0);
    for (unsigned i = 0; i < SCAN_AGES; i++) /* and nothing beside it */
        assert(&result->ages.rows[i] == age || result->ages.rows[i].site == 0);
}

static void cycles_are_lost_once_and_known_as_such(void)
{
    static const struct scan_rules rules = {.inside = SCAN_INSIDE_KNOWN};
    uintptr_t none = 0, *a = take(64), *b = take(64), *alone = take(64), *own = take(64);
    a[0] = (uintptr_t)b;
    b[0] = (uintptr_t)a;
    own[0] = (uintptr_t)own;
    alone[0] = 42;
    run(&rules, &none, sizeof none);
    expect(0, 0, 1, 3);
    uint64_t cycles = 0;
    for (unsigned i = 0; i < SCAN_ROWS; i++)
        cycles += result->rows[i].cycles;
    assert(cycles == 2);
    give(a), give(b), give(alone), give(own);
}

static void pointers_into_blocks_count_as_the_rules_say(void)
{
    static uintptr_t vtable[4];
    struct scan_range constants = {(uintptr_t)vtable, (uintptr_t)(vtable + 4)};
    struct scan_rules known = {.inside = SCAN_INSIDE_KNOWN, .constants = {&constants, 1}};
    struct scan_rules any = {.inside = SCAN_INSIDE_ANY};
    struct scan_rules offset = {.inside = SCAN_INSIDE_OFFSET, .offset_max = 40};
    uintptr_t *array = take(808), *object = take(96), *plain = take(96), *large = take(100000);
    array[0] = 100; /* new T[100] */
    object[5] = (uintptr_t)&vtable[2];
    uintptr_t roots[] = {(uintptr_t)&array[1], (uintptr_t)&object[5], (uintptr_t)&plain[5],
                         (uintptr_t)&large[9000]};
    run(&known, roots, sizeof roots);
    expect(2, 2, 0, 0);
    run(&any, roots, sizeof roots);
    expect(4, 0, 0, 0);
    run(&offset, roots, sizeof roots);
    expect(3, 1, 0, 0);
    give(plain), give(large);
    run(&any, roots, sizeof roots); /* what is freed is no block */
    expect(2, 0, 0, 0);
    give(array), give(object);
}

static void first_elements_of_aligned_arrays_count(void)
{
    struct scan_rules known = {.inside = SCAN_INSIDE_KNOWN};
    for (size_t alignment = 8; alignment <= 64; alignment *= 2) {
        enum { LARGE = 1 << 16 }; /* begins at a page */
        uintptr_t *array = take(LARGE), root = (uintptr_t)array + alignment;
        array[alignment / sizeof *array - 1] = (LARGE - alignment) / alignment;
        run(&known, &root, sizeof root);
        expect(1, 0, 0, 0);
        array[alignment / sizeof *array - 1] = LARGE; /* more than there is room for */
        run(&known, &root, sizeof root);
        expect(0, 1, 0, 0);
        give(array);
    }
}

static void tags_do_not_hide_pointers(void)
{
    static const struct scan_rules plain = {.inside = SCAN_INSIDE_KNOWN};
    static const struct scan_rules high = {.inside = SCAN_INSIDE_KNOWN, .tags_high = 8};
    static const struct scan_rules low = {.inside = SCAN_INSIDE_KNOWN, .tags_low = GRANULE_SHIFT};
    static const struct scan_rules steps = {
        .inside = SCAN_INSIDE_KNOWN, .tags_high = 16, .tags_low = GRANULE_SHIFT, .step = 1};
    uintptr_t *a = take(64), *b = take(64), *large = take(100000);
    uintptr_t roots[] = {(uintptr_t)a | (uintptr_t)0xa5 << 56, (uintptr_t)b | 13,
                         (uintptr_t)large | (uintptr_t)3 << 48 | 7};
    run(&plain, roots, sizeof roots);
    expect(0, 1, 0, 2);
    run(&high, roots, sizeof roots);
    expect(1, 1, 0, 1);
    run(&low, roots, sizeof roots);
    expect(1, 0, 0, 2);
    run(&steps, roots, sizeof roots);
    expect(3, 0, 0, 0);
    roots[1] += 16; /* more than any tag */
    run(&low, roots, sizeof roots);
    expect(0, 1, 0, 2);
    give(a), give(b), give(large);
}

int main(void)
{
    unit_start();
    heap = unit_heap(0, 0);
    result = calloc(1, sizeof *result);
    assert(heap != NULL && result != NULL);
    random_graphs_have_the_verdicts_of_a_simple_search();
    long_lists_and_wide_arrays_are_followed_to_their_ends();
    guessed_lists_have_the_verdicts_of_a_simple_search();
    lost_lists_have_the_verdicts_of_a_simple_search();
    ages_are_those_of_reachable_blocks_alone();
    cycles_are_lost_once_and_known_as_such();
    pointers_into_blocks_count_as_the_rules_say();
    first_elements_of_aligned_arrays_count();
    tags_do_not_hide_pointers();
    return 0;
}
