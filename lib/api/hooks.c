/* SPDX-License-Identifier: MIT */
/* See lib/api/hooks.h. */
#include "lib/api/hooks.h"

#include "lib/alloc/alloc.h"
#include "lib/heap/observer.h"

struct hooks hooks_set;
struct hooks_picked hooks_picked;
struct hooks_large hooks_large = {.bytes = SIZE_MAX};
bool hooks_any, hooks_fill;

void hooks_call_new(const void *block, size_t size)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        hook_new *hook = load_acquire(&hooks_set.on_new[i]);
        if (hook != NULL)
            hook(block, size);
    }
}

void hooks_call_delete(const void *block)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        hook_delete *hook = load_acquire(&hooks_set.on_delete[i]);
        if (hook != NULL)
            hook(block);
    }
}

void hooks_call_resized(const void *before, const void *after, size_t size)
{
    hooks_call_delete(before);
    hooks_call_new(after, size);
}

/* Whether the block has a record that counts. */
static bool is_picked(const void *block)
{
    unsigned rate;
    if (!window_has(block) || (uintptr_t)block % GRANULE != 0)
        return false;
    unsigned mark = mark_of(block);
    if (mark != MARK_WATCHED && mark != MARK_LARGE)
        return false;
    struct span *span = span_of(block);
    if (!(span->kinds & KIND_RECORDED))
        return false;
    if (span->state == SPAN_LARGE)
        return track_rate(&((struct large_record *)meta_at(span->record))->record, &rate);
    const struct record *record = central_record(span, block);
    return record != NULL && track_rate(record, &rate);
}

void hooks_call_large(const void *block, size_t size, const struct caller *caller)
{
    void (*told)(const void *, size_t, const struct caller *) = load_acquire(&hooks_large.told);
    if (told != NULL && block != NULL)
        told(block, size, caller);
}

void hooks_call_begin(const void *block, size_t size, const struct caller *caller)
{
    void (*hook)(const void *, size_t, const struct caller *) = load_acquire(&hooks_picked.begin);
    if (hook != NULL && is_picked(block))
        hook(block, size, caller);
}

void hooks_call_end(const void *block)
{
    void (*hook)(const void *) = load_acquire(&hooks_picked.end);
    if (hook != NULL && is_picked(block))
        hook(block);
}
