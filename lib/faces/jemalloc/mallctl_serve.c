/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about the allocator. memoir has one arena: number 0, and 4096 for all. An
 * arena or a cache that a program creates is a number and nothing else; everything comes from the
 * one heap.
 */
#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/mallctl.h"

enum { ARENAS_MOST = 4095 };

static struct figures figures;
static uint64_t epoch;
static unsigned arenas = 1, caches;

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

/* Can be set, without effect. */
int serve_settable_bool(const struct request *request, const struct node *node)
{
    bool value, came;
    int wrong = request_take(request, &value, sizeof value, &came);
    value = node->number != 0;
    return wrong ? wrong : request_give(request, &value, sizeof value);
}

int serve_settable_size(const struct request *request, const struct node *node)
{
    size_t value;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    value = node->number;
    return wrong ? wrong : request_give(request, &value, sizeof value);
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

static uint64_t round_up(uint64_t bytes)
{
    uint64_t page = os_page_size();
    return (bytes + page - 1) & ~(page - 1);
}

/* From our account to jemalloc's terms: active is what holds blocks, mapped includes the dirty
 * pages, retained is the rest of the address space. */
void figures_refresh(void)
{
    struct account account;
    struct figures now = {0};
    account_take(&account);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct account_sum *sum = &account.classes[class];
        now.small_allocs += sum->allocs;
        now.small_frees += sum->frees;
        now.small_allocated += account_live_bytes(sum);
        now.classes[class] = (struct figures_class){sum->allocs, sum->frees};
    }
    now.allocated = account.live_bytes;
    if (now.small_allocated > now.allocated)
        now.small_allocated = now.allocated;
    now.large_allocated = now.allocated - now.small_allocated;
    if (account.total.allocs > now.small_allocs)
        now.large_allocs = account.total.allocs - now.small_allocs;
    if (account.total.frees > now.small_frees)
        now.large_frees = account.total.frees - now.small_frees;
    now.active = round_up(account.live_bytes + account.cached_bytes + account.fragmented_bytes);
    now.mapped = now.active + round_up(account.dirty_bytes);
    now.metadata = account.metadata_bytes;
    now.resident = account.resident_bytes > now.active ? account.resident_bytes : now.active;
    if (account.mapped_bytes > now.mapped)
        now.retained = account.mapped_bytes - now.mapped;
    now.pages_active = now.active / os_page_size();
    now.pages_dirty = (now.mapped - now.active) / os_page_size();
    now.cached = account.cached_bytes;
    now.threads = account.heaps;
    now.zero_reallocs = load_relaxed(&libc_zero_reallocs);
    const uint64_t *from = (const uint64_t *)&now;
    uint64_t *to = (uint64_t *)&figures;
    for (size_t i = 0; i < sizeof now / sizeof *from; i++)
        store_relaxed(&to[i], from[i]);
    __atomic_add_fetch(&epoch, 1, __ATOMIC_RELAXED);
}

void figures_get(struct figures *out)
{
    if (load_relaxed(&epoch) == 0)
        figures_refresh();
    const uint64_t *from = (const uint64_t *)&figures;
    uint64_t *to = (uint64_t *)out;
    for (size_t i = 0; i < sizeof figures / sizeof *from; i++)
        to[i] = load_relaxed(&from[i]);
}

int serve_epoch(const struct request *request, const struct node *node)
{
    (void)node;
    uint64_t value;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came || load_relaxed(&epoch) == 0)
        figures_refresh();
    value = load_relaxed(&epoch);
    return request_give(request, &value, sizeof value);
}

