#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' SysAllocator: one program with gperftools' own library, and with ours in each mode.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
names=$(dirname "$MEMOIR_LIB")/compat
"$CXX" -O1 -I"$root/include/memoir/compat" -fno-builtin "$root/tests/programs/gperftools_system_allocator.cc" -pthread \
    -o program -L"$names" -ltcmalloc -Wl,-rpath,"$names" || fail "it does not link with our library"

answers() { # NAME COMMAND...
    name=$1
    shift
    "$@" >"$name" 2>errors || fail "$name: exit code $?: $(tail -n 3 errors) $(tail -n 1 "$name")"
    [ -s "$name" ] || fail "$name: nothing was printed"
    ! grep NO "$name" || fail "$name: $(grep NO "$name")"
}
answers linked ./program
answers exact env MEMOIR=heap.rate:0 ./program
answers hardened env MEMOIR=harden:on ./program waits
for library in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$library" ] || continue
    answers own env LD_LIBRARY_PATH="$(dirname "$library")" ./program
    cmp own linked || fail "other answers than gperftools'"
done
finish
