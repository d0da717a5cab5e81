/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/chains.h. A chain is known by its start, its length and the word at its end; a hash
 * table leads from a start to its chain. A *walker* follows one chain: a step looks at a block
 * whose loads were begun a round before, and begins those of the next one. Nothing here changes the
 * state of a block that any pointer has led to.
 */
#include "lib/leak/chains.h"

#include <string.h>

#include "base/os.h"
#include "lib/leak/states.h"

enum {
    WALKERS = 15,      /* chains that are followed at the same time */
    CHAINS_SHIFT = 15, /* chains of a scan; beyond that lists are followed at one place */
    CHAINS_MAX = 1 << CHAINS_SHIFT,
    STARTS = 2 * CHAINS_MAX, /* places of the hash table */
    BLOCK_LARGEST = 256,     /* bytes of blocks in chains: longer ones are not waited for alone */
    SPANS_TRIED = 16,        /* for the start of a chain, */
    BLOCKS_TRIED = 32,       /* and blocks of each */
    REST = 1 << 12,          /* steps without a new chain after none was found */
};

static const uint64_t RANDOM_SEED = UINT64_C(0x9e3779b97f4a7c15); /* the same in each scan */

struct chain {
    uintptr_t start;
    uintptr_t end; /* the word that it did not follow any more; 0: there is none. Read as a root */
    uint32_t length;
    bool reached, walked;   /* walked: to its end */
    struct scan_sum blocks; /* of a lost chain, while it has no owner */
    struct scan_row *owner;
};

struct chains {
    uint32_t count;
    unsigned rest;
    uint64_t random;
    bool stopped;  /* no chain is begun any more */
    unsigned busy; /* chains that were reached, and are not walked to their end */
    struct {
        uint32_t chain; /* 0: none */
        uintptr_t at;   /* the next block, */
        uintptr_t from; /* and the one before */
    } walkers[WALKERS];
    uint32_t starts[STARTS]; /* by hash of the start: the chain, or 0 */
    struct chain chains[CHAINS_MAX];
};

static void walker_begin(struct scan *scan, unsigned number, uintptr_t here);
static void walker_step(struct scan *scan, unsigned number);
static void lost_begin(struct scan *scan, unsigned number, uintptr_t start, uintptr_t next);
static void walker_end(struct scan *scan, unsigned number, uintptr_t word);
static bool is_link(uintptr_t at);
static size_t block_bytes(uintptr_t at);
static bool block_next(const struct scan *scan, uintptr_t start, size_t size, uintptr_t *next);

struct chains *chains_begin(void)
{
    struct chains *chains = os_map(sizeof *chains);
    if (chains != NULL) {
        chains->count = 1;
        chains->random = RANDOM_SEED;
    }
    return chains;
}

void chains_end(struct chains *chains)
{
    if (chains != NULL)
        os_unmap(chains, sizeof *chains);
}

size_t chains_bytes(void)
{
    return sizeof(struct chains);
}

void chains_step(struct scan *scan, uintptr_t here)
{
    struct chains *chains = scan->chains;
    for (unsigned i = 0; i < WALKERS; i++)
        if (chains->walkers[i].chain != 0)
            walker_step(scan, i);
        else if (chains->rest == 0 && !chains->stopped)
            walker_begin(scan, i, here);
    chains->rest -= chains->rest > 0;
}

bool chains_busy(const struct chains *chains)
{
    return chains != NULL && chains->busy > 0;
}

static unsigned start_hash(uintptr_t start)
{
    return (unsigned)(hash_word(start >> GRANULE_SHIFT) >> (64 - CHAINS_SHIFT - 1));
}

static struct chain *chain_find(struct chains *chains, uintptr_t start)
{
    for (unsigned at = start_hash(start); chains->starts[at] != 0; at = (at + 1) % STARTS)
        if (chains->chains[chains->starts[at]].start == start)
            return &chains->chains[chains->starts[at]];
    return NULL;
}

static void wait_for_end(struct scan *scan, const struct chain *chain)
{
    if (chain->end != 0)
        scan_wait_for(scan, (uintptr_t)&chain->end, (uintptr_t)(&chain->end + 1));
}

bool chains_reach(struct scan *scan, uintptr_t start)
{
    struct chain *chain = chain_find(scan->chains, start);
    if (chain == NULL)
        return false;
    if (!chain->reached && chain->walked)
        wait_for_end(scan, chain);
    scan->chains->busy += !chain->reached && !chain->walked;
    chain->reached = true;
    return true;
}

