/* SPDX-License-Identifier: MIT */
/*
 * mallctl: names with a type each, read and written through untyped pointers. mallctl.def lists the
 * names, mallctl.c finds the row of a name and checks the rules of the call, the other mallctl_*.c
 * answer. All answers are 0 or an errno value; errno itself does not change.
 */
#ifndef JEMALLOC_MALLCTL_H
#define JEMALLOC_MALLCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/alloc/alloc.h"

enum {
    MALLCTL_NUMBERS = 3,     /* numbers in one name: stats.arenas.0.extents.1.ndirty */
    MALLCTL_PARTS = 7,       /* words and numbers in one name */
    MALLCTL_ALL = 4096,      /* in the place of an arena's number: all of them, */
    MALLCTL_DESTROYED = 4097 /* all that were destroyed */
};

struct request {
    void *old;
    size_t *old_length;
    const void *new;
    size_t new_length;
    size_t numbers[MALLCTL_NUMBERS];
};

struct node {
    const char *name; /* '#' stands for a number, '@' for one of the words in `text` */
    int (*serve)(const struct request *request, const struct node *node);
    uint64_t number; /* integer argument of the handler */
    const char *text;
};

/* The rules of the call; each returns 0 or the error. */
int request_read_only(const struct request *request);
int request_write_only(const struct request *request);
int request_read_or_write(const struct request *request);
int request_nothing(const struct request *request);
/* Copies the value to the caller, if it wants it. A caller with a buffer of another size gets what
 * fits, and EINVAL. */
int request_give(const struct request *request, const void *value, size_t size);
/* Takes the new value, if there is one; *came tells. */
int request_take(const struct request *request, void *value, size_t size, bool *came);

/* For calls that create something: whether its number fits the caller's buffer. */
bool request_wants_number(const struct request *request);

/* The call itself, for the library's own use. */
int mallctl_call(const char *name, void *old, size_t *old_length, void *new, size_t new_length);

/* The handlers. Values of the table: */
int serve_bool(const struct request *request, const struct node *node);
int serve_unsigned(const struct request *request, const struct node *node);
int serve_size(const struct request *request, const struct node *node);
int serve_text(const struct request *request, const struct node *node);
int serve_background_thread(const struct request *request, const struct node *node);
int serve_background_max(const struct request *request, const struct node *node);
int serve_background_sum(const struct request *request, const struct node *node);
int serve_thread_cache_max(const struct request *request, const struct node *node);
int serve_nothing(const struct request *request, const struct node *node);
int serve_option(const struct request *request, const struct node *node);
int serve_source(const struct request *request, const struct node *node);
/* The allocator: */
int serve_epoch(const struct request *request, const struct node *node);
int serve_page_size(const struct request *request, const struct node *node);
int serve_figure(const struct request *request, const struct node *node);
int serve_zero_reallocs(const struct request *request, const struct node *node);
int serve_arena_figure(const struct request *request, const struct node *node);
int serve_arena_unsigned(const struct request *request, const struct node *node);
int serve_arena_uptime(const struct request *request, const struct node *node);
int serve_class_figure(const struct request *request, const struct node *node);
int serve_mutex(const struct request *request, const struct node *node);
int serve_mutex_reset(const struct request *request, const struct node *node);
int serve_class_nonfull(const struct request *request, const struct node *node);
int serve_extent_figure(const struct request *request, const struct node *node);
int serve_hpa_figure(const struct request *request, const struct node *node);
int serve_large_figure(const struct request *request, const struct node *node);
int serve_class(const struct request *request, const struct node *node);
int serve_large_size(const struct request *request, const struct node *node);
int serve_arenas_count(const struct request *request, const struct node *node);
int serve_arenas_create(const struct request *request, const struct node *node);
int serve_arenas_create_ext(const struct request *request, const struct node *node);
int serve_arenas_lookup(const struct request *request, const struct node *node);
int serve_arena_initialized(const struct request *request, const struct node *node);
int serve_arena_purge(const struct request *request, const struct node *node);
int serve_arena_reset(const struct request *request, const struct node *node);
int serve_arena_oversize(const struct request *request, const struct node *node);
int serve_arena_dss(const struct request *request, const struct node *node);
int serve_arena_name(const struct request *request, const struct node *node);
int serve_arena_grow_limit(const struct request *request, const struct node *node);
int serve_arena_hooks(const struct request *request, const struct node *node);
int serve_decay(const struct request *request, const struct node *node);
int serve_cache_create(const struct request *request, const struct node *node);
int serve_cache_number(const struct request *request, const struct node *node);
int serve_thread_bound(const struct request *request, const struct node *node);
int serve_thread_bounds(const struct request *request, const struct node *node);
int serve_arenas_cache_max(const struct request *request, const struct node *node);
int serve_thread_cache(const struct request *request, const struct node *node);
int serve_thread_arena(const struct request *request, const struct node *node);
int serve_thread_sum(const struct request *request, const struct node *node);
int serve_thread_pointer(const struct request *request, const struct node *node);
int serve_thread_peak(const struct request *request, const struct node *node);
int serve_thread_peak_reset(const struct request *request, const struct node *node);
int serve_thread_flush(const struct request *request, const struct node *node);
/* The profiler: */
int serve_prof_active(const struct request *request, const struct node *node);
int serve_prof_thread_active(const struct request *request, const struct node *node);
int serve_prof_thread_active_init(const struct request *request, const struct node *node);
int serve_prof_thread_name(const struct request *request, const struct node *node);
int serve_prof_dump(const struct request *request, const struct node *node);
int serve_prof_gdump(const struct request *request, const struct node *node);
int serve_prof_prefix(const struct request *request, const struct node *node);
int serve_prof_reset(const struct request *request, const struct node *node);
int serve_prof_interval(const struct request *request, const struct node *node);
int serve_prof_lg_sample(const struct request *request, const struct node *node);
int serve_prof_log_start(const struct request *request, const struct node *node);
int serve_prof_log_stop(const struct request *request, const struct node *node);
int serve_prof_stats(const struct request *request, const struct node *node);
int serve_prof_stats_large(const struct request *request, const struct node *node);
/* Below experimental.*: */
int serve_abort_hook(const struct request *request, const struct node *node);
int serve_dump_hook(const struct request *request, const struct node *node);
int serve_hooks_install(const struct request *request, const struct node *node);
int serve_hooks_remove(const struct request *request, const struct node *node);
int serve_sample_hook(const struct request *request, const struct node *node);
int serve_sample_free_hook(const struct request *request, const struct node *node);
int serve_backtrace_hook(const struct request *request, const struct node *node);
int serve_thread_event(const struct request *request, const struct node *node);
int serve_active_pages(const struct request *request, const struct node *node);
int serve_utilization(const struct request *request, const struct node *node);
int serve_utilizations(const struct request *request, const struct node *node);
int serve_batch_alloc(const struct request *request, const struct node *node);
int serve_prof_recent_max(const struct request *request, const struct node *node);
int serve_prof_recent_dump(const struct request *request, const struct node *node);

