#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What libc, libstdc++ and libgcc keep on purpose is no leak: the pool for exceptions, buffers of
# stdio, tables of the unwinder. In `leaks` and `check`; with and without symbols, linked statically
# or not. A block of the program's own is one, even if it is as large as the pool and even if a
# constructor allocates it before main.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need strip "$CXX"
settle

cat >clean.cc <<'C'
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>
int main()
{
    std::vector<std::string> texts(100, std::string(100, 'x'));
    std::cout << texts.size() << "\n";
    try { throw 1; } catch (int) {}
    return 0;
}
C
cat >own.cc <<'C'
#include <cstdlib>
#include <string>
void *volatile kept;
struct Before { Before() { kept = malloc(72704); } } before;
__attribute__((noinline)) void own_leak() { kept = malloc(72704); asm volatile(""); }
int main() { std::string text(100, 'x'); own_leak(); return text.size() != 100; }
C
for name in clean own; do
    "$CXX" -O1 "$name.cc" -o "$name.dynamic" || exit 2
    "$CXX" -O1 -static-libstdc++ -static-libgcc "$name.cc" -o "$name.mixed" || exit 2
    "$CXX" -O1 -static "$name.cc" -Wl,--undefined=malloc "$MEMOIR_STATIC" -o "$name.static" || exit 2
    strip -o "$name.stripped" "$name.dynamic"
    for way in dynamic mixed static stripped; do
        MEMOIR=heap.rate:0,capture:$name.$way.memoir preload "./$name.$way" >/dev/null
        "$MEMOIR_TOOL" leaks "$name.$way.memoir" -q >"$name.$way.txt"
        leaks=$?
        "$MEMOIR_TOOL" check "$name.$way.memoir" --no-leaks -q >"$name.$way.check"
        check=$?
        if [ "$name" = clean ] && [ "$leaks,$check" != 0,0 ]; then
            fail "$way: a clean program leaks: $(cat "$name.$way.txt" "$name.$way.check")"
        elif [ "$name" = own ] && [ "$leaks,$check" != 1,1 ]; then
            fail "$way: a leak of the program's own is hidden: $(cat "$name.$way.txt")"
        fi
    done
    # The emergency pool is in libstdc++ only where it is shared: two places, both the program's.
    [ "$name" = clean ] || grep -q '144 KiB at 2 sites' own.stripped.txt ||
        fail "stripped: $(cat own.stripped.txt)"
done
grep -q own_leak own.dynamic.txt || fail "the program's own leak is not named: $(cat own.dynamic.txt)"

# A function that leads stdio to its buffer and loses a block of its own: in `run` and `check` alike,
# whatever frames a view leaves out, the block is found.
cat >both.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void both(void)
{
    char line[100];
    FILE *file = fopen("both.c", "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL || fclose(file) != 0)
        exit(2);
    char *volatile lost = malloc(5000);
    lost = NULL;
}
int main(void)
{
    char wiped[4000];
    both();
    memset(wiped, 0, sizeof wiped);
    __asm__ volatile("" : : "r"(wiped) : "memory");
    return 0;
}
C
for debug in -g ''; do
    # shellcheck disable=SC2086 # none or one
    "$CC" -O1 $debug both.c -o both || exit 2
    "$MEMOIR_TOOL" run --leaks -o both.memoir ./both >both.txt 2>&1
    run=$?
    "$MEMOIR_TOOL" leaks both.memoir >both.leaks
    leaks=$?
    "$MEMOIR_TOOL" check both.memoir --no-leaks >both.check
    check=$?
    [ "$run,$leaks,$check" = 1,1,1 ] ||
        fail "both $debug: status $run, $leaks and $check: $(cat both.txt both.leaks both.check)"
    grep -q '5.00 KiB at 1 site' both.txt || fail "both $debug: $(cat both.txt)"
    ! grep -q suppressed both.txt || fail "both $debug: $(grep suppressed both.txt)"
done
finish
