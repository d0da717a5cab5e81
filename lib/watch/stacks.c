/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/stacks.h. A stack is added frame by frame, from the root: each frame looks for its
 * pc among the children of the node before. Three shortcuts make that cheap: the frames that the
 * walk shares with the thread's last walk have known nodes; each node remembers the child that was
 * looked up last, and a small table those of many nodes; and a whole stack that was added before is
 * found by a hash of its leaf.
 */
#include "lib/watch/stacks.h"

#include "base/compiler.h"
#include "base/config.h"
#include "lib/watch/mirror.h"
#include "lib/watch/table.h"
#include "lib/watch/unwind.h"

/* a is the return address, b the caller's node, link the first site (sites.h) of the stack that
 * ends here. */
struct node {
    struct table_entry entry;
    uint32_t child; /* the child looked up last, which saves a search: tables are large and not
                       in the CPU's cache */
    uint32_t unused;
};

enum { SLAB_SHIFT = 8 };
static BULK uint32_t slabs[TABLE_SLABS];
static struct table nodes = {
    .entry_bytes = sizeof(struct node), .slab_shift = SLAB_SHIFT, .count = 2, .slabs = slabs};
static uint64_t refused;

INLINE void *node_at(uint32_t id);

typedef uint32_t adder(struct table *, uint64_t, uint32_t, uint64_t, bool *);
INLINE uint32_t add(struct walk *walk, adder *table);

/* The first node that a signal handler has added, and that the recorder file lacks: there, the file
 * can't grow. 0: it has all. */
static uint32_t behind;
static void behind_copy(void);

INLINE uint32_t add_or_recall(struct walk *walk, adder *table);
static uint32_t *memo_of(const struct walk *walk);
static bool is_stack(struct walk *walk, uint32_t node);

uint32_t stacks_add(struct walk *walk)
{
    if (unlikely(load_relaxed(&behind) != 0))
        behind_copy();
    return add_or_recall(walk, table_add);
}

INLINE uint32_t add_or_recall(struct walk *walk, adder *table)
{
    enum { FEW = 8 }; /* frames whose lookup costs no more than the memo's: its hash reads NEAR */
    if (walk->same != 0 || walk->count <= FEW)
        return add(walk, table);
    uint32_t *memo = memo_of(walk), stack = load_acquire(memo);
    if (stack != 0 && is_stack(walk, stack))
        return stack;
    stack = add(walk, table);
    store_release(memo, stack);
    return stack;
}

/* Where to look first for a stack of which no frame is known: by the addresses next to its leaf. */
static uint32_t *memo_of(const struct walk *walk)
{
    enum { NEAR = 8, SHIFT = 12 }; /* frames in the hash; 4,096 entries are 16 KiB */
    static BULK uint32_t memo[1 << SHIFT];
    uint64_t hash = walk->count;
    for (uint32_t i = walk->count - NEAR; i < walk->count; i++)
        hash = hash_word(hash ^ walk->pcs[i]);
    return &memo[hash >> (64 - SHIFT)];
}

INLINE void *node_at(uint32_t id)
{
    return table_entry(slabs, SLAB_SHIFT, sizeof(struct node), id);
}

/* Whether the nodes from `node` to the root are those of the walk; if so, fills in walk->nodes.
 * Nodes that were added together lie side by side, so this is faster than looking up each. */
static bool is_stack(struct walk *walk, uint32_t node)
{
    for (uint32_t i = walk->count; i-- > 0;) {
        const struct table_entry *entry = node_at(node);
        if (node <= STACK_OTHER || load_relaxed(&entry->a) != walk->pcs[i])
            return false;
        walk->nodes[i] = node;
        node = entry->b;
    }
    return node == STACK_NONE;
}

uint32_t stacks_add_now(struct walk *walk)
{
    return add_or_recall(walk, table_add_now);
}

void stacks_reserve(void)
{
    table_reserve(&nodes, config.heap_memory);
}

typedef void *row_maker(enum sheet_kind kind, uint32_t number);

/* Into the recorder file. False: it has no memory for it now. */
static bool node_copy(uint32_t id, row_maker *make)
{
    const struct table_entry *entry = node_at(id);
    struct recorder_node *copy = make(SHEET_NODES, id);
    if (copy == NULL)
        return false;
    copy->caller = entry->b;
    store_release(&copy->pc, load_relaxed(&entry->a));
    if (unlikely(!mirror_code_has((uintptr_t)entry->a)))
        store_relaxed(&mirror_code_new, true);
    return true;
}

static void nodes_copy(uint32_t id)
{
    uint32_t end = stacks_count();
    for (; id < end; id++)
        node_copy(id, mirror_row_make);
}

void stacks_copy(void)
{
    nodes_copy(STACK_OTHER + 1);
}

static NOINLINE void behind_copy(void)
{
    uint32_t first = __atomic_exchange_n(&behind, 0, __ATOMIC_ACQ_REL);
    if (mirror_on())
        nodes_copy(first);
}

