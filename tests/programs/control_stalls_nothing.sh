#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# A client whose file never takes a byte of the dump keeps the program from nothing: no lock is held
# for it, and the program makes its last dump and runs to its end.
. "$(dirname "$0")/common.sh"
need python3
[ "$(id -u)" -eq 0 ] && [ -e /dev/fuse ] || skip "it takes root and /dev/fuse"
target=$place/target
build "$root/tests/programs/control_target.c" -o "$target"
mkdir "$place/slow"
mkfifo "$place/go"
server='' pid='' client=''
trap 'kill -9 $client $pid $server 2>/dev/null; umount -l "$place/slow" 2>/dev/null; rm -rf "$place"' EXIT
python3 "$root/tests/programs/control_stalled_file.py" "$place/slow" >"$place/served" 2>&1 &
server=$!
until_there() { # WORD FILE
    for _ in $(seq 100); do
        grep -q "$1" "$2" && return 0
        sleep 0.1
    done
    return 1
}
until_there mounted "$place/served" || skip "$(tail -n 1 "$place/served")"
MEMOIR=dump.exit:on,dump.prefix:$place/own LD_PRELOAD=$MEMOIR_LIB "$target" leave "$place/go" \
    >"$place/out" 2>"$place/errors" &
pid=$!
until_there ready "$place/out" || fail "not ready"
python3 "$root/tests/programs/control_client.py" give "$pid" "$place/slow/file" &
client=$!
until_there write "$place/served" || fail "the dump does not come"
echo >"$place/go"
until_there leaving "$place/out" || fail "it does not leave"
made() { find "$place" -maxdepth 1 -name 'own*exit*' | grep -q .; }
for _ in $(seq 100); do
    made && break
    sleep 0.1
done
made || fail "a client stalls the dump at the end"
# The kernel lets no process go that is in the middle of a write; that is over when the server is.
kill -9 "$server"
wait "$pid" || fail "exit code $?"
quiet "$place/errors"
finish
