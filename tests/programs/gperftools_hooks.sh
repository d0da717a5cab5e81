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
finish
