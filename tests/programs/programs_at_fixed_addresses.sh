#!/bin/sh
# SPDX-License-Identifier: MIT
# A program at a fixed address that takes malloc's (Debian's python3 is one): the name malloc leads to a stub in
# that program. Its blocks are ours in every mode: it is profiled, and its leaks are found.
. "$(dirname "$0")/common.sh"
settle
cat >program.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *(*volatile take)(size_t);
static void *volatile lost;
int main(void)
{
    take = malloc; /* as code: the linker makes a stub, and the loader takes that for malloc */
    int (*owner)(const void *) = (int (*)(const void *))dlsym(RTLD_DEFAULT, "MallocExtension_GetOwnership");
    void *block = take(100);
    int owned = owner == NULL ? -1 : owner(block);
    Dl_info info;
    int stub = dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0 && info.dli_fbase == (void *)0x400000;
    free(block);
    lost = take(4711);
    lost = NULL;
    return printf("%d %d\n", stub, owned) < 0;
}
C
build -fno-pie -no-pie program.c -o program
for option in heap:on heap.rate:0 guard:full debug:on harden:on guard:full,guard.front:on; do
    rm -f rec.memoir
    got=$(MEMOIR=capture:rec.memoir,$option preload ./program 2>err) || fail "$option: status $?"
    case $got in
    '0 '*) skip "this linker makes no stub for malloc" ;;
    '1 1') ;;
    *) fail "$option: the owner of a block is ${got#* }" ;;
    esac
    [ ! -s err ] || fail "$option: on standard error: $(cat err)"
    [ -s rec.memoir ] || fail "$option: no recording"
    code=0
    MEMOIR=leak.lsan:on,$option preload ./program >out 2>err || code=$?
    [ $code -eq 23 ] || fail "$option: leak.lsan ends with $code, not 23: $(cat err)"
    grep -q '4711 byte(s) in 1 object(s)' err || fail "$option: the lost block is not found: $(cat err)"
done
finish
