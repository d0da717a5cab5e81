/* SPDX-License-Identifier: MIT */
/* See lib/alloc/tail.h: what the inline functions there leave, and the look at the end. */
#include "lib/alloc/tail.h"

#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/fatal.h"
#include "lib/alloc/large.h"

enum { FILLED_MAX = TAIL_ROW }; /* bytes behind a block that are filled */

void tail_dirty(const char *block, size_t usable, const char *call)
{
    size_t byte = 0;
    while (byte < usable - 1 && block[byte] == 0)
        byte++;
    fatal_written_freed(block, usable, byte, call);
}

/* The first byte behind the block that is not as it was filled, or the tail. */
static const char *damage_find(const char *at, const char *tail)
{
    const char *end = tail - at > FILLED_MAX ? at + FILLED_MAX : tail;
    while (at < end && *at == (char)harden_fill)
        at++;
    return at < end ? at : tail;
}

void tail_damaged(const char *block, size_t usable, const char *call)
{
    const char *tail = block + usable - HARDEN_TAIL;
    uint64_t gap = (tail_word(tail) ^ tail_of(block)) - HARDEN_TAIL;
    bool known = gap <= usable - HARDEN_TAIL;
    fatal_damaged(block, (size_t)(tail - block) - (known ? gap : 0), known,
                  known ? damage_find(tail - gap, tail) : tail, call);
}

void tail_resize(void *start, size_t usable, size_t size)
{
    char *block = start, *end = block + usable - HARDEN_TAIL;
    size_t before = tail_size(block, usable, "realloc"), from = before < size ? before : size;
    tail_open(block, usable);
    memset(block + from, 0, (size_t)(end - block) - from);
    tail_fill(block + size, end);
    tail_word_set(end, tail_of(block) ^ (usable - size));
}

void tail_large_begin(struct span *span, size_t size)
{
    char *block = span_start(span);
    span->slack = (uint16_t)(large_size(span) - size);
    char *end = block + large_size(span), *at = block + size;
    for (unsigned i = 0; i < FILLED_MAX && at < end; i++)
        *at++ = (char)harden_fill;
}

size_t tail_large_size(const struct span *span, const char *call)
{
    const char *block = span_start(span), *end = block + large_size(span);
    size_t size = large_size(span) - span->slack;
    const char *at = block + size;
    for (unsigned i = 0; i < FILLED_MAX && at < end; i++, at++)
        if (*at != (char)harden_fill)
            fatal_damaged(block, size, true, at, call);
    return size;
}

bool tail_asked(const void *p, const char *call, size_t *size)
{
    const struct span *span = span_of(p);
    bool large = span->state == SPAN_LARGE, known = large || tail_has(span);
    if (large)
        *size = tail_large_size(span, call);
    else if (known)
        *size = tail_size(p, class_size(mark_class(span->mark)), call);
    return known;
}

/* The call that was to write the tail, or to wipe the block, never ended. */
static bool is_open(const char *tail)
{
    for (unsigned i = 0; i < HARDEN_TAIL; i++)
        if (tail[i] != 0 && tail[i] != (char)harden_fill)
            return false;
    return true;
}

static void exit_look(const struct span *span)
{
    unsigned class = mark_class(span->mark);
    size_t usable = class_size(class);
    for (unsigned i = 0; i < span->blocks; i++) {
        const char *block = span_block(span, i, class);
        bool live = mark_of(block) != MARK_FREE;
        if (live && !is_open(block + usable - HARDEN_TAIL))
            tail_size(block, usable, "exit");
        else if (!live && !tail_zero(block, usable))
            tail_dirty(block, usable, "exit");
    }
}

static bool doubted;

void tail_doubt(void)
{
    store_relaxed(&doubted, true);
}

void tail_exit(void)
{
    /* The end of a program does not wait for long: blocks not compared within LOOK_MS_MAX are left
     * out. The time is asked for once in SPANS. */
    enum { LOOK_MS_MAX = 20, SPANS = 16 };
    uint64_t until_ms = os_now_ms() + LOOK_MS_MAX;
    bool inside = lock_held != 0; /* a signal handler that interrupted a call ends the program */
    uint32_t ids = harden_on && !inside && !load_relaxed(&doubted) ? span_count() : 0;
    for (uint32_t id = 1; id < ids && (id % SPANS != 0 || os_now_ms() < until_ms); id++) {
        const struct span *span = span_at(id);
        if (span->state == SPAN_LARGE && mark_of(span_start(span)) != MARK_FREE)
            tail_large_size(span, "exit");
        else if (span->state == SPAN_BLOCKS && span->home != HOME_OWNED)
            exit_look(span);
    }
}
