#!/bin/sh
# SPDX-License-Identifier: MIT
# A program is linked with a libjemalloc and preloads memoir: where that library is later than 5.3.0, bad names
# of threads are EINVAL and the message of experimental_infallible_new tells the size, as in that release; else
# they are EFAULT, and it does not.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >version.c <<'C'
#include <stddef.h>
#include <string.h>
int mallctl(const char *name, void *old, size_t *length, void *new, size_t size);
int mallctl(const char *name, void *old, size_t *length, void *new, size_t size)
{
    (void)length, (void)new, (void)size;
    if (strcmp(name, "version") != 0)
        return 99;
    *(const char **)old = VERSION;
    return 0;
}
C
cat >program.cc <<'C'
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
extern "C" int mallctl(const char *name, void *old, size_t *length, void *value, size_t size);
static char told[200];
static void note(const char *message)
{
    snprintf(told, sizeof told, "%.29s", message);
}
int main()
{
    void (*hook)(const char *) = note;
    const char *bad = "two\nlines";
    volatile size_t much = SIZE_MAX / 4;
    int name = mallctl("thread.prof.name", nullptr, nullptr, &bad, sizeof bad);
    mallctl("experimental.hooks.safety_check_abort", nullptr, nullptr, &hook, sizeof hook);
    void *volatile block = ::operator new(much);
    printf("%d %s %d\n", name, told, block == nullptr);
}
C
for version in 5.3.0 5.3.1; do
    mkdir -p $version
    $CC -shared -fPIC -DVERSION="\"$version-0-gtest\"" version.c -o $version/libjemalloc.so.2 -Wl,-soname,libjemalloc.so.2 || exit 2
    $CXX -O0 program.cc -o $version/program $version/libjemalloc.so.2 -Wl,-rpath,"$place/$version" || exit 2
    MALLOC_CONF=experimental_infallible_new:true LD_PRELOAD="$MEMOIR_LIB" $version/program >$version/out 2>&1 || fail "$version: exit $?: $(cat $version/out)"
done
[ "$(cat 5.3.0/out)" = "14 <jemalloc>: Allocation failed 1" ] || fail "5.3.0: $(cat 5.3.0/out)"
[ "$(cat 5.3.1/out)" = "22 <jemalloc>: Allocation of siz 1" ] || fail "5.3.1: $(cat 5.3.1/out)"
finish
