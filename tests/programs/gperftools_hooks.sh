#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' hooks: one program with gperftools' own library, and with ours, sampled and exact.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cxx_named tcmalloc "$root/tests/programs/gperftools_hooks.cc" -o hooks

hooks() { # NAME=VALUE...
    env "$@" ./hooks 2>&1
}
answers linked hooks
answers exact hooks MEMOIR=heap.rate:0
answers often hooks MEMOIR=heap.rate:100
for library in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$library" ] || continue
    answers own hooks LD_LIBRARY_PATH="$(dirname "$library")"
    cmp own linked || fail "other answers than gperftools'"
done

# libtcmalloc_minimal finds no callers, gperftools' own and ours.
cat >callers.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int MallocHook_AddNewHook(void (*hook)(const void *, size_t));
int MallocHook_GetCallerStackTrace(void **result, int max, int skip);
static int callers = -1;
static void hook(const void *p, size_t size)
{
    void *stack[5];
    callers = MallocHook_GetCallerStackTrace(stack, 5, 0);
}
int main(void)
{
    MallocHook_AddNewHook(hook);
    free(malloc(100));
    return printf("%s\n", callers == 0 ? "none" : callers > 0 ? "some" : "not called") < 0;
}
C
for name in tcmalloc tcmalloc_minimal tcmalloc_minimal_debug; do
    build callers.c -L"$names" -l"$name" -Wl,-rpath,"$names" -o callers
    case $name in *minimal*) wanted=none ;; *) wanted=some ;; esac
    [ "$(./callers)" = $wanted ] || fail "callers with lib$name: $(./callers), not $wanted"
done
finish
