/* SPDX-License-Identifier: MIT */
/* gperftools' MallocExtension in its C form, which its C++ form stands on. */
#ifndef GPERFTOOLS_MALLOC_EXTENSION_H
#define GPERFTOOLS_MALLOC_EXTENSION_H

#include <stddef.h>

enum ownership { OWNERSHIP_UNKNOWN, OWNERSHIP_OURS, OWNERSHIP_OTHERS };
enum { MALLOC_HISTOGRAM_SIZE = 64 };

int MallocExtension_VerifyAllMemory(void);
int MallocExtension_VerifyNewMemory(const void *p);
int MallocExtension_VerifyArrayNewMemory(const void *p);
int MallocExtension_VerifyMallocMemory(const void *p);
int MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
                                      int histogram[MALLOC_HISTOGRAM_SIZE]);
void MallocExtension_GetStats(char *buffer, int length);
int MallocExtension_GetNumericProperty(const char *name, size_t *value);
int MallocExtension_SetNumericProperty(const char *name, size_t value);
void MallocExtension_MarkThreadIdle(void);
void MallocExtension_MarkThreadBusy(void);
void MallocExtension_MarkThreadTemporarilyIdle(void);
void MallocExtension_ReleaseToSystem(size_t bytes);
void MallocExtension_ReleaseFreeMemory(void);
void MallocExtension_SetMemoryReleaseRate(double rate);
double MallocExtension_GetMemoryReleaseRate(void);
size_t MallocExtension_GetEstimatedAllocatedSize(size_t size);
size_t MallocExtension_GetAllocatedSize(const void *p);
size_t MallocExtension_GetThreadCacheSize(void);
enum ownership MallocExtension_GetOwnership(const void *p);

#endif
