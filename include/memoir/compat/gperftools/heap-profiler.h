/* SPDX-License-Identifier: MIT */
/*
 * gperftools' heap profiler, for programs that say #include <gperftools/heap-profiler.h>: compile
 * with -I.../include/memoir/compat. Every block from the start on is recorded.
 */
#ifndef BASE_HEAP_PROFILER_H_
#define BASE_HEAP_PROFILER_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins. Dumps are called PREFIX.0001.heap, PREFIX.0002.heap ... Nothing if it runs already. */
void HeapProfilerStart(const char *prefix);
/* Ends, without a dump. */
void HeapProfilerStop(void);
/* Writes the next file now; the reason is shown in the message about it. */
void HeapProfilerDump(const char *reason);
/* 1 or 0. */
int IsHeapProfilerRunning(void);
/* The profile as text, for free(); "" if it does not run. */
char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
