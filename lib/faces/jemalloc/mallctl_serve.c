/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about the allocator as a whole and about the calling thread: values that never
 * change, options, classes and sizes, what the thread has allocated. mallctl_arena.c answers about
 * arenas, mallctl_stats.c counts, mallctl_prof.c profiles.
 */
#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/background.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/mallctl.h"

/* What this thread allocated and freed, for its allocatedp and deallocatedp, and the largest
 * difference so far. Updated when asked for; after the first question about the pointers or the
 * peak, also whenever the thread leaves the hot path. */
static __thread uint64_t thread_sums[2] PACKED_LOCAL;
static __thread uint64_t thread_peak, thread_peak_base;

int serve_bool(const struct request *request, const struct node *node)
{
    bool value = node->number != 0;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_unsigned(const struct request *request, const struct node *node)
{
    unsigned value = (unsigned)node->number;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_size(const struct request *request, const struct node *node)
{
    size_t value = node->number;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_text(const struct request *request, const struct node *node)
{
    const char *value = node->text;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* Its value is whether it runs: what was set may not have been possible. */
int serve_background_thread(const struct request *request, const struct node *node)
{
    bool value, came, before = background_runs();
    (void)node;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came && value != before && !background_set(value))
        return EFAULT;
    return request_give(request, &before, sizeof before);
}

/* There is one thread at most; the number reads back. None is EINVAL, as in 5.3.1. */
int serve_background_max(const struct request *request, const struct node *node)
{
    static size_t lower; /* than what the option says, by this */
    size_t value, allowed = (size_t)jemalloc_values[JEMALLOC_max_background_threads].number;
    size_t before = allowed - load_relaxed(&lower);
    bool came;
    (void)node;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong || (came && (value == 0 || value > allowed)))
        return wrong ? wrong : EINVAL;
    if (came)
        store_relaxed(&lower, allowed - value);
    return request_give(request, &before, sizeof before);
}

int serve_background_sum(const struct request *request, const struct node *node)
{
    struct background_sums sums = background_sums();
    uint64_t value = node->number == 0   ? sums.threads
                     : node->number == 1 ? sums.runs
                                         : sums.interval_ns;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_nothing(const struct request *request, const struct node *node)
{
    (void)request;
    (void)node;
    return 0;
}

int serve_option(const struct request *request, const struct node *node)
{
    const struct jemalloc_value *value = &jemalloc_values[node->number];
    int refused = request_read_only(request);
    if (refused)
        return refused;
    switch (jemalloc_options[node->number].kind) {
    case JEMALLOC_BOOL: {
        bool flag = value->number != 0;
        return request_give(request, &flag, sizeof flag);
    }
    case JEMALLOC_UNSIGNED:
    case JEMALLOC_RATIO: {
        unsigned number = (unsigned)value->number;
        return request_give(request, &number, sizeof number);
    }
    case JEMALLOC_SIZE:
    case JEMALLOC_SSIZE:
    case JEMALLOC_U64:
    case JEMALLOC_I64:
        return request_give(request, &value->number, sizeof value->number);
    default:
        return request_give(request, &value->text, sizeof value->text);
    }
}

int serve_source(const struct request *request, const struct node *node)
{
    const char *text = jemalloc_texts[node->number];
    int refused = request_read_only(request);
    text = text == NULL ? "" : text;
    return refused ? refused : request_give(request, &text, sizeof text);
}

int serve_page_size(const struct request *request, const struct node *node)
{
    (void)node;
    size_t value = os_page_size();
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* 0: the size of its blocks, 1: blocks in a span, 2: the span's size, 3: one. */
int serve_class(const struct request *request, const struct node *node)
{
    if (request->numbers[0] >= CLASS_LAST)
        return ENOENT;
    int refused = request_read_only(request);
    if (refused)
        return refused;
    const struct size_class *class = &size_classes[request->numbers[0] + 1];
    size_t span = sizes_span(class), size = class->size;
    uint32_t blocks = sizes_blocks(class, class->units_min), one = 1;
    switch (node->number) {
    case 0:
        return request_give(request, &size, sizeof size);
    case 1:
        return request_give(request, &blocks, sizeof blocks);
    case 2:
        return request_give(request, &span, sizeof span);
    default:
        return request_give(request, &one, sizeof one);
    }
}

int serve_large_size(const struct request *request, const struct node *node)
{
    (void)node;
    if (request->numbers[0] >= LARGE_SIZES)
        return ENOENT;
    int refused = request_read_only(request);
    size_t value = large_size_at((unsigned)request->numbers[0]);
    return refused ? refused : request_give(request, &value, sizeof value);
}

static void thread_look(void)
{
    struct account_sum sum;
    young_thread_sums(&sum);
    store_relaxed(&thread_sums[0], sum.alloc_bytes);
    store_relaxed(&thread_sums[1], sum.free_bytes);
    uint64_t live = sum.alloc_bytes - sum.free_bytes;
    if ((int64_t)(live - thread_peak_base) > (int64_t)thread_peak)
        thread_peak = live - thread_peak_base;
}

static void thread_watch(void)
{
    thread_look();
    young.look = thread_look;
}

int serve_thread_sum(const struct request *request, const struct node *node)
{
    thread_look();
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &thread_sums[node->number], sizeof(uint64_t));
}

int serve_thread_pointer(const struct request *request, const struct node *node)
{
    thread_watch();
    const uint64_t *where = &thread_sums[node->number];
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &where, sizeof where);
}

int serve_thread_peak(const struct request *request, const struct node *node)
{
    (void)node;
    thread_watch();
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &thread_peak, sizeof thread_peak);
}

int serve_thread_peak_reset(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_nothing(request);
    if (refused)
        return refused;
    thread_watch();
    thread_peak_base = thread_sums[0] - thread_sums[1];
    thread_peak = 0;
    return 0;
}

int serve_thread_flush(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_nothing(request);
    if (refused)
        return refused;
    cold_flush();
    return 0;
}
