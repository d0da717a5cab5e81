#!/bin/sh
# SPDX-License-Identifier: MIT
# A scan that could not stop all threads says so, once: in a static program those that block signals.
set -eu
cc=${CC:-cc}
source=$MEMOIR_ROOT/tests/programs/leaks_name_deaf_threads.c
$cc -g -O1 -I"$MEMOIR_ROOT" -static "$source" -o static "$MEMOIR_STATIC" -pthread -ldl -lm 2>warnings ||
    { echo "skipped: no static libc"; exit 77; }
$cc -g -O1 -I"$MEMOIR_ROOT" "$source" -o linked -L"$(dirname "$MEMOIR_LIB")" \
    -Wl,-rpath,"$(dirname "$MEMOIR_LIB")" -lmemoir -pthread
failed=0

lines() { # COUNT MODE COMMAND...: that number of lines about threads
    wanted=$1 mode=$2
    shift 2
    env "$mode" HEAP_CHECK_DUMP_DIRECTORY="$PWD" "$@" >out 2>err && { echo "$mode $*: nothing lost"; failed=1; }
    got=$(grep -c '^memoir: 3 of 4 threads did not answer the scan: blocks that only' err || true)
    [ "$got" = "$wanted" ] || { echo "$mode $*: $got lines, not $wanted"; cat err; failed=1; }
}
for mode in HEAPCHECK=normal MEMOIR=leak.lsan:on; do
    lines 1 "$mode" ./static deaf
    lines 0 "$mode" ./static
    lines 0 "$mode" ./linked deaf # libc's own signal reaches these
done
"$MEMOIR_TOOL" run --leaks ./static deaf >out 2>&1 && failed=1
[ "$(grep -c '^3 of 4 threads did not answer' out)" = 1 ] || { cat out; failed=1; }
exit $failed
