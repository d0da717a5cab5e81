#!/bin/sh
# SPDX-License-Identifier: MIT
# A plugin that is linked with libmemoir.a stays in memory when it is closed: signals and timers lead
# to it, with the library preloaded or not.
. "$(dirname "$0")/common.sh"
settle
echo '#include <stdlib.h>
void *plugin_take(size_t size) { return malloc(size); }' >plugin.c
${CC:-cc} -shared -fPIC plugin.c -o plugin.so "$MEMOIR_STATIC" -pthread -ldl || fail "no plugin"
build "$root/tests/programs/plugins_with_the_archive_stay.c" -o target -ldl
for preload in '' "$MEMOIR_LIB"; do
    for options in heap.rate:512K heap.rate:0,dump.exit:on,dump.prefix:d cpu:on,cpu.rate:1000,capture:c.memoir; do
        MEMOIR=$options LD_PRELOAD=$preload timeout 60 ./target ./plugin.so >out 2>&1
        got=$?
        [ $got -eq 0 ] && grep -qx ok out || fail "$options${preload:+, preloaded}: exit code $got: $(cat out)"
    done
done
finish
