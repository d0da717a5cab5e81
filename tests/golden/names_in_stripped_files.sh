#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The symbol table that distributions put back into stripped programs (MiniDebugInfo): all functions
# have their names, those that are exported too; a damaged one has no names, and does no harm.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need objcopy strip nm xz
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >work.c <<'C'
#include <stdlib.h>
void *kept[4];
static __attribute__((noinline)) void padding(void) { __asm__ volatile("nop"); }
static __attribute__((noinline)) void padding2(void) { __asm__ volatile("nop;nop"); }
static __attribute__((noinline)) void padding3(void) { __asm__ volatile("nop;nop;nop"); }
static __attribute__((noinline)) void hidden(void) { kept[0] = malloc(10000); padding(); }
__attribute__((visibility("default"))) void shown(void) { kept[1] = malloc(20000); hidden(); padding2(); padding3(); }
int main(void) { shown(); return 0; }
C
build -rdynamic work.c -o full
nm -D full --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
nm full --format=posix --defined-only | awk '$2 == "T" || $2 == "t" || $2 == "D" { print $1 }' | sort >all
comm -13 dynamic all >keep
objcopy --only-keep-debug full debug
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep debug mini 2>err || fail "$(cat err)"
xz -k mini
strip --strip-all -R .comment full -o bare
objcopy --add-section .gnu_debugdata=mini.xz bare work
"$MEMOIR_TOOL" run --exact -o run.memoir ./work >/dev/null 2>&1 || fail "run: $?"
functions() { # FLAGS...
    "$MEMOIR_TOOL" traces run.memoir --frames all --csv --no-cache "$@" | tr ',' '\n' | sort -u
}
for name in hidden shown main; do
    functions | grep -qx "$name" || fail "no $name: $(functions)"
done
"$MEMOIR_TOOL" symbols run.memoir --no-cache >said
grep -Eq '^ +[0-9]+/[0-9]+ +functions +[0-9a-f]{8} +work ' said || fail "symbols: $(cat said)"
"$MEMOIR_TOOL" disasm run.memoir hidden >said 2>err || fail "disasm: $(cat err)"
"$MEMOIR_TOOL" doctor ./work >said
grep -q 'it has a symbol table' said || fail "doctor: $(cat said)"
# The control: without it the function has no name of its own.
cp work kept && cp bare work
functions | grep -qx hidden && fail "control: a name from nowhere"
# Damage: another byte in each part of it.
size=$(wc -c <mini.xz)
for part in 0 7 20 50 90 99; do
    cp mini.xz wrong.xz
    printf '\377' | dd of=wrong.xz bs=1 seek=$((size * part / 100)) conv=notrunc 2>/dev/null
    cp bare work && objcopy --add-section .gnu_debugdata=wrong.xz work 2>err
    functions >said || fail "damage at $part %: status $?"
done
head -c $((size / 2)) mini.xz >wrong.xz
cp bare work && objcopy --add-section .gnu_debugdata=wrong.xz work
functions | grep -qx hidden && fail "half of it has names"
# What unpacks to more than any symbol table is left alone.
head -c 300000000 /dev/zero | xz -1 >wrong.xz
cp bare work && objcopy --add-section .gnu_debugdata=wrong.xz work
functions >said || fail "too large: status $?"
finish
