#!/bin/sh
# SPDX-License-Identifier: MIT
# A worker that dropped root still has its recorder file mapped, and may write anything into it. It
# gets no file written by root that way: neither by memoir run and recover, which write what killed
# programs were told to write, nor by the place of its capture. An empty file of root's is not
# replaced, either.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
[ "$(id -u)" -eq 0 ] || skip "only root can drop root"
open_place
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place/libmemoir.so"
build "$root/tests/programs/given_up_rights_stay_given_up.c" -o "$place/target"
chmod 755 "$place/target"
settle
mkdir -m 700 private
mkdir root

judge() { # WHAT
    [ -z "$(find private -type f ! -name empty)" ] && [ ! -s private/empty ] ||
        fail "$1: root wrote for it: $(ls -l private)"
    rm -f private/*
    : >private/empty
}
: >private/empty
for wish in wish empty; do
    "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" -o run.memoir ./target "$place/private/$wish" drop 2>errors ||
        fail "run, $wish: exit code $?: $(cat errors)"
    judge "run, $wish"
    # A file that was made before a change of the root folder is such a one.
    "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" -o run.memoir ./target "$place/private/$wish" drop "$place/root" \
        2>errors || fail "chroot, $wish: exit code $?: $(cat errors)"
    judge "chroot, $wish"
    MEMOIR=recorder:$place/state,capture:$place/own.memoir LD_PRELOAD=$place/libmemoir.so \
        ./target "$place/private/$wish" drop 2>errors || fail "recorder, $wish: exit code $?: $(cat errors)"
    for state in state-*; do
        [ -e "$state" ] || fail "recorder, $wish: no file of the worker"
        "$MEMOIR_TOOL" recover "$state" >/dev/null 2>&1
    done
    judge "recorder, $wish"
    rm -f state* own*
    HEAPPROFILE=$place/heap LD_PRELOAD=$place/libmemoir.so ./target "$place/private/$wish" drop 2>errors ||
        fail "HEAPPROFILE, $wish: exit code $?: $(cat errors)"
    for kept in /dev/shm/memoir-0-end-*; do
        ! grep -qF "$place/private" "$kept" 2>/dev/null || "$MEMOIR_TOOL" recover "$kept" >/dev/null 2>&1
    done
    judge "HEAPPROFILE, $wish"
done

# The recorder file alone is not believed of a process that kept its rights, either.
"$MEMOIR_TOOL" run --lib "$place/libmemoir.so" -o run.memoir \
    env HEAPPROFILE="$place/heap" ./target "$place/private/wish" 2>errors || fail "run, as root: $(cat errors)"
judge "run, as root"
# What was told by the library itself is written.
rm -f heap*
cat >told.sh <<'STOP'
HEAPPROFILE=$1/heap LD_PRELOAD=$1/libmemoir.so sh -c 'a=$(seq 3000); kill -9 $$'
STOP
sh told.sh "$place" >/dev/null 2>errors
for kept in /dev/shm/memoir-0-end-*; do
    ! grep -qF "$place/heap" "$kept" 2>/dev/null || "$MEMOIR_TOOL" recover "$kept" >out 2>&1 || fail "$(cat out)"
done
[ -n "$(find . -name 'heap*.heap')" ] || fail "told: not written: $(ls; cat errors out)"
for paths in /dev/shm/.memoir-0-end-*.paths; do
    recorder=${paths%.paths}
    ! grep -qF "$place" "$paths" 2>/dev/null || [ -e "/dev/shm/${recorder#/dev/shm/.}" ] || fail "left: $paths"
done
finish
