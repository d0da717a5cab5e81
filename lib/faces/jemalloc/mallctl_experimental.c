/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl to the names below experimental.*: how full the span of a block is, many
 * blocks at once, and the blocks that were recorded last. Blocks that wait in a thread's bin count
 * as used, as in jemalloc those in a thread's cache do.
 */
#include <errno.h>

#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/heap/observer.h"

struct usage {
    size_t free, blocks, bytes; /* of the span; all 0 for memory that is not ours */
};

/* The same, and of all spans of the class. There is no span that blocks are taken from first. */
struct usage_of_class {
    void *current;
    struct usage span;
    size_t free, blocks;
};

static struct usage usage_of(const struct span *span);
static bool has_both(const struct request *request);

int serve_utilization(const struct request *request, const struct node *node)
{
    (void)node;
    void *block = NULL;
    bool came;
    struct usage_of_class answer = {0};
    if (!has_both(request) || *request->old_length != sizeof answer ||
        request_take(request, &block, sizeof block, &came) != 0)
        return EINVAL;
    const struct span *span = span_find(block);
    answer.span = usage_of(span);
    if (span != NULL && load_relaxed(&span->state) == SPAN_BLOCKS) {
        unsigned mark = load_relaxed(&span->mark);
        bool watched = (span->kinds & KIND_RECORDED) != 0;
        const struct central *central =
            central_peek(span->pool, watched ? CENTRAL_WATCHED + mark_class(mark) : mark);
        answer.free = central == NULL ? 0 : load_relaxed(&central->here);
        answer.blocks = central == NULL ? 0 : answer.free + load_relaxed(&central->out);
    }
    return request_give(request, &answer, sizeof answer);
}

int serve_utilizations(const struct request *request, const struct node *node)
{
    (void)node;
    void *const *blocks = request->new;
    struct usage *answers = request->old;
    size_t count = request->new_length / sizeof *blocks;
    if (!has_both(request) || count == 0 || request->new_length != count * sizeof *blocks ||
        *request->old_length != count * sizeof *answers)
        return EINVAL;
    for (size_t i = 0; i < count; i++)
        answers[i] = usage_of(span_find(blocks[i]));
    return 0;
}

int serve_batch_alloc(const struct request *request, const struct node *node)
{
    (void)node;
    struct {
        void **blocks;
        size_t count, size;
        int flags;
    } wish;
    bool came;
    size_t filled = 0;
    if (request->old_length != NULL && *request->old_length != sizeof filled)
        *request->old_length = 0;
    if (!has_both(request) || *request->old_length != sizeof filled ||
        request_take(request, &wish, sizeof wish, &came) != 0)
        return EINVAL;
    while (filled < wish.count && (wish.blocks[filled] = mallocx(wish.size, wish.flags)) != NULL)
        filled++;
    return request_give(request, &filled, sizeof filled);
}

int serve_prof_recent_max(const struct request *request, const struct node *node)
{
    (void)node;
    ssize_t value, before = (ssize_t)recent_max();
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong || (came && value < -1))
        return wrong ? wrong : EINVAL;
    if (came && value != before && recent_set_max(value) != 0)
        return EAGAIN;
    return request_give(request, &before, sizeof before);
}

int serve_prof_recent_dump(const struct request *request, const struct node *node)
{
    (void)node;
    struct {
        void (*write)(void *opaque, const char *text);
        void *opaque;
    } listener;
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &listener, sizeof listener, &came);
    if (wrong || !came)
        return wrong ? wrong : EINVAL;
    return jemalloc_recent_write(listener.write, listener.opaque) == 0 ? 0 : EAGAIN;
}

static struct usage usage_of(const struct span *span)
{
    if (span == NULL)
        return (struct usage){0};
    size_t bytes = (size_t)load_relaxed(&span->units) << UNIT_SHIFT;
    if (load_relaxed(&span->state) == SPAN_LARGE)
        return (struct usage){0, 1, large_size(span)};
    return (struct usage){load_relaxed(&span->free), load_relaxed(&span->blocks), bytes};
}

static bool has_both(const struct request *request)
{
    return request->old != NULL && request->old_length != NULL && request->new != NULL;
}
