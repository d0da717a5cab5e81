/* SPDX-License-Identifier: MIT */
/* Part of mimalloc.h: heaps. */
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
