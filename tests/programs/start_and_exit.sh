#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The heap works from the preinit array to the last destructor, whichever way the library came in
# (preloaded, linked, static, static-pie) and whichever way the process ends. The bare program says
# what is right.
. "$(dirname "$0")/common.sh"

source=$root/tests/programs/start_and_exit.c
build "$source" -o "$place/bare"
build "$source" -o "$place/linked" -Wl,--no-as-needed "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
build -static "$source" "$MEMOIR_STATIC" -o "$place/static"
build -static-pie -fPIE "$source" "$MEMOIR_STATIC" -o "$place/static_pie"
build -Wl,-z,now "$source" "$MEMOIR_STATIC" -o "$place/archive"
build -no-pie -fno-pie "$source" -Wl,--no-as-needed "$MEMOIR_LIB" \
    -Wl,-rpath,"$(dirname "$MEMOIR_LIB")" -o "$place/no_pie"
ulimit -c 0

for ending in return exit _exit quick_exit thread pthread_exit abort noise; do
    "$place/bare" "$ending" >"$place/wanted" 2>&1
    wanted=$?
    for way in preloaded linked static static_pie archive no_pie; do
        case $way in
        preloaded) preload "$place/bare" "$ending" >"$place/got" 2>&1 ;;
        *) MEMOIR=$mode "$place/$way" "$ending" >"$place/got" 2>&1 ;;
        esac
        got=$?
        [ "$got" -eq "$wanted" ] || fail "$way, $ending: exit code $got, not $wanted"
        cmp -s "$place/wanted" "$place/got" ||
            fail "$way, $ending: \"$(head -n 3 "$place/got")\", not \"$(head -n 3 "$place/wanted")\""
    done
done
# The bare program must have been through all stations, or equality says nothing.
"$place/bare" return 2>&1 | grep -qx 'return pcdmwxyz' ||
    fail "the stations of the bare program: $("$place/bare" return 2>&1)"
finish
