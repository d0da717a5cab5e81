/* SPDX-License-Identifier: MIT */
/* See lib/leak/blocks.h. */
#include "lib/leak/blocks.h"

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"

enum { BITS_IN_WORD = 64 };

struct blocks_base {
    uint64_t ticks; /* of the moment */
    size_t granules, bytes;
    uint64_t bits[];
};

static void visit_large(const struct span *span, blocks_visitor *visit, void *context);
static void visit_one(const struct span *span, unsigned index, blocks_visitor *visit,
                      void *context);
static blocks_visitor note;

void blocks_each(blocks_visitor *visit, void *context)
{
    for (uint32_t id = 1; id < span_count(); id++) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_LARGE)
            visit_large(span, visit, context);
        else if (span->state == SPAN_BLOCKS)
            for (unsigned i = 0; i < span->blocks; i++)
                visit_one(span, i, visit, context);
    }
}

void blocks_each_backwards(blocks_visitor *visit, void *context)
{
    for (uint32_t id = span_count(); --id > 0;) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_LARGE)
            visit_large(span, visit, context);
        else if (span->state == SPAN_BLOCKS)
            for (unsigned i = span->blocks; i-- > 0;)
                visit_one(span, i, visit, context);
    }
}

bool block_is_live(uintptr_t start)
{
    return mark_of((const void *)start) != MARK_FREE;
}

const struct record *block_record(uintptr_t start)
{
    if (mark_of((const void *)start) != MARK_WATCHED)
        return NULL;
    struct span *span = span_of((const void *)start);
    const struct record *record = central_record(span, (const void *)start);
    return record != NULL && record->site != 0 ? record : NULL;
}

bool block_at(uintptr_t address, struct found *block)
{
    const struct span *span = window_has((const void *)address) ? span_find((void *)address) : NULL;
    if (span == NULL)
        return false;
    *block = (struct found){(uintptr_t)span_start(span), 0, 0};
    if (span->state == SPAN_LARGE)
        block->size = large_size(span);
    if (span->state == SPAN_BLOCKS) {
        unsigned class = mark_class(span->mark);
        unsigned index = span_index(span, (const void *)address, class);
        if (index >= span->blocks)
            return false;
        *block = (struct found){(uintptr_t)span_block(span, index, class), class_size(class), 0};
    }
    return address - block->start < block->size && block_is_live(block->start);
}

struct blocks_base *blocks_base_take(void)
{
    size_t granules = load_acquire(&window.granules);
    size_t bytes = sizeof(struct blocks_base) + (granules / BITS_IN_WORD + 1) * sizeof(uint64_t);
    struct blocks_base *base = os_map(bytes);
    if (base == NULL)
        return NULL;
    base->granules = granules;
    base->bytes = bytes;
    blocks_each(note, base);
    base->ticks = confine_ticks();
    return base;
}

void blocks_base_free(struct blocks_base *base)
{
    if (base != NULL)
        os_unmap(base, base->bytes);
}

bool blocks_is_old(const struct blocks_base *base, const struct found *block,
                   const struct record *record)
{
    size_t granule = (block->start - window.base) >> GRANULE_SHIFT;
    if (block->other == 0 &&
        (granule >= base->granules ||
         (base->bits[granule / BITS_IN_WORD] >> granule % BITS_IN_WORD & 1) == 0))
        return false;
    if (record == NULL)
        return true;
    /* The counter wraps around; nothing is older than half of its range. */
    return ((base->ticks - record_born(record)) & (((uint64_t)1 << RECORD_BORN_BITS) - 1)) >>
               (RECORD_BORN_BITS - 1) ==
           0;
}

static void visit_large(const struct span *span, blocks_visitor *visit, void *context)
{
    struct found block = {(uintptr_t)span_start(span), large_size(span), 0};
    if (block_is_live(block.start))
        visit(context, &block);
}

static void visit_one(const struct span *span, unsigned index, blocks_visitor *visit, void *context)
{
    unsigned class = mark_class(span->mark);
    struct found block = {(uintptr_t)span_block(span, index, class), class_size(class), 0};
    if (block_is_live(block.start))
        visit(context, &block);
}

static void note(void *context, const struct found *block)
{
    struct blocks_base *base = context;
    size_t granule = (block->start - window.base) >> GRANULE_SHIFT;
    if (granule < base->granules)
        base->bits[granule / BITS_IN_WORD] |= (uint64_t)1 << granule % BITS_IN_WORD;
}