/* What stats.* answers: the state when `epoch` was last written. */
struct figures {
    uint64_t allocated, active, metadata, resident, mapped, retained;
    uint64_t pages_active, pages_dirty, small_allocated, large_allocated;
    uint64_t small_allocs, small_frees, large_allocs, large_frees, cached, threads, zero;
    uint64_t small_fills, small_flushes, purges, purged;
    struct figures_class {
        uint64_t allocs, frees, fills, flushes, made, spans;
    } classes[CLASS_COUNT];
    uint64_t large_used; /* sizes of large blocks, of which those behind it have no blocks */
    struct large_count large[LARGE_SIZES];
};
void figures_refresh(void);
/* Of an arena, or MALLCTL_ALL, or MALLCTL_DESTROYED. False: there is no such arena. */
bool figures_of(size_t number, struct figures *figures);
/* The same without them. */
bool figures_has(size_t number);
/* The arena is about to be destroyed. */
struct arena;
void figures_destroyed(const struct arena *arena);

/* What of a class: a place in `struct figures_class`, or one of these. */
enum {
    CLASS_ALLOCS = offsetof(struct figures_class, allocs),
    CLASS_FREES = offsetof(struct figures_class, frees),
    CLASS_LIVE = 1,
    CLASS_ZERO = 2
};
#define CLASS_FIGURE(field) offsetof(struct figures_class, field)
enum { DECAY_DIRTY = 1, DECAY_TOLD = 2 }; /* dirty pages, or else muzzy ones; can't be written */
/* What of the free runs of a length: two kinds that memoir has none of, those that may be in
 * memory, those that are not; how many of each, or their bytes. */
enum extents { EXTENTS_DIRTY = 4, EXTENTS_RETAINED = 6, EXTENTS_BYTES = 1 };
enum { EXTENT_SIZES = 199 }; /* as in jemalloc: four for each doubling, from a page on */
/* Free runs of pages by length, as of now: they are counted one by one. */
struct extent_counts {
    struct extent_count {
        uint64_t runs, bytes;
    } dirty[EXTENT_SIZES], retained[EXTENT_SIZES];
};
void figures_extents(size_t number, struct extent_counts *counts);
/* The shortest run that counts for an index. */
size_t extent_size_at(unsigned index);
/* Spans of each class with blocks that are free and blocks that are not, as of now. */
void figures_nonfull(size_t number, uint64_t counts[CLASS_COUNT]);
enum { LARGE_ALLOCS, LARGE_FREES, LARGE_LIVE }; /* of a size of large blocks */

/* What of a mutex, and of which kind it is. */
enum {
    MUTEX_OPS,
    MUTEX_WAITS,
    MUTEX_SPINS,
    MUTEX_TURNS,
    MUTEX_WAIT_NS,
    MUTEX_WAIT_NS_MAX,
    MUTEX_THREADS_MAX,
    MUTEX_WHAT = 7,
    MUTEX_GLOBAL = 8,
    MUTEX_ARENA = 16,
    MUTEX_BIN = 32
};

#endif
