#!/bin/sh
# SPDX-License-Identifier: MIT
# The library itself, loaded late by a program that was started without it: its thread-local memory
# fits into what the loader keeps spare, its neighbours' do too, and dlclose does not take it away.
. "$(dirname "$0")/common.sh"

build "$root/tests/programs/dlopen_of_the_library.c" -o "$place/program"
expect 0 "$place/program" "$MEMOIR_LIB"

# The spare room is 512 bytes; DF_STATIC_TLS memory of the library has to leave most of it to
# others.
need readelf
bytes=$(printf '%d' "$(readelf -lW "$MEMOIR_LIB" | awk '$1 == "TLS" { print $6 }')")
[ "$bytes" -le 256 ] || fail "thread-local memory of the library: $bytes bytes, more than 256"
readelf -dW "$MEMOIR_LIB" | grep -q NODELETE || fail "the library is not marked NODELETE"
finish
