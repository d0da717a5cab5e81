/* SPDX-License-Identifier: MIT */
/*
 * The functions of gperftools' CPU profiler, which memoir does not have yet: a program that was
 * linked with libtcmalloc_and_profiler, or looks them up by name, finds them, and the first call
 * that wants a profile prints one line. If libprofiler is in the process as well, all calls are
 * passed on to it. Not in the archive: it would replace a libprofiler that is linked in.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"

struct ProfilerOptions;
struct ProfilerState; /* an int, a time_t, 1024 bytes, an int: gperftools/profiler.h */

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

enum { STATE_SIZE = 2 * sizeof(long) + 1024 + 2 * sizeof(int) };

/* The function behind ours; NULL: there is none. */
#define NEXT(name) ((__typeof__(&name))next(#name))

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int refuse(void)
{
    static bool told;
    static const char text[] =
        "memoir: ProfilerStart: not served: memoir has no CPU profiler yet; preload gperftools' "
        "as well, LD_PRELOAD=\"libmemoir.so libprofiler.so.0\"\n";
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED) && !os_secure())
        message_write(text, sizeof text - 1);
    return 0;
}

EXPORT int ProfilerStart(const char *path)
{
    __typeof__(&ProfilerStart) start = NEXT(ProfilerStart);
    return start == NULL ? refuse() : start(path);
}

EXPORT int ProfilerStartWithOptions(const char *path, const struct ProfilerOptions *options)
{
    __typeof__(&ProfilerStartWithOptions) start = NEXT(ProfilerStartWithOptions);
    return start == NULL ? refuse() : start(path, options);
}

/* Calls of no argument and no result: without a profiler there is nothing to do. */
#define PASS_ON(name)                              \
    EXPORT void name(void)                         \
    {                                              \
        __typeof__(&(name)) function = NEXT(name); \
        if (function != NULL)                      \
            function();                            \
    }
PASS_ON(ProfilerStop)
PASS_ON(ProfilerFlush)
PASS_ON(ProfilerEnable)
PASS_ON(ProfilerDisable)
PASS_ON(ProfilerRegisterThread)

EXPORT int ProfilingIsEnabledForAllThreads(void)
{
    __typeof__(&ProfilingIsEnabledForAllThreads) ask = NEXT(ProfilingIsEnabledForAllThreads);
    return ask == NULL ? 0 : ask();
}

EXPORT void ProfilerGetCurrentState(struct ProfilerState *state)
{
    __typeof__(&ProfilerGetCurrentState) get = NEXT(ProfilerGetCurrentState);
    if (get != NULL)
        get(state);
    else
        memset(state, 0, STATE_SIZE);
}

EXPORT int ProfilerGetStackTrace(void **result, int depth_max, int skip, const void *context)
{
    __typeof__(&ProfilerGetStackTrace) walk = NEXT(ProfilerGetStackTrace);
    return walk == NULL ? 0 : walk(result, depth_max, skip, context);
}