int serve_page_size(const struct request *request, const struct node *node)
{
    (void)node;
    size_t value = os_page_size();
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* Of the last epoch, `offset` bytes into the figures. */
static uint64_t figure(size_t offset)
{
    if (load_relaxed(&epoch) == 0)
        figures_refresh();
    return load_relaxed((const uint64_t *)&figures + offset / sizeof(uint64_t));
}

int serve_figure(const struct request *request, const struct node *node)
{
    uint64_t value = figure(node->number);
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* Whether there is such an arena; *real: and blocks come from it. */
static bool arena_known(size_t number, bool *real)
{
    unsigned count = load_relaxed(&arenas);
    *real = number == 0 || number == MALLCTL_ALL || number == count;
    return *real || number < count || number == MALLCTL_DESTROYED;
}

int serve_arena_figure(const struct request *request, const struct node *node)
{
    bool real;
    if (!arena_known(request->numbers[0], &real))
        return ENOENT;
    uint64_t value = real ? figure(node->number) : 0;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arena_unsigned(const struct request *request, const struct node *node)
{
    bool real;
    if (!arena_known(request->numbers[0], &real))
        return ENOENT;
    unsigned value = real ? (unsigned)figure(node->number) : 0;
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arena_text(const struct request *request, const struct node *node)
{
    bool real;
    if (!arena_known(request->numbers[0], &real))
        return ENOENT;
    return request_give(request, &node->text, sizeof node->text);
}

int serve_class_figure(const struct request *request, const struct node *node)
{
    bool real;
    struct figures_class sum = {0, 0};
    if (!arena_known(request->numbers[0], &real) || request->numbers[1] >= CLASS_LAST)
        return ENOENT;
    size_t class = request->numbers[1] + 1;
    size_t at = offsetof(struct figures, classes) + class * sizeof(struct figures_class);
    if (real) {
        sum.allocs = figure(at + offsetof(struct figures_class, allocs));
        sum.frees = figure(at + offsetof(struct figures_class, frees));
    }
    const uint64_t values[] = {sum.allocs, sum.frees, sum.allocs - sum.frees, 0};
    int refused = request_read_only(request);
    return refused ? refused
                   : request_give(request, &values[node->number], sizeof values[node->number]);
}

int serve_class_unsigned(const struct request *request, const struct node *node)
{
    bool real;
    if (!arena_known(request->numbers[0], &real) || request->numbers[1] >= CLASS_LAST)
        return ENOENT;
    return serve_unsigned(request, node);
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
    size_t span = (size_t) class->units_least << UNIT_SHIFT, size = class->size;
    uint32_t blocks = sizes_blocks(class, class->units_least), one = 1;
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
    _Static_assert(BLOCK_MAX == 1 << 15, "LARGE_SIZES");
    size_t at = request->numbers[0] + 1, doubling = at / 4;
    (void)node;
    if (request->numbers[0] >= LARGE_SIZES)
        return ENOENT;
    int refused = request_read_only(request);
    size_t value = ((size_t)BLOCK_MAX << doubling) / 4 * (4 + at % 4);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arenas_count(const struct request *request, const struct node *node)
{
    (void)node;
    unsigned value = load_relaxed(&arenas);
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* For calls that create something: the number must fit the caller's buffer. */
static bool room_for_number(const struct request *request)
{
    if (request->old != NULL && request->old_length != NULL &&
        *request->old_length == sizeof(unsigned))
        return true;
    if (request->old_length != NULL)
        *request->old_length = 0;
    return false;
}

/* Arenas with hooks for their memory are refused: the program must not believe that its hooks are
 * used. */
int serve_arenas_create(const struct request *request, const struct node *node)
{
    (void)node;
    void *hooks = NULL;
    bool came;
    int wrong = request_take(request, &hooks, sizeof hooks, &came);
    if (!room_for_number(request) || wrong)
        return EINVAL;
    if (hooks != NULL || load_relaxed(&arenas) >= ARENAS_MOST)
        return EAGAIN;
    unsigned value = __atomic_fetch_add(&arenas, 1, __ATOMIC_RELAXED);
    return request_give(request, &value, sizeof value);
}

int serve_arenas_lookup(const struct request *request, const struct node *node)
{
    (void)node;
    void *block;
    bool came;
    unsigned value = 0;
    int wrong = request_take(request, &block, sizeof block, &came);
    if (wrong || !came || (!window_has(block) && outside_size(block) == 0))
        return EINVAL;
    return request_give(request, &value, sizeof value);
}

int serve_arena_initialized(const struct request *request, const struct node *node)
{
    (void)node;
    bool value;
    int refused = request_read_only(request);
    if (!arena_known(request->numbers[0], &value))
        return ENOENT;
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arena_purge(const struct request *request, const struct node *node)
{
    (void)node;
    bool real;
    int refused = request_nothing(request);
    if (refused)
        return refused;
    if (!arena_known(request->numbers[0], &real))
        return EFAULT;
    if (real)
        cold_trim();
    return 0;
}

/* Freeing all blocks of an arena at once: jemalloc refuses it for its own arenas, and there are no
 * others here. */
int serve_arena_refused(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_nothing(request);
    return refused ? refused : EFAULT;
}

/* The delay is one for the whole process. 1: dirty pages, 0: muzzy pages, which do not exist here.
 */
int serve_decay(const struct request *request, const struct node *node)
{
    ssize_t value, now = 0;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong || (came && value < -1))
        return wrong ? wrong : EFAULT;
    if (node->number == 1)
        now = config.return_delay_ms == config_never ? -1 : (ssize_t)config.return_delay_ms;
    if (came && node->number == 1)
        store_relaxed(&config.return_delay_ms, value == -1 ? config_never : (uint64_t)value);
    return request_give(request, &now, sizeof now);
}

int serve_cache_create(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_read_only(request);
    if (refused || !room_for_number(request))
        return refused ? refused : EINVAL;
    unsigned value = __atomic_fetch_add(&caches, 1, __ATOMIC_RELAXED);
    return request_give(request, &value, sizeof value);
}

int serve_cache_number(const struct request *request, const struct node *node)
{
    (void)node;
    unsigned value;
    bool came;
    int refused = request_write_only(request);
    int wrong = request_take(request, &value, sizeof value, &came);
    if (refused || wrong)
        return refused ? refused : wrong;
    return came && value < load_relaxed(&caches) ? 0 : EFAULT;
}

/* Kept for the program to read; switching it off empties the cache of now. */
int serve_thread_cache(const struct request *request, const struct node *node)
{
    (void)node;
    bool value, came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (heap_self == NULL)
        free(malloc(1));
    bool before = heap_self == NULL || !heap_self->cache_off;
    if (came && heap_self != NULL) {
        heap_self->cache_off = !value;
        if (!value)
            cold_flush();
    }
    return request_give(request, &before, sizeof before);
}

int serve_thread_arena(const struct request *request, const struct node *node)
{
    (void)node;
    unsigned value = 0, now = 0;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (value >= load_relaxed(&arenas))
        return EFAULT;
    return request_give(request, &now, sizeof now);
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
