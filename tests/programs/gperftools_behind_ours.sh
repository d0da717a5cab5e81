#!/bin/sh
# SPDX-License-Identifier: MIT
# A program is linked with a library of gperftools' and preloads memoir: tc_version is that library's, one
# with the debug allocator's flags turns debugging on, one without a heap profiler has no stacks in hooks,
# and the number of CPU samples stands behind the name of the profile.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >version.c <<'C'
const char *tc_version(int *major, int *minor, const char **patch);
const char *tc_version(int *major, int *minor, const char **patch)
{
    *major = 2;
    *minor = 99;
    *patch = ".7";
    return "gperftools 2.99.7";
}
#ifdef FULL
int IsHeapProfilerRunning(void);
int IsHeapProfilerRunning(void)
{
    return 0;
}
#endif
#ifdef FENCE
char fence __asm__("_ZN60FLAG__namespace_do_not_use_directly_use_DECLARE_bool_instead23FLAGS_malloc_page_fenceE");
char fence;
#endif
C
cat >program.c <<'C'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char *tc_version(int *major, int *minor, const char **patch);
int MallocHook_AddNewHook(void (*)(const void *, size_t)) __attribute__((weak));
int MallocHook_RemoveNewHook(void (*)(const void *, size_t)) __attribute__((weak));
int MallocHook_GetCallerStackTrace(void **, int, int) __attribute__((weak));
static int calls, frames;
static void hook(const void *block, size_t size)
{
    void *stack[8];
    calls++;
    frames = MallocHook_GetCallerStackTrace(stack, 8, 0);
}
int main(void)
{
    int major, minor;
    const char *patch, *name = tc_version(&major, &minor, &patch);
    MallocHook_AddNewHook(hook);
    void *volatile block = malloc(100);
    MallocHook_RemoveNewHook(hook);
    printf("%s %d %d %s usable %zu calls %d frames %d\n", name, major, minor, patch, malloc_usable_size(block),
           calls, frames > 0);
    return 0;
}
C
cat >ticks.c <<'C'
#include <stdio.h>
#include <string.h>
#include <time.h>
struct state { int enabled; time_t start; char name[1024]; int samples; };
int ProfilerStart(const char *) __attribute__((weak));
void ProfilerStop(void) __attribute__((weak));
void ProfilerGetCurrentState(struct state *) __attribute__((weak));
int main(void)
{
    struct state state;
    int volatile *ticks;
    ProfilerStart("ticks.prof");
    ProfilerGetCurrentState(&state);
    memcpy(&ticks, state.name + strlen(state.name) + 1, sizeof ticks);
    for (int first = *ticks; *ticks < first + 5;) { }
    printf("ticks\n");
    ProfilerStop();
    return 0;
}
C
# answer OPTIONS EXPECTED
answer() {
    mkdir -p "lib$1" && "$CC" -shared -fPIC $1 version.c -o "lib$1/libtcmalloc_version.so" || fail "no library"
    "$CC" -fno-builtin program.c -o "program$1" -Llib"$1" -ltcmalloc_version -Wl,-rpath,"$place/lib$1" || fail "no program"
    got=$(LD_PRELOAD=$MEMOIR_LIB "./program$1" 2>&1)
    [ "$got" = "$2" ] || fail "$1: $got"
}
answer -DMINIMAL 'gperftools 2.99.7 2 99 .7 usable 112 calls 1 frames 0'
answer -DFULL 'gperftools 2.99.7 2 99 .7 usable 112 calls 1 frames 1'
answer '-DFENCE -DFULL' 'gperftools 2.99.7 2 99 .7 usable 100 calls 1 frames 1'
"$CC" ticks.c -o ticks && [ "$(LD_PRELOAD=$MEMOIR_LIB timeout 60 ./ticks 2>/dev/null)" = ticks ] ||
    fail "no samples are counted behind the name"
finish
