/* SPDX-License-Identifier: MIT */
/*
 * gperftools' CPU profiler, for programs that say #include <gperftools/profiler.h>: compile with
 * -I.../include/memoir/compat, link with -L.../lib/memoir/compat -lprofiler, or preload
 * libmemoir.so.
 */
#ifndef BASE_PROFILER_H_
#define BASE_PROFILER_H_

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ProfilerOptions {
    /* Called in the signal handler: a thread for which it returns 0 is left out. May be NULL. */
    int (*filter_in_thread)(void *argument);
    void *filter_in_thread_arg;
};

struct ProfilerState {
    int enabled; /* whether a profile is being made */
    time_t start_time;
    char profile_name[1024];
    int samples_gathered;
};

/* Not 0: a profile is being made, into the file. */
int ProfilerStart(const char *path);
int ProfilerStartWithOptions(const char *path, const struct ProfilerOptions *options);
void ProfilerStop(void);
/* Writes what was gathered so far. */
void ProfilerFlush(void);
/* These two do nothing, in gperftools, too. */
void ProfilerEnable(void);
void ProfilerDisable(void);
int ProfilingIsEnabledForAllThreads(void);
void ProfilerRegisterThread(void);
void ProfilerGetCurrentState(struct ProfilerState *state);
/* The stack of the code that a signal interrupted; how many frames. */
int ProfilerGetStackTrace(void **result, int max_depth, int skip_count, const void *context);

#ifdef __cplusplus
}
#endif

#endif