static void behind_note(uint32_t id)
{
    uint32_t before = load_relaxed(&behind);
    while ((before == 0 || id < before) &&
           !__atomic_compare_exchange_n(&behind, &before, id, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        ;
}

void stacks_catch_up(void)
{
    if (likely(load_relaxed(&behind) == 0))
        return;
    uint32_t id = __atomic_exchange_n(&behind, 0, __ATOMIC_ACQ_REL), end = stacks_count();
    for (; id != 0 && id < end; id++)
        if (!node_copy(id, mirror_row_try)) {
            behind_note(id);
            return;
        }
}

INLINE bool is_node(uint32_t id, uintptr_t pc, uint32_t caller)
{
    const struct table_entry *entry = node_at(id);
    return load_relaxed(&entry->a) == pc && entry->b == caller;
}

INLINE uint32_t child_lately(uint32_t caller, uintptr_t pc, adder *table);
INLINE uint32_t child_find(uint32_t caller, uintptr_t pc, adder *table);

/* The child of `node`, whose number is *id: the child's afterwards. NULL: no memory for one. */
INLINE struct node *child_of(struct node *node, uint32_t *id, uintptr_t pc, adder *table)
{
    uint32_t child = load_acquire(&node->child);
    struct node *there = node_at(child);
    if (unlikely(child == 0 || load_relaxed(&there->entry.a) != pc)) {
        if ((child = child_lately(*id, pc, table)) == 0)
            return NULL;
        store_release(&node->child, child);
        there = node_at(child);
    }
    *id = child;
    return there;
}

/* Perhaps one of the children that were looked up lately. While there are few nodes a search costs
 * little: a small program gets no memory for this. */
INLINE uint32_t child_lately(uint32_t caller, uintptr_t pc, adder *table)
{
    enum { MANY = 256, SHIFT = 12 }; /* 4,096 entries are 16 KiB */
    static BULK uint32_t lately[1 << SHIFT];
    if (load_relaxed(&nodes.count) < MANY)
        return child_find(caller, pc, table);
    uint32_t *place = &lately[hash_word(pc ^ (uint64_t)caller << 32) >> (64 - SHIFT)];
    uint32_t child = load_acquire(place);
    if (child != 0 && is_node(child, pc, caller))
        return child;
    if ((child = child_find(caller, pc, table)) != 0)
        store_release(place, child);
    return child;
}

/* In the table, and in the recorder file if it is new. */
INLINE uint32_t child_find(uint32_t caller, uintptr_t pc, adder *table)
{
    bool fresh;
    uint32_t child = table(&nodes, pc, caller, config.heap_memory, &fresh);
    if (fresh && mirror_on()) {
        if (table == table_add)
            node_copy(child, mirror_row_make);
        else if (!node_copy(child, mirror_row_try))
            behind_note(child);
    }
    return child;
}

INLINE uint32_t add(struct walk *walk, adder *table)
{
    static struct node root; /* of STACK_NONE */
    uint32_t known = walk->same;
    while (known > 0 && unlikely(walk->nodes[known - 1] == STACK_OTHER)) /* perhaps there is now */
        known--;
    uint32_t id = known == 0 ? STACK_NONE : walk->nodes[known - 1];
    struct node *node = known == 0 ? &root : node_at(id);
    for (uint32_t i = known; i < walk->count; i++) {
        bool fits = node != NULL && walk->pcs[i] != 0;
        node = likely(fits) ? child_of(node, &id, walk->pcs[i], table) : NULL;
        if (unlikely(node == NULL)) {
            if (fits)
                __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
            id = STACK_OTHER;
        }
        walk->nodes[i] = id;
    }
    return id;
}

bool stacks_node(uint32_t node, uint32_t *caller, uintptr_t *pc)
{
    if (node <= STACK_OTHER || node >= table_count(&nodes))
        return false;
    const struct table_entry *entry = node_at(node);
    *pc = (uintptr_t)load_acquire(&entry->a);
    *caller = entry->b;
    return *pc != 0;
}

unsigned stacks_frames(uint32_t stack, uintptr_t *pcs, unsigned max)
{
    unsigned count = 0;
    while (count < max && stacks_node(stack, &stack, &pcs[count]))
        count++;
    return count;
}

/* A number is handed out before its node is filled in. All nodes below `complete` are filled in. */
static uint32_t complete = STACK_OTHER + 1;

uint32_t stacks_count(void)
{
    uint32_t at = load_relaxed(&complete), end = table_count(&nodes), caller;
    uintptr_t pc;
    while (at < end && stacks_node(at, &caller, &pc))
        at++;
    store_relaxed(&complete, at);
    return at;
}

uint64_t stacks_refused(void)
{
    return load_relaxed(&refused);
}

uint32_t *stacks_sites(uint32_t stack)
{
    static uint32_t without_node[STACK_OTHER + 1];
    if (stack <= STACK_OTHER)
        return &without_node[stack];
    struct table_entry *entry = node_at(stack);
    return &entry->link;
}

void stacks_recover(void)
{
    table_recover(&nodes);
    for (uint32_t id = STACK_OTHER + 1; id < table_count(&nodes); id++) {
        struct table_entry *entry = node_at(id);
        if (entry->a == 0)
            entry->a = 1;
    }
}

/* Readers stop at the first node that is not filled in, so a node whose call was abandoned would
 * hide all later ones: it is filled in here. The same may happen to a node that another thread is
 * about to fill in, which then overwrites it. */
void stacks_abandoned(void)
{
    for (uint32_t id = stacks_count(); id < table_count(&nodes); id++) {
        struct table_entry *entry = node_at(id);
        uint64_t none = 0;
        __atomic_compare_exchange_n(&entry->a, &none, 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
}
