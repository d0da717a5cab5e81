#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules of jemalloc's functions, in one program, with jemalloc's own library and with ours; and options
# that choose what realloc(p, 0) and operator new do.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
names=$(dirname "$MEMOIR_LIB")/compat
build -I"$root/include" "$root/tests/programs/jemalloc_contract.c" -fno-builtin -o contract \
    -L"$names" -ljemalloc -Wl,-rpath,"$names"

holds() { # NAME COMMAND...
    name=$1
    shift
    "$@" >out 2>&1 || fail "$name: exit code $?: $(cat out)"
    [ "$(tail -n 1 out)" = "all holds" ] || fail "$name: $(cat out)"
}
for library in /usr/lib/*/libjemalloc.so.2; do
    [ ! -e "$library" ] || holds "jemalloc's own" env LD_LIBRARY_PATH="$(dirname "$library")" ./contract
done
holds linked ./contract
holds preloaded env MALLOC_CONF=narenas:1 LD_PRELOAD="$MEMOIR_LIB" ./contract
holds exact env MALLOC_CONF=narenas:1 MEMOIR=heap.rate:0 LD_PRELOAD="$MEMOIR_LIB" ./contract

cat >zero.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) { void *p = realloc(malloc(100), 0); puts(p == NULL ? "freed" : "kept"); free(p); return 0; }
END
build zero.c -fno-builtin -o zero
said() { # CONF TEXT
    MALLOC_CONF=$1 preload ./zero >out 2>errors
    grep -q "$2" out errors || fail "$1: $(cat out errors)"
}
said zero_realloc:free freed
said zero_realloc:alloc kept
said zero_realloc:abort 'zero_realloc:abort is set'
finish
