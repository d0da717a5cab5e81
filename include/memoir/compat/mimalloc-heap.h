/* SPDX-License-Identifier: MIT */
/* Part of mimalloc.h: heaps, arenas, subprocesses. */
#ifndef MIMALLOC_HEAP_H
#define MIMALLOC_HEAP_H

#include <mimalloc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Heaps: blocks that can be freed all at once. In release 2 a heap is for the thread that made
    it, in
 * release 3 for all; any thread may free its blocks. */
struct mi_heap_s;
typedef struct mi_heap_s mi_heap_t;
mi_decl_nodiscard mi_heap_t *mi_heap_new(void);
/* Its blocks stay, and belong to the first heap from now on; or they are freed. */
void mi_heap_delete(mi_heap_t *heap);
void mi_heap_destroy(mi_heap_t *heap);
void mi_heap_collect(mi_heap_t *heap, bool force) mi_attr_noexcept;
#if MEMOIR_MIMALLOC >= 3
mi_decl_nodiscard mi_heap_t *mi_heap_main(void);
mi_decl_nodiscard mi_heap_t *mi_heap_of(const void *p);
mi_decl_nodiscard bool mi_heap_contains(const mi_heap_t *heap, const void *p);
mi_decl_nodiscard bool mi_any_heap_contains(const void *p);
void mi_heap_set_numa_affinity(mi_heap_t *heap, int numa_node);
#else
/* The heap that mi_malloc takes blocks from in this thread; the one before is returned. */
mi_heap_t *mi_heap_set_default(mi_heap_t *heap);
mi_heap_t *mi_heap_get_default(void);
mi_heap_t *mi_heap_get_backing(void);
bool mi_heap_contains_block(mi_heap_t *heap, const void *p);
bool mi_heap_check_owned(mi_heap_t *heap, const void *p);
#endif
mi_decl_nodiscard void *mi_heap_malloc(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_zalloc(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_calloc(mi_heap_t *heap, size_t count,
                                       size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard void *mi_heap_mallocn(mi_heap_t *heap, size_t count,
                                        size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard void *mi_heap_malloc_small(mi_heap_t *heap,
                                             size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_zalloc_small(mi_heap_t *heap,
                                             size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_realloc(mi_heap_t *heap, void *p, size_t size) mi_attr_noexcept
    mi_attr_alloc_size(3);
mi_decl_nodiscard void *mi_heap_reallocn(mi_heap_t *heap, void *p, size_t count,
                                         size_t size) mi_attr_noexcept mi_attr_alloc_size2(3, 4);
mi_decl_nodiscard void *mi_heap_reallocf(mi_heap_t *heap, void *p, size_t size) mi_attr_noexcept
    mi_attr_alloc_size(3);
mi_decl_nodiscard char *mi_heap_strdup(mi_heap_t *heap,
                                       const char *text) mi_attr_noexcept mi_attr_malloc;
mi_decl_nodiscard char *mi_heap_strndup(mi_heap_t *heap, const char *text,
                                        size_t length) mi_attr_noexcept mi_attr_malloc;
mi_decl_nodiscard char *mi_heap_realpath(mi_heap_t *heap, const char *path,
                                         char *resolved) mi_attr_noexcept;
mi_decl_nodiscard void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t size,
                                               size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_heap_malloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
                                                  size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_zalloc_aligned(mi_heap_t *heap, size_t size,
                                               size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_heap_zalloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
                                                  size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_calloc_aligned(mi_heap_t *heap, size_t count, size_t size,
                                               size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3) mi_attr_alloc_align(4);
mi_decl_nodiscard void *mi_heap_calloc_aligned_at(mi_heap_t *heap, size_t count, size_t size,
                                                  size_t alignment,
                                                  size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard void *mi_heap_realloc_aligned(mi_heap_t *heap, void *p, size_t size,
                                                size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(3) mi_attr_alloc_align(4);
mi_decl_nodiscard void *mi_heap_realloc_aligned_at(mi_heap_t *heap, void *p, size_t size,
                                                   size_t alignment, size_t offset) mi_attr_noexcept
    mi_attr_alloc_size(3);
mi_decl_nodiscard void *mi_heap_rezalloc(mi_heap_t *heap, void *p, size_t size) mi_attr_noexcept
    mi_attr_alloc_size(3);
mi_decl_nodiscard void *mi_heap_recalloc(mi_heap_t *heap, void *p, size_t count,
                                         size_t size) mi_attr_noexcept mi_attr_alloc_size2(3, 4);
mi_decl_nodiscard void *mi_heap_rezalloc_aligned(mi_heap_t *heap, void *p, size_t size,
                                                 size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(3) mi_attr_alloc_align(4);
mi_decl_nodiscard void *mi_heap_rezalloc_aligned_at(mi_heap_t *heap, void *p, size_t size,
                                                    size_t alignment,
                                                    size_t offset) mi_attr_noexcept
    mi_attr_alloc_size(3);
mi_decl_nodiscard void *mi_heap_recalloc_aligned(mi_heap_t *heap, void *p, size_t count,
                                                 size_t size, size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size2(3, 4) mi_attr_alloc_align(5);
mi_decl_nodiscard void *mi_heap_recalloc_aligned_at(mi_heap_t *heap, void *p, size_t count,
                                                    size_t size, size_t alignment,
                                                    size_t offset) mi_attr_noexcept
    mi_attr_alloc_size2(3, 4);
mi_decl_nodiscard void *mi_heap_alloc_new(mi_heap_t *heap, size_t size) mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t count,
                                            size_t size) mi_attr_malloc mi_attr_alloc_size2(2, 3);

/* Blocks of one size that lie together. `visit` is called for each area with `block` NULL, then, if
 * `blocks`, for each of its live blocks; false ends the visit. */
typedef struct mi_heap_area_s {
    void *blocks;
    size_t reserved;
    size_t committed;
    size_t used; /* live blocks */
    size_t block_size;
    size_t full_block_size;
#if MEMOIR_MIMALLOC >= 3
    void *reserved1;
#else
    int heap_tag;
#endif
} mi_heap_area_t;
typedef bool(mi_block_visit_fun)(const mi_heap_t *heap, const mi_heap_area_t *area, void *block,
                                 size_t block_size, void *arg);
#if MEMOIR_MIMALLOC >= 3
bool mi_heap_visit_blocks(mi_heap_t *heap, bool blocks, mi_block_visit_fun *visit, void *arg);
bool mi_heap_visit_abandoned_blocks(mi_heap_t *heap, bool blocks, mi_block_visit_fun *visit,
                                    void *arg);
#else
bool mi_heap_visit_blocks(const mi_heap_t *heap, bool blocks, mi_block_visit_fun *visit, void *arg);
#endif
bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p,
                                           size_t percent) mi_attr_noexcept;

/* The part of a heap that a thread uses. */
#if MEMOIR_MIMALLOC >= 3
struct mi_theap_s;
typedef struct mi_theap_s mi_theap_t;
mi_theap_t *mi_heap_theap(mi_heap_t *heap);
mi_theap_t *mi_theap_set_default(mi_theap_t *theap);
mi_theap_t *mi_theap_get_default(void);
void mi_theap_collect(mi_theap_t *theap, bool force) mi_attr_noexcept;
mi_decl_nodiscard void *mi_theap_malloc(mi_theap_t *theap,
                                        size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_theap_zalloc(mi_theap_t *theap,
                                        size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_theap_calloc(mi_theap_t *theap, size_t count,
                                        size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard void *mi_theap_malloc_small(mi_theap_t *theap,
                                              size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_theap_zalloc_small(mi_theap_t *theap,
                                              size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
mi_decl_nodiscard void *mi_theap_malloc_aligned(mi_theap_t *theap, size_t size,
                                                size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
mi_decl_nodiscard void *mi_theap_realloc(mi_theap_t *theap, void *p, size_t size) mi_attr_noexcept
    mi_attr_alloc_size(3);
bool mi_theap_visit_blocks(const mi_theap_t *theap, bool blocks, mi_block_visit_fun *visit,
                           void *arg);
#else
typedef mi_heap_t mi_theap_t;
#define mi_theap_get_default()             mi_heap_get_default()
#define mi_theap_set_default(hp)           mi_heap_set_default(hp)
#define mi_theap_collect(hp, force)        mi_heap_collect(hp, force)
#define mi_theap_malloc(hp, size)          mi_heap_malloc(hp, size)
#define mi_theap_zalloc(hp, size)          mi_heap_zalloc(hp, size)
#define mi_theap_calloc(hp, count, size)   mi_heap_calloc(hp, count, size)
#define mi_theap_malloc_small(hp, size)    mi_heap_malloc_small(hp, size)
#define mi_theap_malloc_aligned(hp, s, al) mi_heap_malloc_aligned(hp, s, al)
#define mi_theap_realloc(hp, p, size)      mi_heap_realloc(hp, p, size)
#endif

/* Reserved memory, and heaps in it. */
#if MEMOIR_MIMALLOC >= 3
typedef void *mi_arena_id_t;
typedef struct {
    void *_mi_subproc_id;
} mi_subproc_id_t;
#else
typedef int mi_arena_id_t;
typedef void *mi_subproc_id_t;
#endif
int mi_reserve_os_memory(size_t size, bool commit, bool allow_large) mi_attr_noexcept;
int mi_reserve_os_memory_ex(size_t size, bool commit, bool allow_large, bool exclusive,
                            mi_arena_id_t *arena_id) mi_attr_noexcept;
bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_pinned, bool is_zero,
                         int numa_node) mi_attr_noexcept;
bool mi_manage_os_memory_ex(void *start, size_t size, bool is_committed, bool is_pinned,
                            bool is_zero, int numa_node, bool exclusive,
                            mi_arena_id_t *arena_id) mi_attr_noexcept;
int mi_reserve_huge_os_pages(size_t pages, double max_secs,
                             size_t *pages_reserved) mi_attr_noexcept;
int mi_reserve_huge_os_pages_at(size_t pages, int numa_node, size_t timeout_msecs) mi_attr_noexcept;
int mi_reserve_huge_os_pages_at_ex(size_t pages, int numa_node, size_t timeout_msecs,
                                   bool exclusive, mi_arena_id_t *arena_id) mi_attr_noexcept;
int mi_reserve_huge_os_pages_interleave(size_t pages, size_t numa_nodes,
                                        size_t timeout_msecs) mi_attr_noexcept;
void *mi_arena_area(mi_arena_id_t arena_id, size_t *size);
mi_decl_nodiscard mi_heap_t *mi_heap_new_in_arena(mi_arena_id_t arena_id);
void mi_arenas_print(void) mi_attr_noexcept;
void mi_debug_show_arenas(void) mi_attr_noexcept;

/* Subprocesses: threads whose blocks are kept apart from those of others. */
mi_subproc_id_t mi_subproc_main(void);
mi_subproc_id_t mi_subproc_new(void);
void mi_subproc_add_current_thread(mi_subproc_id_t subproc);
#if MEMOIR_MIMALLOC >= 3
mi_subproc_id_t mi_subproc_current(void);
void mi_subproc_destroy(mi_subproc_id_t subproc);
typedef bool(mi_heap_visit_fun)(mi_heap_t *heap, void *arg);
bool mi_subproc_visit_heaps(mi_subproc_id_t subproc, mi_heap_visit_fun *visit, void *arg);
typedef bool(mi_commit_fun_t)(bool commit, void *start, size_t size, bool *is_zero, void *arg);
bool mi_manage_memory(void *start, size_t size, bool is_committed, bool is_pinned, bool is_zero,
                      int numa_node, bool exclusive, mi_commit_fun_t *commit_fun,
                      void *commit_fun_arg, mi_arena_id_t *arena_id) mi_attr_noexcept;
bool mi_arena_contains(mi_arena_id_t arena_id, const void *p);
size_t mi_arena_min_alignment(void);
size_t mi_arena_min_size(void);
void mi_theap_guarded_set_sample_rate(mi_theap_t *theap, size_t sample_rate, size_t seed);
void mi_theap_guarded_set_size_bound(mi_theap_t *theap, size_t min, size_t max);
#else
void mi_subproc_delete(mi_subproc_id_t subproc);
bool mi_abandoned_visit_blocks(mi_subproc_id_t subproc, int heap_tag, bool blocks,
                               mi_block_visit_fun *visit, void *arg);
mi_decl_nodiscard mi_heap_t *mi_heap_new_ex(int heap_tag, bool allow_destroy,
                                            mi_arena_id_t arena_id);
void mi_heap_guarded_set_sample_rate(mi_heap_t *heap, size_t sample_rate, size_t seed);
void mi_heap_guarded_set_size_bound(mi_heap_t *heap, size_t min, size_t max);
#endif

#ifdef __cplusplus
}
#endif

/* Blocks by type. */
#if MEMOIR_MIMALLOC >= 3
#define mi_heap_malloc_tp(tp, hp)         ((tp *)mi_heap_malloc(hp, sizeof(tp)))
#define mi_heap_zalloc_tp(tp, hp)         ((tp *)mi_heap_zalloc(hp, sizeof(tp)))
#define mi_heap_calloc_tp(tp, hp, n)      ((tp *)mi_heap_calloc(hp, n, sizeof(tp)))
#define mi_heap_mallocn_tp(tp, hp, n)     ((tp *)mi_heap_mallocn(hp, n, sizeof(tp)))
#define mi_heap_reallocn_tp(tp, hp, p, n) ((tp *)mi_heap_reallocn(hp, p, n, sizeof(tp)))
#define mi_heap_recalloc_tp(tp, hp, p, n) ((tp *)mi_heap_recalloc(hp, p, n, sizeof(tp)))
#else
#define mi_heap_malloc_tp(hp, tp)         ((tp *)mi_heap_malloc(hp, sizeof(tp)))
#define mi_heap_zalloc_tp(hp, tp)         ((tp *)mi_heap_zalloc(hp, sizeof(tp)))
#define mi_heap_calloc_tp(hp, tp, n)      ((tp *)mi_heap_calloc(hp, n, sizeof(tp)))
#define mi_heap_mallocn_tp(hp, tp, n)     ((tp *)mi_heap_mallocn(hp, n, sizeof(tp)))
#define mi_heap_reallocn_tp(hp, p, tp, n) ((tp *)mi_heap_reallocn(hp, p, n, sizeof(tp)))
#define mi_heap_recalloc_tp(hp, p, tp, n) ((tp *)mi_heap_recalloc(hp, p, n, sizeof(tp)))
#endif

#endif
