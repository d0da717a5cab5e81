/* SPDX-License-Identifier: MIT */
/*
 * gperftools' questions about the allocator, in C, for programs that say #include
 * <gperftools/malloc_extension_c.h>. What each answers here is in docs/COMPATIBILITY.md.
 */
#ifndef _MALLOC_EXTENSION_C_H_
#define _MALLOC_EXTENSION_C_H_

#include <stddef.h>

#define kMallocExtensionHistogramSize 64

#ifdef __cplusplus
extern "C" {
#endif

int MallocExtension_VerifyAllMemory(void);
int MallocExtension_VerifyNewMemory(const void *p);
int MallocExtension_VerifyArrayNewMemory(const void *p);
int MallocExtension_VerifyMallocMemory(const void *p);
int MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
                                      int histogram[kMallocExtensionHistogramSize]);
void MallocExtension_GetStats(char *buffer, int buffer_length);

/* 1, or 0 if there is no such property or it can't be set. */
int MallocExtension_GetNumericProperty(const char *property, size_t *value);
int MallocExtension_SetNumericProperty(const char *property, size_t value);

void MallocExtension_MarkThreadIdle(void);
void MallocExtension_MarkThreadBusy(void);
void MallocExtension_MarkThreadTemporarilyIdle(void);
void MallocExtension_ReleaseToSystem(size_t num_bytes);
void MallocExtension_ReleaseFreeMemory(void);
void MallocExtension_SetMemoryReleaseRate(double rate);
double MallocExtension_GetMemoryReleaseRate(void);
size_t MallocExtension_GetEstimatedAllocatedSize(size_t size);
size_t MallocExtension_GetAllocatedSize(const void *p);
size_t MallocExtension_GetThreadCacheSize(void);

typedef enum {
    MallocExtension_kUnknownOwnership = 0,
    MallocExtension_kOwned = 1,
    MallocExtension_kNotOwned = 2
} MallocExtension_Ownership;

MallocExtension_Ownership MallocExtension_GetOwnership(const void *p);

#ifdef __cplusplus
}
#endif

#endif
