/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's statistics as numbers. The layout is that of mimalloc 2.4, or of 3.4 in the folder
 * mimalloc-3. Which fields memoir has a number for is in docs/COMPATIBILITY.md; the others are 0.
 */
#ifndef MIMALLOC_STATS_H
#define MIMALLOC_STATS_H

#include <mimalloc.h>
#include <stdint.h>
#include <string.h>

#if MEMOIR_MIMALLOC >= 3
#define mi_decl_align(a) __attribute__((aligned(a)))
#define MI_STAT_VERSION  5
#else
#define MI_STAT_VERSION 4
#endif
#define MI_BIN_HUGE 73U

/* An amount that rises and falls, and one that only rises. */
typedef struct mi_stat_count_s {
    int64_t total, peak, current;
} mi_stat_count_t;

typedef struct mi_stat_counter_s {
    int64_t total;
} mi_stat_counter_t;

/* The fields in their order: the caller defines MI_STAT_COUNT and MI_STAT_COUNTER. */
#define MI_STAT_FIELDS()                       \
    MI_STAT_COUNT(pages)                       \
    MI_STAT_COUNT(reserved)                    \
    MI_STAT_COUNT(committed)                   \
    MI_STAT_COUNTER(reset)                     \
    MI_STAT_COUNTER(purged)                    \
    MI_STAT_COUNT(page_committed)              \
    MI_STAT_COUNT(pages_abandoned)             \
    MI_STAT_COUNT(threads)                     \
    MI_STAT_COUNT(malloc_normal)               \
    MI_STAT_COUNT(malloc_huge)                 \
    MI_STAT_COUNT(malloc_requested)            \
    MI_STAT_COUNTER(mmap_calls)                \
    MI_STAT_COUNTER(commit_calls)              \
    MI_STAT_COUNTER(reset_calls)               \
    MI_STAT_COUNTER(purge_calls)               \
    MI_STAT_COUNTER(arena_count)               \
    MI_STAT_COUNTER(malloc_normal_count)       \
    MI_STAT_COUNTER(malloc_huge_count)         \
    MI_STAT_COUNTER(malloc_guarded_count)      \
    MI_STAT_COUNTER(arena_rollback_count)      \
    MI_STAT_COUNTER(arena_purges)              \
    MI_STAT_COUNTER(pages_extended)            \
    MI_STAT_COUNTER(pages_retire)              \
    MI_STAT_COUNTER(page_searches)             \
    MI_STAT_COUNTER(page_searches_count)       \
    MI_STAT_COUNT(segments)                    \
    MI_STAT_COUNT(segments_abandoned)          \
    MI_STAT_COUNT(segments_cache)              \
    MI_STAT_COUNT(_segments_reserved)          \
    MI_STAT_FIELDS_HEAPS()                     \
    MI_STAT_COUNTER(pages_reclaim_on_alloc)    \
    MI_STAT_COUNTER(pages_reclaim_on_free)     \
    MI_STAT_COUNTER(pages_reabandon_full)      \
    MI_STAT_COUNTER(pages_unabandon_busy_wait) \
    MI_STAT_FIELDS_WAIT()

#if MEMOIR_MIMALLOC >= 3
#define MI_STAT_FIELDS_HEAPS() MI_STAT_COUNT(heaps) MI_STAT_COUNT(theaps)
#define MI_STAT_FIELDS_WAIT()  MI_STAT_COUNTER(heaps_delete_wait)

typedef enum mi_chunkbin_e {
    MI_CBIN_SMALL,
    MI_CBIN_OTHER,
    MI_CBIN_MEDIUM,
    MI_CBIN_LARGE,
    MI_CBIN_HUGE,
    MI_CBIN_NONE,
    MI_CBIN_COUNT
} mi_chunkbin_t;
#else
#define MI_STAT_FIELDS_HEAPS()
#define MI_STAT_FIELDS_WAIT()
#endif

#define MI_STAT_COUNT(field)   mi_stat_count_t field;
#define MI_STAT_COUNTER(field) mi_stat_counter_t field;
typedef struct mi_stats_s {
    size_t size;    /* set by the caller to the size of this structure, */
    size_t version; /* and to MI_STAT_VERSION */
    MI_STAT_FIELDS()
    mi_stat_count_t _stat_reserved[4];
    mi_stat_counter_t _stat_counter_reserved[4];
    mi_stat_count_t malloc_bins[MI_BIN_HUGE + 1]; /* blocks by size, */
    mi_stat_count_t page_bins[MI_BIN_HUGE + 1];   /* and the pages that they lie in */
#if MEMOIR_MIMALLOC >= 3
    mi_stat_count_t chunk_bins[MI_CBIN_COUNT];
#endif
} mi_stats_t;
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER

static inline void mi_stats_header_init(mi_stats_t *stats)
{
    stats->size = sizeof *stats;
    stats->version = MI_STAT_VERSION;
}

static inline void mi_stats_init(mi_stats_t *stats)
{
    memset(stats, 0, sizeof *stats);
    mi_stats_header_init(stats);
}

#define mi_stats_t_decl(name) \
    mi_stats_t name;          \
    mi_stats_init(&name);

#ifdef __cplusplus
extern "C" {
#endif

/* False if the caller's structure has another size or version. */
bool mi_stats_get(mi_stats_t *stats) mi_attr_noexcept;
/* As JSON, into `buffer`; or, if that is NULL, into a block that the caller frees with mi_free. */
char *mi_stats_get_json(size_t size, char *buffer) mi_attr_noexcept;

#if MEMOIR_MIMALLOC >= 3
bool mi_heap_stats_get(mi_heap_t *heap, mi_stats_t *stats) mi_attr_noexcept;
char *mi_heap_stats_get_json(mi_heap_t *heap, size_t size, char *buffer) mi_attr_noexcept;
void mi_heap_stats_print_out(mi_heap_t *heap, mi_output_fun *out, void *arg) mi_attr_noexcept;
void mi_heap_stats_merge_to_subproc(mi_heap_t *heap);
bool mi_subproc_stats_get(mi_subproc_id_t subproc, mi_stats_t *stats) mi_attr_noexcept;
bool mi_subproc_stats_get_exclusive(mi_subproc_id_t subproc, mi_stats_t *stats) mi_attr_noexcept;
char *mi_subproc_stats_get_json(mi_subproc_id_t subproc, size_t size,
                                char *buffer) mi_attr_noexcept;
void mi_subproc_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out,
                                void *arg) mi_attr_noexcept;
void mi_subproc_heap_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out,
                                     void *arg) mi_attr_noexcept;
char *mi_stats_as_json(mi_stats_t *stats, size_t size, char *buffer) mi_attr_noexcept;
/* The largest block that is counted in the bin. */
size_t mi_stats_get_bin_size(size_t bin) mi_attr_noexcept;
#endif

#ifdef __cplusplus
}
#endif

#endif
