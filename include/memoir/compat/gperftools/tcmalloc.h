/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc's own names of the allocation functions, for programs that say #include
 * <gperftools/tcmalloc.h>. All of them share one heap with malloc and free.
 */
#ifndef TCMALLOC_TCMALLOC_H_
#define TCMALLOC_TCMALLOC_H_

#include <malloc.h>
#include <stddef.h>

/* The release whose behaviour this is. */
#define TC_VERSION_MAJOR  2
#define TC_VERSION_MINOR  10
#define TC_VERSION_PATCH  ""
#define TC_VERSION_STRING "gperftools 2.10"

#ifdef __cplusplus
#include <new>
extern "C" {
#endif

const char *tc_version(int *major, int *minor, const char **patch);

void *tc_malloc(size_t size);
void *tc_malloc_skip_new_handler(size_t size);
void tc_free(void *ptr);
void tc_free_sized(void *ptr, size_t size);
void tc_free_aligned_sized(void *ptr, size_t align, size_t size);
void *tc_realloc(void *ptr, size_t size);
void *tc_calloc(size_t nmemb, size_t size);
void tc_cfree(void *ptr);
void *tc_memalign(size_t align, size_t size);
int tc_posix_memalign(void **ptr, size_t align, size_t size);
void *tc_valloc(size_t size);
void *tc_pvalloc(size_t size);

void tc_malloc_stats(void);
int tc_mallopt(int cmd, int value);
struct mallinfo tc_mallinfo(void);
size_t tc_malloc_size(void *ptr);
/* Kept, and without effect: malloc does not ask the new handler. */
int tc_set_new_mode(int flag);
int tc_query_new_mode(void);
size_t tc_nallocx(size_t size, int flags);
size_t nallocx(size_t size, int flags);

#ifdef __cplusplus
void *tc_new(size_t size);
void *tc_newarray(size_t size);
void *tc_new_nothrow(size_t size, const std::nothrow_t &);
void *tc_newarray_nothrow(size_t size, const std::nothrow_t &);
void tc_delete(void *p);
void tc_deletearray(void *p);
void tc_delete_sized(void *p, size_t size);
void tc_deletearray_sized(void *p, size_t size);
void tc_delete_nothrow(void *p, const std::nothrow_t &);
void tc_deletearray_nothrow(void *p, const std::nothrow_t &);
#if defined(__cpp_aligned_new)
void *tc_new_aligned(size_t size, std::align_val_t align);
void *tc_newarray_aligned(size_t size, std::align_val_t align);
void *tc_new_aligned_nothrow(size_t size, std::align_val_t align, const std::nothrow_t &);
void *tc_newarray_aligned_nothrow(size_t size, std::align_val_t align, const std::nothrow_t &);
void tc_delete_aligned(void *p, std::align_val_t align);
void tc_deletearray_aligned(void *p, std::align_val_t align);
void tc_delete_sized_aligned(void *p, size_t size, std::align_val_t align);
void tc_deletearray_sized_aligned(void *p, size_t size, std::align_val_t align);
void tc_delete_aligned_nothrow(void *p, std::align_val_t align, const std::nothrow_t &);
void tc_deletearray_aligned_nothrow(void *p, std::align_val_t align, const std::nothrow_t &);
#endif
}
#endif

#endif
