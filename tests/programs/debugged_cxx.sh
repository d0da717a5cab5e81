#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A C++ program with gperftools' debug allocator: reports have the names that a programmer writes;
# MallocExtension's ranges and growth stacks have guarded blocks, too, live and freed.
. "$(dirname "$0")/common.sh"
settle
ulimit -c 0
cxx_named tcmalloc_debug "$root/tests/programs/debugged_cxx.cc" -O1 -o user
answers out env MEMOIR=debug:on ./user
answers out env MEMOIR=guard:full ./user
MEMOIR=debug:on ./user wrong >out 2>said && fail "a free of new[] was not found"
for name in 'app::box<int>::drop(int\*)' 'app::box<int>::make(std::.*string'; do
    grep -q "^    #0 0x[0-9a-f]* $name" said || fail "no frame '$name': $(cat said)"
done
! grep -q 'was left' said || fail "the demangler's own calls are taken for those of a handler: $(head -1 said)"
MEMOIR=debug:on,debug.names:off ./user wrong >out 2>said
! grep -q 'box' said || fail "names, which were not wanted: $(cat said)"
finish