void chains_lost(struct scan *scan)
{
    struct chains *chains = scan->chains;
    scan->lost = chains != NULL;
    if (chains == NULL)
        return;
    if (chains->random != RANDOM_SEED) /* there were some: else its pages stay untouched */
        memset(chains->starts, 0, sizeof chains->starts);
    chains->count = 1;
    chains->rest = 0;
}

bool chains_lead(struct scan *scan, uintptr_t start, bool own)
{
    struct chains *chains = scan->chains;
    struct chain *chain = chains->count > 1 ? chain_find(chains, start) : NULL;
    if (chain == NULL)
        return false;
    if (own) {
        chain->owner = scan->leader_row;
        chain->owner->owned.blocks += chain->blocks.blocks;
        chain->owner->owned.bytes += chain->blocks.bytes;
    }
    if (chain->walked)
        wait_for_end(scan, chain);
    chains->busy += !chain->walked;
    chain->reached = true;
    return true;
}

void chains_stop(struct scan *scan)
{
    for (unsigned i = 0; scan->lost && i < WALKERS; i++)
        if (scan->chains->walkers[i].chain != 0)
            walker_end(scan, i, scan->chains->walkers[i].at);
    if (scan->lost)
        scan->chains->stopped = true;
}

/* Walks over one more block of a chain, or begins another chain; false: there is none. */
static bool settle_step(struct scan *scan, unsigned number, uint32_t *first)
{
    struct chains *chains = scan->chains;
    uint32_t *mine = &chains->walkers[number].chain;
    uintptr_t at = chains->walkers[number].at, next;
    struct chain *chain = &chains->chains[*mine];
    if (*mine == 0 || chain->length == 0) {
        do
            chain = &chains->chains[ *mine = *first < chains->count ? (*first)++ : 0];
        while (*mine != 0 && chain->reached && !scan->any_doubted);
        chains->walkers[number].at = chain->start;
        return *mine != 0;
    }
    /* Where threads run that could not be stopped, the chain may not be what it was. */
    if (!is_link(at)) {
        chain->length = 0;
        return true;
    }
    unsigned state = state_at(scan, at);
    if (!chain->reached && state == GUESSED)
        state_set_at(scan, at, UNSEEN);
    if (chain->reached && state == POSSIBLE)
        state_set_at(scan, at, REACHED);
    chain->length--;
    if (!block_next(scan, at, block_bytes(at), &next) || next == 0)
        chain->length = 0;
    else
        block_expect(scan, chains->walkers[number].at = next);
    return true;
}

void chains_settle(struct scan *scan)
{
    uint32_t first = 1;
    for (unsigned i = 0; i < WALKERS; i++)
        scan->chains->walkers[i].chain = 0;
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < WALKERS; i++)
            more |= settle_step(scan, i, &first);
    }
    scan->chains->count = 1;
}

static uint64_t random_next(struct chains *chains)
{
    chains->random ^= chains->random << 13;
    chains->random ^= chains->random >> 7;
    chains->random ^= chains->random << 17;
    return chains->random;
}

/* Where a chain can begin: a block that was not seen yet, or a lost one that others point to. */
static bool may_begin(const struct scan *scan, uintptr_t start)
{
    unsigned state = state_at(scan, start);
    return (scan->lost ? state == ONCE || state == MANY : state == UNSEEN) && block_is_live(start);
}

/* A block of that kind in the span with which a chain can begin, or 0. */
static uintptr_t start_in(const struct scan *scan, const struct span *span, unsigned kind,
                          uint64_t random)
{
    if (span->state != SPAN_BLOCKS || span->mark != kind || span->blocks == 0)
        return 0;
    unsigned class = mark_class(kind), index = (unsigned)(random % span->blocks);
    for (unsigned i = 0; i < BLOCKS_TRIED && index < span->blocks; i++, index++) {
        uintptr_t start = (uintptr_t)span_block(span, index, class);
        if (may_begin(scan, start))
            return start;
    }
    return 0;
}

