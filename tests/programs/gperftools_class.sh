#!/bin/sh
# SPDX-License-Identifier: MIT
# gperftools' C++ class: one program gets the same answers from gperftools' own library, preloaded
# memoir, and memoir under the name libtcmalloc. Where gperftools is installed, the program is linked
# with its library.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
headers=$root/include/memoir/compat
own=
for library in /usr/lib/*/libtcmalloc.so.4; do [ ! -e "$library" ] || own=$library; done
export TCMALLOC_SAMPLE_PARAMETER=4096

cxx_named tcmalloc "$root/tests/programs/gperftools_class.cc" -o ours
cxx_named tcmalloc -no-pie -fno-pie "$root/tests/programs/gperftools_class.cc" -o fixed
answers linked ./ours
answers copied ./fixed
if [ -n "$own" ]; then
    "$CXX" -I"$headers" -fno-builtin "$root/tests/programs/gperftools_class.cc" -o theirs "$own" ||
        fail "it does not link with $own"
    answers own ./theirs
    answers preloaded preload ./theirs
    answers named env LD_LIBRARY_PATH="$names" ./theirs
    for other in preloaded named linked copied; do
        cmp own $other || fail "other answers than gperftools'"
    done
fi
finish
