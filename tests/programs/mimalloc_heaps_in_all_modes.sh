#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Blocks with an owner while all are recorded, while many are, and while none is, and while they are
# guarded, debugged and hardened; and what a profile says of them: those of a destroyed heap are freed,
# those of a deleted one live.
. "$(dirname "$0")/common.sh"
settle
build -I"$root" -I"$root/include" -I"$root/include/memoir/compat" -pthread -fno-builtin -Wno-unused-result \
    "$root/tests/api/mimalloc_heaps.c" -o heaps 2>/dev/null || exit 2
for options in heap.rate:0 heap.rate:1000 heap:off recorder:run.recorder,heap.rate:0; do
    rm -f run.recorder*
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./heaps >out 2>&1 || fail "$options: $(tail -n 5 out)"
done
for options in guard:full debug:on guard:full,debug:on; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./heaps guarded >out 2>&1 || fail "$options: $(tail -n 5 out)"
    quiet out
done
MEMOIR=harden:on LD_PRELOAD=$MEMOIR_LIB ./heaps hardened >out 2>&1 || fail "hardened: $(tail -n 5 out)"
MEMOIR=guard:sampled,guard.rate:1,heap.rate:1000 LD_PRELOAD=$MEMOIR_LIB ./heaps sampled >out 2>&1 ||
    fail "sampled: $(tail -n 5 out)"
quiet out

build -x c -I"$root/include/memoir/compat" -fno-builtin - -o user <<'END'
#include <mimalloc.h>
#pragma weak mi_heap_new
#pragma weak mi_heap_malloc
#pragma weak mi_heap_destroy
#pragma weak mi_heap_delete
__attribute__((noinline)) void stays(mi_heap_t *heap) { for (int i = 0; i < 100; i++) (void)!mi_heap_malloc(heap, 1000); __asm__ volatile(""); }
__attribute__((noinline)) void goes(mi_heap_t *heap) { for (int i = 0; i < 100; i++) (void)!mi_heap_malloc(heap, 2000); __asm__ volatile(""); }
int main(void)
{
    mi_heap_t *kept = mi_heap_new(), *gone = mi_heap_new();
    stays(kept);
    goes(gone);
    mi_heap_delete(kept);
    mi_heap_destroy(gone);
    return 0;
}
END
"$MEMOIR_TOOL" run --exact --no-summary --lib "$MEMOIR_LIB" -o run.memoir ./user 2>err || fail "run: $(cat err)"
"$MEMOIR_TOOL" top run.memoir --metric inuse_space --json >live 2>err || fail "top: $(cat err)"
"$MEMOIR_TOOL" top run.memoir --metric alloc_space --json >all 2>err || fail "top: $(cat err)"
grep -q '"stays"' live || fail "blocks of a deleted heap do not live"
! grep -q '"goes"' live || fail "blocks of a destroyed heap live"
grep -q '"goes"' all || fail "blocks of a destroyed heap were never allocated"
! grep -q '"mi_heap_malloc"' all || fail "the stacks begin inside of the library"
finish
