#!/bin/sh
# SPDX-License-Identifier: MIT
# Users' libraries loaded and unloaded in a loop, with the library preloaded and with it linked.
. "$(dirname "$0")/common.sh"

build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libuser.so"
build "$root/tests/programs/dlopen_and_dlclose.c" -o "$place/preloaded"
build "$root/tests/programs/dlopen_and_dlclose.c" -o "$place/linked" -Wl,--no-as-needed "$MEMOIR_LIB" \
    -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
expect 0 preload "$place/preloaded" "$place/libuser.so"
expect 0 "$place/linked" "$place/libuser.so"
finish
