#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' SysAllocator: one program with gperftools' own library, and with ours in each mode.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cxx_named tcmalloc -O1 "$root/tests/programs/gperftools_system_allocator.cc" -o program
answers linked ./program
answers exact env MEMOIR=heap.rate:0 ./program
answers hardened env MEMOIR=harden:on ./program waits
for library in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$library" ] || continue
    answers own env LD_LIBRARY_PATH="$(dirname "$library")" ./program
    cmp own linked || fail "other answers than gperftools'"
done
finish
