#!/bin/sh
# SPDX-License-Identifier: MIT
# A forked child returns from dlclose although another thread of its parent was in the loader.
. "$(dirname "$0")/common.sh"
build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libstays.so"
build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libgoes.so"
build "$root/tests/programs/dlclose_in_forked_children.c" -o "$place/target"
expect 0 "$place/target" "$place/libstays.so" "$place/libgoes.so"
expect 0 preload "$place/target" "$place/libstays.so" "$place/libgoes.so"
finish
