#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' hooks: one program with gperftools' own library, and with ours, sampled and exact.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
names=$(dirname "$MEMOIR_LIB")/compat
"$CXX" -I"$root/include/memoir/compat" -fno-builtin "$root/tests/programs/gperftools_hooks.cc" -pthread -o hooks \
    -L"$names" -ltcmalloc -Wl,-rpath,"$names" || fail "it does not link with our library"

answers() { # NAME COMMAND...
    name=$1
    shift
    "$@" 2>"$name" || fail "$name: exit code $?: $(tail -n 3 "$name")"
    [ -s "$name" ] || fail "$name: nothing was printed"
    ! grep NO "$name" || fail "$name: $(grep NO "$name")"
}
answers linked ./hooks
answers exact env MEMOIR=heap.rate:0 ./hooks
answers often env MEMOIR=heap.rate:100 ./hooks
for library in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$library" ] || continue
    answers own env LD_LIBRARY_PATH="$(dirname "$library")" ./hooks
    cmp own linked || fail "other answers than gperftools'"
done
finish
