#!/bin/sh
# SPDX-License-Identifier: MIT
# A set-uid, set-gid or file-capability program obeys no variable, file or socket: MEMOIR,
# MALLOC_CONF, HEAPPROFILE and variables that are not served change nothing and print nothing there.
# The same program without the bit shows that the
# options would have done something.
. "$(dirname "$0")/common.sh"
[ "$(id -u)" -eq 0 ] || skip "needs root to make set-uid programs"
need stat

# The folder must be one where the bits count.
open_place
source=$root/tests/programs/secure_program.c
cp "$MEMOIR_LIB" "$place/libmemoir.so.1"
chmod 755 "$place/libmemoir.so.1"
build "$source" -o "$place/linked" -Wl,--no-as-needed "$place/libmemoir.so.1" -Wl,-rpath,"$place"
build -static "$source" "$MEMOIR_STATIC" -o "$place/static"
printf 'stats:on\nheap.rate:3K\n' >"$place/options"

options="stats:on,verbose:on,heap.rate:3K,nonsense:1,conf:$place/options"
options="$options,dump.exit:on,dump.prefix:$place/files/d,capture:$place/files/c"
run() { # PROGRAM
    rm -rf "$place/files"
    mkdir -m 777 "$place/files"
    MEMOIR=$options "$1" >"$place/out" 2>"$place/errors" || fail "$1: exit code $?"
}

for way in linked static; do
    program=$place/$way
    chown 0:0 "$program"
    chmod 755 "$program"
    run "$program"
    grep -q '^secure 0 rate 3072$' "$place/out" || fail "$way, plain: $(cat "$place/out")"
    [ -s "$place/errors" ] || fail "$way, plain: the options had no effect to begin with"
    [ "$(find "$place/files" -type f | wc -l)" -eq 2 ] || fail "$way, plain: no dump, or no capture"

    MEMOIR='' MALLOC_CONF=prof:true,lg_prof_sample:12,nonsense:1 "$program" >"$place/out" \
        2>"$place/errors"
    grep -q '^secure 0 rate 4096$' "$place/out" || fail "$way, MALLOC_CONF: $(cat "$place/out")"
    export MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,nonsense:1
    export HEAPPROFILE="$place/profile" MALLOCSTATS=1 CPUPROFILE=x HEAPCHECK=normal

    chown 65534:0 "$program"
    chmod 4755 "$program"
    run "$program"
    if grep -q '^secure 0' "$place/out"; then
        skip "set-uid programs are not honoured in $place"
    fi
    grep -q '^secure 1 rate 524288$' "$place/out" || fail "$way, set-uid: $(cat "$place/out")"
    [ ! -s "$place/errors" ] || fail "$way, set-uid: said $(head -n 1 "$place/errors")"
    [ -z "$(ls -A "$place/files")" ] || fail "$way, set-uid: wrote $(ls -A "$place/files")"

    chown 0:65534 "$program"
    chmod 2755 "$program"
    run "$program"
    grep -q '^secure 1 rate 524288$' "$place/out" || fail "$way, set-gid: $(cat "$place/out")"
    [ ! -s "$place/errors" ] || fail "$way, set-gid: said $(head -n 1 "$place/errors")"
    [ -z "$(ls -A "$place/files")" ] || fail "$way, set-gid: wrote $(ls -A "$place/files")"

    chown 0:0 "$program"
    chmod 755 "$program"
    if command -v setcap >/dev/null 2>&1 && command -v setpriv >/dev/null 2>&1 &&
        setcap cap_net_raw+ep "$program" 2>/dev/null; then
        MEMOIR=$options setpriv --reuid=65534 --regid=65534 --clear-groups "$program" \
            >"$place/out" 2>"$place/errors" || fail "$way, capability: exit code $?"
        grep -q '^secure 1 rate 524288$' "$place/out" || fail "$way, capability: $(cat "$place/out")"
        [ ! -s "$place/errors" ] || fail "$way, capability: said $(head -n 1 "$place/errors")"
    fi
    unset MALLOC_CONF HEAPPROFILE MALLOCSTATS CPUPROFILE HEAPCHECK
done
[ ! -e "$place/profile.0001.heap" ] || fail "a secure program wrote a profile"
finish
