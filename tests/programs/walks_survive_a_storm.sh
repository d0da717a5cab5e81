#!/bin/sh
# SPDX-License-Identifier: MIT
# Walks in a signal handler, thousands a second, while threads throw exceptions and libraries come
# and go: see walks_survive_a_storm.cc. MEMOIR_STORM_SECONDS makes it longer.
. "$(dirname "$0")/common.sh"

cd "$place" || exit 2
command -v "$CXX" >/dev/null 2>&1 || skip "there is no C++ compiler"
storm_library
for file in lib/watch/unwind lib/watch/rules lib/watch/own_stack lib/watch/code base/call base/cfi base/cfi_expression \
    base/object base/loaded base/os base/os_clock base/os_thread base/os_memory base/confine base/alternate; do
    build -O2 -c "$root/$file.c" -o "$(basename $file).o"
done
"$CXX" -std=c++17 -O2 -g -w -I"$root" "$root/tests/programs/walks_survive_a_storm.cc" ./*.o \
    -pthread -ldl -lrt -o storm || exit 2
expect 0 ./storm ./library.so "${MEMOIR_STORM_SECONDS:-3}"
finish
