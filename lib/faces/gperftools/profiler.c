/* SPDX-License-Identifier: MIT */
/*
 * The functions of gperftools' CPU profiler and of its stack walker, by the names that C and C++
 * programs know them by. Not in the archive: they would replace those of a libprofiler that is
 * linked in.
 */
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "lib/api/api.h"
#include "lib/cpu/cpu.h"
#include "lib/faces/gperftools/cpuprofile.h"
#include "lib/watch/watch.h"

/* As in gperftools/profiler.h. */
struct ProfilerOptions {
    int (*filter_in_thread)(void *argument);
    void *filter_in_thread_arg;
};

struct ProfilerState {
    int enabled;
    time_t start_time;
    char profile_name[CPUPROFILE_NAME_SIZE];
    int samples_gathered;
};

int ProfilerStart(const char *path);
int ProfilerStartWithOptions(const char *path, const struct ProfilerOptions *options);
void ProfilerStop(void);
void ProfilerFlush(void);
void ProfilerEnable(void);
void ProfilerDisable(void);
int ProfilingIsEnabledForAllThreads(void);
void ProfilerRegisterThread(void);
void ProfilerGetCurrentState(struct ProfilerState *state);
int ProfilerGetStackTrace(void **result, int depth_max, int skip, const void *context);

/* In libprofiler.so alone: libmemoir's function of that name, or NULL. */
extern HIDDEN void *profiler_next(const char *name) __attribute__((weak));
#define NEXT(name) ((__typeof__(&(name)))next(#name))

static void *next(const char *name);

EXPORT int ProfilerStart(const char *path)
{
    __typeof__(&ProfilerStart) start = NEXT(ProfilerStart);
    return start != NULL ? start(path) : cpuprofile_start(path, NULL, NULL);
}

EXPORT int ProfilerStartWithOptions(const char *path, const struct ProfilerOptions *options)
{
    __typeof__(&ProfilerStartWithOptions) start = NEXT(ProfilerStartWithOptions);
    if (start != NULL)
        return start(path, options);
    return options == NULL
               ? cpuprofile_start(path, NULL, NULL)
               : cpuprofile_start(path, options->filter_in_thread, options->filter_in_thread_arg);
}

EXPORT void ProfilerStop(void)
{
    __typeof__(&ProfilerStop) stop = NEXT(ProfilerStop);
    if (stop != NULL)
        stop();
    else
        cpuprofile_stop();
}

EXPORT void ProfilerFlush(void)
{
    __typeof__(&ProfilerFlush) flush = NEXT(ProfilerFlush);
    if (flush != NULL)
        flush();
    else
        cpuprofile_flush();
}

EXPORT void ProfilerEnable(void)
{
}

EXPORT void ProfilerDisable(void)
{
}

EXPORT int ProfilingIsEnabledForAllThreads(void)
{
    __typeof__(&ProfilingIsEnabledForAllThreads) is = NEXT(ProfilingIsEnabledForAllThreads);
    return is != NULL ? is() : cpuprofile_runs();
}

/* Every thread has a clock without it. */
EXPORT void ProfilerRegisterThread(void)
{
}

EXPORT void ProfilerGetCurrentState(struct ProfilerState *state)
{
    __typeof__(&ProfilerGetCurrentState) get = NEXT(ProfilerGetCurrentState);
    struct cpuprofile_state now;
    if (get != NULL) {
        get(state);
        return;
    }
    cpuprofile_state(&now);
    memset(state, 0, sizeof *state);
    state->enabled = now.runs;
    state->start_time = (time_t)now.start_s;
    state->samples_gathered = (int)now.samples;
    memcpy(state->profile_name, now.name, sizeof state->profile_name);
    /* gperftools' own test takes the number of samples, whose address stands behind the name, for a
     * clock. An int there: the low half. */
    const uint64_t *ticks = samples_count();
    size_t end = strnlen(state->profile_name, sizeof state->profile_name) + 1;
    if (end + sizeof ticks <= sizeof state->profile_name)
        memcpy(state->profile_name + end, &ticks, sizeof ticks);
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Leaf first, without the first `skip`. The address that a signal interrupted is the exact one. */
static int frames_copy(const struct walk *walk, bool interrupted, void **result, int *sizes,
                       int depth_max, int skip)
{
    int count = 0;
    for (int i = (int)walk->count - 1 - skip; i >= 0 && count < depth_max; i--, count++) {
        bool leaf = interrupted && i == (int)walk->count - 1;
        result[count] = (void *)(walk->pcs[i] - leaf); /* NOLINT(performance-no-int-to-ptr) */
        if (sizes != NULL)
            sizes[count] = 0;
    }
    return count;
}

static int stack_get(const struct caller *caller, const void *context, void **result, int *sizes,
                     int depth_max, int skip)
{
    static const struct own_stack nothing;
    struct walk *walk = depth_max > 0 && skip >= 0 ? walks_take(WALKS_UNOWNED, &nothing) : NULL;
    if (walk == NULL)
        return 0;
    if (context != NULL)
        unwind_context(walk, context, WALK_MAX);
    else
        unwind(walk, caller, WALK_MAX);
    /* As in gperftools: callers skip the frames of their signal handler, which a walk from the
     * context does not have. */
    int skipped = context != NULL ? 0 : skip;
    int count = frames_copy(walk, context != NULL, result, sizes, depth_max, skipped);
    walks_give(walk);
    return count;
}

EXPORT int ProfilerGetStackTrace(void **result, int depth_max, int skip, const void *context)
{
    struct caller caller = CALLER_HERE;
    return stack_get(&caller, context, result, NULL, depth_max, skip);
}

#define CXX_NAME(mangled) __asm__(mangled) EXPORT

int stack_trace(void **result, int depth_max, int skip) CXX_NAME("_Z13GetStackTracePPvii");
int stack_trace_with(void **result, int depth_max, int skip, const void *context)
    CXX_NAME("_Z24GetStackTraceWithContextPPviiPKv");
int stack_frames(void **result, int *sizes, int depth_max, int skip)
    CXX_NAME("_Z14GetStackFramesPPvPiii");
int stack_frames_with(void **result, int *sizes, int depth_max, int skip, const void *context)
    CXX_NAME("_Z25GetStackFramesWithContextPPvPiiiPKv");

int stack_trace(void **result, int depth_max, int skip)
{
    struct caller caller = CALLER_HERE;
    return stack_get(&caller, NULL, result, NULL, depth_max, skip);
}

int stack_trace_with(void **result, int depth_max, int skip, const void *context)
{
    struct caller caller = CALLER_HERE;
    return stack_get(&caller, context, result, NULL, depth_max, skip);
}

int stack_frames(void **result, int *sizes, int depth_max, int skip)
{
    struct caller caller = CALLER_HERE;
    return stack_get(&caller, NULL, result, sizes, depth_max, skip);
}

int stack_frames_with(void **result, int *sizes, int depth_max, int skip, const void *context)
{
    struct caller caller = CALLER_HERE;
    return stack_get(&caller, context, result, sizes, depth_max, skip);
}

static void *next(const char *name)
{
    return profiler_next == NULL ? NULL : profiler_next(name);
}