static void walker_begin(struct scan *scan, unsigned number, uintptr_t here)
{
    struct chains *chains = scan->chains;
    unsigned kind = window.kinds[unit_of((const void *)here)];
    uintptr_t start = 0, next = 0;
    if (chains->count == CHAINS_MAX || kind == MARK_LARGE ||
        class_size(mark_class(kind)) > BLOCK_LARGEST)
        return;
    for (unsigned i = 0; start == 0 && i < SPANS_TRIED; i++) {
        uint64_t random = random_next(chains);
        uint32_t id = (uint32_t)((random >> 32) % span_count());
        start = id == 0 ? 0 : start_in(scan, span_at(id), kind, random & UINT32_MAX);
    }
    if (start == 0) {
        chains->rest = REST;
        return;
    }
    if (scan->lost && (!block_next(scan, start, block_bytes(start), &next) || next == 0))
        return;
    uint32_t chain = chains->count++;
    chains->chains[chain] = (struct chain){.start = start};
    unsigned at = start_hash(start);
    while (chains->starts[at] != 0)
        at = (at + 1) % STARTS;
    chains->starts[at] = chain;
    chains->walkers[number].chain = chain;
    chains->walkers[number].at = start;
    if (scan->lost)
        lost_begin(scan, number, start, next);
    else
        walker_step(scan, number);
}

/* A lost chain is what its start leads to, and no other block. */
static void lost_begin(struct scan *scan, unsigned number, uintptr_t start, uintptr_t next)
{
    state_set_at(scan, start, MANY);
    scan->chains->walkers[number].from = start;
    scan->chains->walkers[number].at = next;
    block_expect(scan, next);
}

static void lost_step(struct scan *scan, unsigned number)
{
    struct chains *chains = scan->chains;
    struct chain *chain = &chains->chains[chains->walkers[number].chain];
    uintptr_t at = chains->walkers[number].at, next;
    if (!is_link(at) || state_at(scan, at) != ONCE ||
        !block_next(scan, at, block_bytes(at), &next)) {
        walker_end(scan, number, at);
        return;
    }
    struct found block = {at, block_bytes(at), 0};
    state_set_at(scan, at, REACHED);
    scan_own(scan, &block, chains->walkers[number].from, chain->owner);
    chain->blocks.blocks++;
    chain->blocks.bytes += block.size;
    chains->walkers[number].from = at;
    chains->walkers[number].at = next;
    if (next == 0)
        walker_end(scan, number, 0);
    else
        block_expect(scan, next);
}

/* Cost: the block's line, the line of its sign and that of its state, all asked for a round before.
 */
static void walker_step(struct scan *scan, unsigned number)
{
    struct chains *chains = scan->chains;
    struct chain *chain = &chains->chains[chains->walkers[number].chain];
    uintptr_t at = chains->walkers[number].at, next;
    if (scan->lost) {
        lost_step(scan, number);
        return;
    }
    if (!is_link(at) || state_at(scan, at) != UNSEEN ||
        !block_next(scan, at, block_bytes(at), &next)) {
        walker_end(scan, number, at);
        return;
    }
    state_set_at(scan, at, GUESSED);
    chain->length++;
    chains->walkers[number].at = next;
    if (next == 0 || chain->length == UINT32_MAX)
        walker_end(scan, number, next);
    else
        block_expect(scan, next);
}

/* The chain is followed no further; `word` leads on, or is 0. */
static void walker_end(struct scan *scan, unsigned number, uintptr_t word)
{
    struct chains *chains = scan->chains;
    struct chain *chain = &chains->chains[chains->walkers[number].chain];
    chain->end = word;
    chain->walked = true;
    chains->walkers[number].chain = 0;
    if (!chain->reached)
        return;
    chains->busy--;
    wait_for_end(scan, chain);
}

/* Whether a live block begins there that is small enough for a chain. */
static bool is_link(uintptr_t at)
{
    const void *p = (const void *)at;
    unsigned kind = window.kinds[unit_of(p)];
    uint8_t sign = *live_in(window.live[kind], p);
    return at % GRANULE == 0 && kind != MARK_LARGE &&
           (sign == live_sign(p) || live_is_cold(sign, p)) && block_bytes(at) <= BLOCK_LARGEST;
}

/* Of a small block. */
static size_t block_bytes(uintptr_t at)
{
    return class_size(mark_class(window.kinds[unit_of((const void *)at)]));
}

/* The only word of the block that is in the window, or 0. False if there are several. */
static bool block_next(const struct scan *scan, uintptr_t start, size_t size, uintptr_t *next)
{
    *next = 0;
    for (const uintptr_t *at = (const uintptr_t *)start; at < (const uintptr_t *)(start + size);
         at++) {
        uintptr_t word = *at & scan->untagged;
        if (likely(word - window.base >= scan->window_bytes))
            continue;
        if (*next != 0)
            return false;
        *next = word;
    }
    return true;
}
