/* SPDX-License-Identifier: MIT */
/*
 * gperftools' hooks, in C, for programs that say #include <gperftools/malloc_hook_c.h>. Hooks for
 * new and delete are called for every block, from malloc and its relatives, too. Those for mmap and
 * sbrk are accepted and never called, as in gperftools since 2.17.
 */
#ifndef _MALLOC_HOOK_C_H_
#define _MALLOC_HOOK_C_H_

#include <stddef.h>
#include <sys/types.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*MallocHook_NewHook)(const void *ptr, size_t size);
typedef void (*MallocHook_DeleteHook)(const void *ptr);
typedef void (*MallocHook_PreMmapHook)(const void *start, size_t size, int protection, int flags,
                                       int fd, off_t offset);
typedef void (*MallocHook_MmapHook)(const void *result, const void *start, size_t size,
                                    int protection, int flags, int fd, off_t offset);
typedef int (*MallocHook_MmapReplacement)(const void *start, size_t size, int protection, int flags,
                                          int fd, off_t offset, void **result);
typedef void (*MallocHook_MunmapHook)(const void *ptr, size_t size);
typedef int (*MallocHook_MunmapReplacement)(const void *ptr, size_t size, int *result);
typedef void (*MallocHook_MremapHook)(const void *result, const void *old_addr, size_t old_size,
                                      size_t new_size, int flags, const void *new_addr);
typedef void (*MallocHook_PreSbrkHook)(ptrdiff_t increment);
typedef void (*MallocHook_SbrkHook)(const void *result, ptrdiff_t increment);

/* Up to seven of each kind; 1, or 0 if there is no place, or no such hook. */
int MallocHook_AddNewHook(MallocHook_NewHook hook);
int MallocHook_RemoveNewHook(MallocHook_NewHook hook);
int MallocHook_AddDeleteHook(MallocHook_DeleteHook hook);
int MallocHook_RemoveDeleteHook(MallocHook_DeleteHook hook);
int MallocHook_AddPreMmapHook(MallocHook_PreMmapHook hook);
int MallocHook_RemovePreMmapHook(MallocHook_PreMmapHook hook);
int MallocHook_AddMmapHook(MallocHook_MmapHook hook);
int MallocHook_RemoveMmapHook(MallocHook_MmapHook hook);
int MallocHook_AddMunmapHook(MallocHook_MunmapHook hook);
int MallocHook_RemoveMunmapHook(MallocHook_MunmapHook hook);
int MallocHook_AddMremapHook(MallocHook_MremapHook hook);
int MallocHook_RemoveMremapHook(MallocHook_MremapHook hook);
int MallocHook_AddPreSbrkHook(MallocHook_PreSbrkHook hook);
int MallocHook_RemovePreSbrkHook(MallocHook_PreSbrkHook hook);
int MallocHook_AddSbrkHook(MallocHook_SbrkHook hook);
int MallocHook_RemoveSbrkHook(MallocHook_SbrkHook hook);
int MallocHook_SetMmapReplacement(MallocHook_MmapReplacement hook);
int MallocHook_RemoveMmapReplacement(MallocHook_MmapReplacement hook);
int MallocHook_SetMunmapReplacement(MallocHook_MunmapReplacement hook);
int MallocHook_RemoveMunmapReplacement(MallocHook_MunmapReplacement hook);

/* The older way: one hook beside the others; returns the one before. */
MallocHook_NewHook MallocHook_SetNewHook(MallocHook_NewHook hook);
MallocHook_DeleteHook MallocHook_SetDeleteHook(MallocHook_DeleteHook hook);
MallocHook_PreMmapHook MallocHook_SetPreMmapHook(MallocHook_PreMmapHook hook);
MallocHook_MmapHook MallocHook_SetMmapHook(MallocHook_MmapHook hook);
MallocHook_MunmapHook MallocHook_SetMunmapHook(MallocHook_MunmapHook hook);
MallocHook_MremapHook MallocHook_SetMremapHook(MallocHook_MremapHook hook);
MallocHook_PreSbrkHook MallocHook_SetPreSbrkHook(MallocHook_PreSbrkHook hook);
MallocHook_SbrkHook MallocHook_SetSbrkHook(MallocHook_SbrkHook hook);

/* In a hook: the stack of the call that it is about. */
int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count);

#ifdef __cplusplus
}
#endif

#endif
