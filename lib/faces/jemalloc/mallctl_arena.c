/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about arenas (jemalloc_arena.h): how many there are, one more, which one a
 * block is in, its settings, its end. What an arena has no counterpart of here (sbrk, muzzy pages,
 * a step by which it grows) is kept for the program to read. mallctl_stats.c has what they count.
 */
#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/watch/watch.h"

static const char *const dss_names[] = {"disabled", "primary", "secondary"};

static bool any_destroyed; /* an arena */

int serve_arenas_count(const struct request *request, const struct node *node)
{
    (void)node;
    unsigned value = arenas_count();
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &value, sizeof value);
}

int serve_arenas_create(const struct request *request, const struct node *node)
{
    (void)node;
    struct extent_hooks *hooks = NULL;
    bool came;
    int wrong = request_take(request, &hooks, sizeof(void *), &came);
    if (!request_wants_number(request) || wrong)
        return EINVAL;
    struct arena *arena = arena_create(hooks);
    return arena == NULL ? EAGAIN : request_give(request, &arena->number, sizeof arena->number);
}

bool request_wants_number(const struct request *request)
{
    if (request->old != NULL && request->old_length != NULL &&
        *request->old_length == sizeof(unsigned))
        return true;
    if (request->old_length != NULL)
        *request->old_length = 0;
    return false;
}

int serve_arenas_create_ext(const struct request *request, const struct node *node)
{
    (void)node;
    struct {
        struct extent_hooks *hooks;
        bool books;
    } wish = {NULL, false};
    bool came;
    int wrong = request_take(request, &wish, sizeof wish, &came);
    if (!request_wants_number(request) || wrong)
        return EINVAL;
    struct arena *arena = arena_create(wish.hooks);
    if (arena == NULL)
        return EAGAIN;
    if (came && wish.books && wish.hooks != NULL && !extents_keep_books(arena)) {
        arena_destroy(arena, NULL);
        return EAGAIN;
    }
    return request_give(request, &arena->number, sizeof arena->number);
}

int serve_arenas_lookup(const struct request *request, const struct node *node)
{
    (void)node;
    void *block;
    bool came;
    int wrong = request_take(request, &block, sizeof block, &came);
    const struct arena *arena = wrong || !came ? NULL : arena_of(block);
    return arena == NULL ? EINVAL : request_give(request, &arena->number, sizeof arena->number);
}

static bool is_all(size_t number)
{
    return number == MALLCTL_ALL || number == arenas_count();
}

/* Whether there was such an arena at the last epoch. */
int serve_arena_initialized(const struct request *request, const struct node *node)
{
    (void)node;
    size_t number = request->numbers[0];
    bool value = is_all(number) || number == 0;
    int refused = request_read_only(request);
    if (!value && number >= arenas_count() && number != MALLCTL_DESTROYED)
        return ENOENT;
    const struct arena *arena = arena_at(number);
    if (arena != NULL && load_acquire(&arena->owner) != NULL)
        value |= arena->born_epoch < load_relaxed(&arenas_epoch);
    else if (arena != NULL)
        value |= load_acquire(&arena->figures) != NULL;
    value |= number == MALLCTL_DESTROYED && load_relaxed(&any_destroyed);
    return refused ? refused : request_give(request, &value, sizeof value);
}

/* 1: all that is free; 0: what has been free for long. */
int serve_arena_purge(const struct request *request, const struct node *node)
{
    size_t number = request->numbers[0];
    int refused = request_nothing(request);
    if (refused)
        return refused;
    unsigned count = arenas_count();
    if (!is_all(number) && arena_at(number) == NULL)
        return EFAULT;
    for (unsigned i = 0; i < count; i++) {
        struct arena *arena = is_all(number) || number == i ? arena_at(i) : NULL;
        if (arena == NULL || load_acquire(&arena->owner) == NULL)
            continue;
        if (node->number == 1 || arena->dirty_ms == 0)
            extents_purge(arena, 0);
        else if (arena->dirty_ms > 0)
            extents_purge(arena, (uint64_t)arena->dirty_ms);
    }
    cold_trim();
    return 0;
}

/* All blocks of an arena end; 1: the arena, too. Refused for those that malloc hands out blocks of
 * by itself, and for one that is to end while it is the arena of a thread. */
int serve_arena_reset(const struct request *request, const struct node *node)
{
    int refused = request_nothing(request);
    struct arena *arena = refused ? NULL : arena_at(request->numbers[0]);
    struct caller caller = CALLER_HERE;
    if (arena == NULL || arena->automatic)
        return refused ? refused : EFAULT;
    if (node->number == 1 && owner_threads(arena->owner) != 0)
        return EFAULT;
    if (node->number == 1) {
        figures_destroyed(arena);
        store_relaxed(&any_destroyed, true);
        arena_destroy(arena, &caller);
    } else {
        arena_reset(arena, &caller);
    }
    return 0;
}

/* For extents of hooks; that of number 0 is kept for the program to read. */
int serve_arena_oversize(const struct request *request, const struct node *node)
{
    (void)node;
    struct arena *arena = arena_at(request->numbers[0]);
    size_t value;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (arena == NULL || wrong)
        return arena == NULL ? EFAULT : wrong;
    size_t before = arena_threshold(arena);
    if (came) {
        store_relaxed(&arena->oversize, value);
        store_release(&arena->has_oversize, true);
    }
    return request_give(request, &before, sizeof before);
}

/* Nothing comes from sbrk here: the word is kept for the program to read. 1: it can only be read.
 */
