#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated timeout=600
# A signal handler allocates on top of malloc and free, at each of their instructions. What docs say
# is harmless is harmless, and all of it where each block is hardened, guarded or recorded; nothing
# hangs; and what may hand out a block twice does so with every other allocator that is installed
# here, as docs say, too.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/handlers_that_keep_blocks.c" -o "$place/program"

try() { # LIBRARY DEEDS
    LD_BIND_NOW=1 LD_PRELOAD=$1 MEMOIR=$mode "$place/program" "$2" >"$place/out"
    code=$?
    [ $code -ne 77 ] || skip "single steps are for x86-64"
    [ $code -eq 0 ] || fail "${1:-glibc}: exit code $code"
    harmful=$(awk '$4 > 0' "$place/out" | cut -d : -f 1 | tr '\n' ' ')
    echo "${1:-glibc}:"
    cat "$place/out"
}
try "$MEMOIR_LIB" 6
for deed in pair free; do
    grep -q "^$deed: harm at 0 " "$place/out" || fail "$deed does harm"
done
[ "$(grep -c 'hung at 0$' "$place/out")" -eq 6 ] || fail "it hangs"
given=$mode
for mode in harden:on guard:full debug:on heap.rate:0; do
    try "$MEMOIR_LIB" 5 # without "frees", which takes minutes
    [ "$(grep -c ': harm at 0 of .* hung at 0$' "$place/out")" -eq 5 ] || fail "$mode: $harmful"
done
mode=$given
for library in "" /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 \
    /usr/lib/*/libmimalloc.so.2*; do
    [ -z "$library" ] || [ -e "$library" ] || continue
    try "$library" 6
    [ -n "$harmful" ] || fail "${library:-glibc} does better than docs say"
done
finish
