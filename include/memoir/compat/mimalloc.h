/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's interface, for programs that say #include <mimalloc.h>: compile with
 * -I.../include/memoir/compat and link with -L.../lib/memoir/compat -lmimalloc. This is release
 * 2.4; the folder mimalloc-3 has the same for release 3.4 (-I.../include/memoir/compat/mimalloc-3,
 * -L.../lib/memoir/compat/mimalloc-3). What each call does here is in docs/COMPATIBILITY.md.
 */
#ifndef MIMALLOC_H
#define MIMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MEMOIR_MIMALLOC
#define MEMOIR_MIMALLOC 2
#endif

/* The release whose behaviour this is. */
#if MEMOIR_MIMALLOC >= 3
#define MI_MALLOC_VERSION 30403
#else
#define MI_MALLOC_VERSION 20401
#endif

/* The largest size for the functions that end in _small. */
#define MI_SMALL_WSIZE_MAX 128
#define MI_SMALL_SIZE_MAX  (MI_SMALL_WSIZE_MAX * sizeof(void *))

/* Words that programs put before and behind functions of their own. */
#define mi_cdecl
#define mi_decl_export
#define mi_decl_restrict
#if !defined(__cplusplus)
#define mi_attr_noexcept
#elif __cplusplus >= 201103L
#define mi_attr_noexcept noexcept
#else
#define mi_attr_noexcept throw()
#endif
#if defined(__cplusplus) && __cplusplus >= 201703L
#define mi_decl_nodiscard [[nodiscard]]
#else
#define mi_decl_nodiscard __attribute__((warn_unused_result))
#endif
#define mi_attr_malloc              __attribute__((malloc))
#define mi_attr_alloc_size(n)       __attribute__((alloc_size(n)))
#define mi_attr_alloc_size2(n1, n2) __attribute__((alloc_size(n1, n2)))
#define mi_attr_alloc_align(n)      __attribute__((alloc_align(n)))

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks. A size of 0 gives a block, too, and so does mi_realloc(p, 0). */
mi_decl_nodiscard void *mi_malloc(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_calloc(size_t count, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
mi_decl_nodiscard void *mi_realloc(void *p, size_t size) mi_attr_noexcept mi_attr_alloc_size(2);
void mi_free(void *p) mi_attr_noexcept;
mi_decl_nodiscard void *mi_zalloc(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_mallocn(size_t count, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
mi_decl_nodiscard void *mi_reallocn(void *p, size_t count, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);

/* Frees p if it fails. */
mi_decl_nodiscard void *mi_reallocf(void *p, size_t size) mi_attr_noexcept mi_attr_alloc_size(2);

/* In place, or NULL. */
void *mi_expand(void *p, size_t size) mi_attr_noexcept mi_attr_alloc_size(2);

/* At most MI_SMALL_SIZE_MAX bytes. */
mi_decl_nodiscard void *mi_malloc_small(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_zalloc_small(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
void mi_free_small(void *p) mi_attr_noexcept;

/* The bytes that may be used; the bytes that a block of this size has. */
mi_decl_nodiscard size_t mi_usable_size(const void *p) mi_attr_noexcept;
mi_decl_nodiscard size_t mi_good_size(size_t size) mi_attr_noexcept;
mi_decl_nodiscard char *mi_strdup(const char *text) mi_attr_noexcept mi_attr_malloc;
mi_decl_nodiscard char *mi_strndup(const char *text, size_t length) mi_attr_noexcept mi_attr_malloc;
mi_decl_nodiscard char *mi_realpath(const char *path, char *resolved) mi_attr_noexcept;

/* A multiple of `alignment` is p, or p + offset in the forms that end in _at. */
mi_decl_nodiscard void *mi_malloc_aligned(size_t size,
                                          size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_malloc_aligned_at(size_t size, size_t alignment,
                                             size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_zalloc_aligned(size_t size,
                                          size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_zalloc_aligned_at(size_t size, size_t alignment,
                                             size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_calloc_aligned(size_t count, size_t size,
                                          size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_calloc_aligned_at(size_t count, size_t size, size_t alignment,
                                             size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
mi_decl_nodiscard void *mi_realloc_aligned(void *p, size_t size, size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_realloc_aligned_at(void *p, size_t size, size_t alignment,
                                              size_t offset) mi_attr_noexcept mi_attr_alloc_size(2);

/* realloc for blocks that were zeroed when they were made: what is added is zero, too. */
mi_decl_nodiscard void *mi_rezalloc(void *p, size_t size) mi_attr_noexcept mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_recalloc(void *p, size_t count, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard void *mi_rezalloc_aligned(void *p, size_t size, size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_rezalloc_aligned_at(void *p, size_t size, size_t alignment,
                                               size_t offset) mi_attr_noexcept
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_recalloc_aligned(void *p, size_t count, size_t size,
                                            size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3) mi_attr_alloc_align(4);
mi_decl_nodiscard void *mi_recalloc_aligned_at(void *p, size_t count, size_t size, size_t alignment,
                                               size_t offset) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);

/* The same, and how large the block is, or was. */
mi_decl_nodiscard void *mi_umalloc(size_t size, size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_ucalloc(size_t count, size_t size,
                                   size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
mi_decl_nodiscard void *mi_urealloc(void *p, size_t size, size_t *usable_before,
                                    size_t *usable) mi_attr_noexcept mi_attr_alloc_size(2);
void mi_ufree(void *p, size_t *usable) mi_attr_noexcept;
mi_decl_nodiscard void *mi_umalloc_aligned(size_t size, size_t alignment,
                                           size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_uzalloc_aligned(size_t size, size_t alignment,
                                           size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_umalloc_small(size_t size,
                                         size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_uzalloc_small(size_t size,
                                         size_t *usable) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);

/* Functions of other systems under the prefix. */
void mi_cfree(void *p) mi_attr_noexcept;
void *mi__expand(void *p, size_t size) mi_attr_noexcept;
mi_decl_nodiscard size_t mi_malloc_size(const void *p) mi_attr_noexcept;
mi_decl_nodiscard size_t mi_malloc_good_size(size_t size) mi_attr_noexcept;
mi_decl_nodiscard size_t mi_malloc_usable_size(const void *p) mi_attr_noexcept;
int mi_posix_memalign(void **out, size_t alignment, size_t size);
mi_decl_nodiscard void *mi_memalign(size_t alignment, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(1);
mi_decl_nodiscard void *mi_aligned_alloc(size_t alignment,
                                         size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(1);
mi_decl_nodiscard void *mi_valloc(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_pvalloc(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_reallocarray(void *p, size_t count, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard int mi_reallocarr(void *place, size_t count, size_t size) mi_attr_noexcept;
mi_decl_nodiscard void *mi_aligned_recalloc(void *p, size_t count, size_t size,
                                            size_t alignment) mi_attr_noexcept;
mi_decl_nodiscard void *mi_aligned_offset_recalloc(void *p, size_t count, size_t size,
                                                   size_t alignment,
                                                   size_t offset) mi_attr_noexcept;
void mi_free_size(void *p, size_t size) mi_attr_noexcept;
void mi_free_size_aligned(void *p, size_t size, size_t alignment) mi_attr_noexcept;
void mi_free_aligned(void *p, size_t alignment) mi_attr_noexcept;
int mi_dupenv_s(char **out, size_t *length, const char *name) mi_attr_noexcept;
int mi_wdupenv_s(wchar_t **out, size_t *length, const wchar_t *name) mi_attr_noexcept;
mi_decl_nodiscard wchar_t *mi_wcsdup(const wchar_t *text) mi_attr_noexcept mi_attr_malloc;
mi_decl_nodiscard unsigned char *mi_mbsdup(const unsigned char *text)
    mi_attr_noexcept mi_attr_malloc;

/* As operator new: they ask the new handler and throw. */
mi_decl_nodiscard void *mi_new(size_t size) mi_attr_malloc mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_new_n(size_t count, size_t size) mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
mi_decl_nodiscard void *mi_new_aligned(size_t size, size_t alignment) mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_new_nothrow(size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
mi_decl_nodiscard void *mi_new_aligned_nothrow(size_t size,
                                               size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
mi_decl_nodiscard void *mi_new_realloc(void *p, size_t size) mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_new_reallocn(void *p, size_t count, size_t size)
    mi_attr_alloc_size2(2, 3);

/* What is printed goes to `out`; errors are told to `fun`, with their number from errno.h; `fun` is
 * called now and then, with `force` by mi_collect(true). */
typedef void(mi_output_fun)(const char *text, void *arg);
typedef void(mi_error_fun)(int error, void *arg);
typedef void(mi_deferred_free_fun)(bool force, unsigned long long heartbeat, void *arg);
void mi_register_output(mi_output_fun *out, void *arg) mi_attr_noexcept;
void mi_register_error(mi_error_fun *fun, void *arg);
void mi_register_deferred_free(mi_deferred_free_fun *fun, void *arg) mi_attr_noexcept;

/* The library as a whole. */
int mi_version(void) mi_attr_noexcept;
void mi_collect(bool force) mi_attr_noexcept;
void mi_collect_reduce(size_t target) mi_attr_noexcept;
void mi_process_init(void) mi_attr_noexcept;
void mi_process_done(void) mi_attr_noexcept;
void mi_thread_init(void) mi_attr_noexcept;
void mi_thread_done(void) mi_attr_noexcept;
void mi_thread_set_in_threadpool(void) mi_attr_noexcept;
mi_decl_nodiscard bool mi_is_redirected(void) mi_attr_noexcept;
mi_decl_nodiscard bool mi_is_in_heap_region(const void *p) mi_attr_noexcept;
bool mi_check_owned(const void *p);
void mi_process_info(size_t *elapsed_ms, size_t *user_ms, size_t *system_ms, size_t *rss,
                     size_t *rss_peak, size_t *commit, size_t *commit_peak,
                     size_t *page_faults) mi_attr_noexcept;

/* Statistics; mimalloc-stats.h has them as numbers. */
void mi_stats_reset(void) mi_attr_noexcept;
void mi_stats_merge(void) mi_attr_noexcept;
void mi_stats_print(void *unused) mi_attr_noexcept;
void mi_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
void mi_thread_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
void mi_options_print(void) mi_attr_noexcept;
#if MEMOIR_MIMALLOC >= 3
void mi_options_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
void mi_process_info_print(void) mi_attr_noexcept;
void mi_process_info_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
#endif

/* Options: the numbers differ between the releases. */
typedef enum mi_option_e {
    mi_option_show_errors,
    mi_option_show_stats,
    mi_option_verbose,
#if MEMOIR_MIMALLOC >= 3
    mi_option_deprecated_eager_commit,
#else
    mi_option_eager_commit,
#endif
    mi_option_arena_eager_commit,
    mi_option_purge_decommits,
    mi_option_allow_large_os_pages,
    mi_option_reserve_huge_os_pages,
    mi_option_reserve_huge_os_pages_at,
    mi_option_reserve_os_memory,
    mi_option_deprecated_segment_cache,
    mi_option_deprecated_page_reset,
#if MEMOIR_MIMALLOC >= 3
    mi_option_deprecated_abandoned_page_purge,
#else
    mi_option_abandoned_page_purge,
#endif
    mi_option_deprecated_segment_reset,
#if MEMOIR_MIMALLOC >= 3
    mi_option_deprecated_eager_commit_delay,
#else
    mi_option_eager_commit_delay,
#endif
    mi_option_purge_delay,
    mi_option_use_numa_nodes,
    mi_option_disallow_os_alloc,
    mi_option_os_tag,
    mi_option_max_errors,
    mi_option_max_warnings,
#if MEMOIR_MIMALLOC >= 3
    mi_option_deprecated_max_segment_reclaim,
#else
    mi_option_max_segment_reclaim,
#endif
    mi_option_destroy_on_exit,
    mi_option_arena_reserve,
    mi_option_arena_purge_mult,
#if MEMOIR_MIMALLOC >= 3
    mi_option_deprecated_purge_extend_delay,
#else
    mi_option_purge_extend_delay,
    mi_option_abandoned_reclaim_on_free,
#endif
    mi_option_disallow_arena_alloc,
    mi_option_retry_on_oom,
    mi_option_visit_abandoned,
    mi_option_guarded_min,
    mi_option_guarded_max,
    mi_option_guarded_precise,
    mi_option_guarded_sample_rate,
    mi_option_guarded_sample_seed,
#if MEMOIR_MIMALLOC < 3
    mi_option_target_segments_per_thread,
#endif
    mi_option_generic_collect,
#if MEMOIR_MIMALLOC >= 3
    mi_option_page_reclaim_on_free,
    mi_option_page_full_retain,
    mi_option_page_max_candidates,
    mi_option_max_vabits,
    mi_option_pagemap_commit,
    mi_option_page_commit_on_demand,
    mi_option_page_max_reclaim,
    mi_option_page_cross_thread_max_reclaim,
#endif
    mi_option_allow_thp,
#if MEMOIR_MIMALLOC >= 3
    mi_option_minimal_purge_size,
    mi_option_arena_max_object_size,
    mi_option_arena_is_numa_local,
#endif
    _mi_option_last,
    mi_option_large_os_pages = mi_option_allow_large_os_pages,
    mi_option_eager_region_commit = mi_option_arena_eager_commit,
    mi_option_reset_decommits = mi_option_purge_decommits,
    mi_option_reset_delay = mi_option_purge_delay,
#if MEMOIR_MIMALLOC < 3
    mi_option_abandoned_page_reset = mi_option_abandoned_page_purge,
#endif
    mi_option_limit_os_alloc = mi_option_disallow_os_alloc
} mi_option_t;

mi_decl_nodiscard bool mi_option_is_enabled(mi_option_t option);
void mi_option_enable(mi_option_t option);
void mi_option_disable(mi_option_t option);
void mi_option_set_enabled(mi_option_t option, bool enable);
void mi_option_set_enabled_default(mi_option_t option, bool enable);
mi_decl_nodiscard long mi_option_get(mi_option_t option);
mi_decl_nodiscard long mi_option_get_clamp(mi_option_t option, long min, long max);
mi_decl_nodiscard size_t mi_option_get_size(mi_option_t option);
void mi_option_set(mi_option_t option, long value);
void mi_option_set_default(mi_option_t option, long value);

#ifdef __cplusplus
}
#endif

/* Blocks by type. */
#define mi_malloc_tp(tp)     ((tp *)mi_malloc(sizeof(tp)))
#define mi_zalloc_tp(tp)     ((tp *)mi_zalloc(sizeof(tp)))
#define mi_calloc_tp(tp, n)  ((tp *)mi_calloc(n, sizeof(tp)))
#define mi_mallocn_tp(tp, n) ((tp *)mi_mallocn(n, sizeof(tp)))
#if MEMOIR_MIMALLOC >= 3
#define mi_reallocn_tp(tp, p, n) ((tp *)mi_reallocn(p, n, sizeof(tp)))
#define mi_recalloc_tp(tp, p, n) ((tp *)mi_recalloc(p, n, sizeof(tp)))
#else
#define mi_reallocn_tp(p, tp, n) ((tp *)mi_reallocn(p, n, sizeof(tp)))
#define mi_recalloc_tp(p, tp, n) ((tp *)mi_recalloc(p, n, sizeof(tp)))
#endif

#include <mimalloc-heap.h>
#include <mimalloc-stl.h>

#endif