int serve_arena_dss(const struct request *request, const struct node *node)
{
    int refused = node->number == 1 ? request_read_only(request) : 0;
    if (refused)
        return refused;
    static uint8_t all;
    struct arena *arena = arena_at(request->numbers[0]);
    uint8_t *kept = is_all(request->numbers[0]) ? &all : arena == NULL ? NULL : &arena->dss;
    const char *word = NULL;
    bool came;
    int wrong = request_take(request, &word, sizeof word, &came);
    if (kept == NULL || wrong)
        return kept == NULL ? ENOENT : wrong;
    unsigned before = load_relaxed(kept), now = before;
    if (came && word != NULL)
        for (now = 0; now < COUNT_OF(dss_names) && strcmp(dss_names[now], word) != 0;)
            now++;
    if (now == COUNT_OF(dss_names))
        return EINVAL;
    store_relaxed(kept, (uint8_t)now);
    return request_give(request, &dss_names[before], sizeof dss_names[before]);
}

/* What an arena is called that the program gave no name. */
static void name_of(const struct arena *arena, char name[ARENA_NAME_SIZE])
{
    struct print out;
    unsigned first_size;
    print_start(&out, name, ARENA_NAME_SIZE);
    if (arena->number != 0 && arena->number == arena_oversize(&first_size))
        print_text(&out, "auto_oversize");
    else
        print_format(&out, "%s_%u", arena->automatic ? "auto" : "manual", arena->number);
}

int serve_arena_name(const struct request *request, const struct node *node)
{
    (void)node;
    struct arena *arena = arena_at(request->numbers[0]);
    char *name = NULL;
    bool came;
    int wrong = request_take(request, &name, sizeof name, &came);
    if (arena == NULL || wrong || (came && name == NULL))
        return arena == NULL ? ENOENT : EINVAL;
    if (request->old != NULL) { /* the caller's buffer, of at least 32 bytes */
        if (request->old_length == NULL || *request->old_length != sizeof(char *) ||
            *(char **)request->old == NULL)
            return EINVAL;
        char *to = *(char **)request->old;
        memcpy(to, arena->name, sizeof arena->name);
        if (arena->name[0] == '\0')
            name_of(arena, to);
    }
    if (came) {
        size_t length = strnlen(name, ARENA_NAME_SIZE - 1);
        memcpy(arena->name, name, length);
        arena->name[length] = '\0';
    }
    return 0;
}

/* The largest of jemalloc's page sizes, four for each doubling, that is not above it. */
static size_t size_below(size_t size)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(size);
    size_t step = (size_t)1 << (top - 2);
    step = step < os_page_size() ? os_page_size() : step;
    return size & ~(step - 1);
}

int serve_arena_grow_limit(const struct request *request, const struct node *node)
{
    (void)node;
    struct arena *arena = arena_at(request->numbers[0]);
    size_t value, before;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (arena == NULL || wrong)
        return arena == NULL ? ENOENT : wrong;
    if (came && value < os_page_size())
        return EFAULT;
    before = load_relaxed(&arena->grow_limit);
    if (came)
        store_relaxed(&arena->grow_limit, size_below(value));
    return request_give(request, &before, sizeof before);
}

/* Those of number 0 can be read, and not changed: its memory is one with all other memory. */
int serve_arena_hooks(const struct request *request, const struct node *node)
{
    (void)node;
    struct arena *arena = arena_used(request->numbers[0]);
    struct extent_hooks *hooks = NULL;
    bool came;
    int wrong = request_take(request, &hooks, sizeof(void *), &came);
    if (arena == NULL || wrong)
        return arena == NULL ? EFAULT : wrong;
    struct extent_hooks *before = load_acquire(&arena->hooks);
    if (came && (hooks == NULL || (arena->owner == NULL && hooks != &extents_default)))
        return EFAULT;
    if (came && arena->owner != NULL)
        arena_set_hooks(arena, hooks);
    return request_give(request, &before, sizeof(void *));
}

static ssize_t delay_ms(void)
{
    return config.return_delay_ms == config_never ? -1 : (ssize_t)config.return_delay_ms;
}

/* The delay of arenas.* and of number 0 is that of the process, and of arenas that begin. Muzzy
 * pages do not exist here: their delay is kept for the program to read. */
int serve_decay(const struct request *request, const struct node *node)
{
    int refused = node->number & DECAY_TOLD ? request_read_only(request) : 0;
    bool dirty = (node->number & DECAY_DIRTY) != 0;
    if (refused)
        return refused;
    bool whole = strncmp(node->name, "arenas.", 7) == 0;
    struct arena *arena = whole ? arena_at(0) : arena_at(request->numbers[0]);
    ssize_t value, now;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (arena == NULL && !is_all(request->numbers[0]))
        return EFAULT;
    if (wrong || (came && value < -1))
        return wrong ? wrong : EFAULT;
    bool process = arena == NULL || (arena->owner == NULL && arena->number == 0);
    static ssize_t muzzy_ms;
    ssize_t *muzzy = process ? &muzzy_ms : &arena->muzzy_ms;
    now = !dirty ? load_relaxed(muzzy) : process ? delay_ms() : arena->dirty_ms;
    if (came && !dirty)
        store_relaxed(muzzy, value);
    else if (came && process)
        store_relaxed(&config.return_delay_ms, value == -1 ? config_never : (uint64_t)value);
    else if (came)
        store_relaxed(&arena->dirty_ms, value);
    if (came && value == 0 && !process && dirty)
        extents_purge(arena, 0);
    return request_give(request, &now, sizeof now);
}

int serve_thread_arena(const struct request *request, const struct node *node)
{
    (void)node;
    unsigned value, now = arena_of_thread()->number;
    bool came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came && value != now) {
        struct arena *arena = arena_used(value);
        if (arena == NULL)
            return EFAULT;
        if (!cold_owned_default(arena->owner))
            return EAGAIN;
    }
    return request_give(request, &now, sizeof now);
}
