#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# Promise 17: nobody but the same user and root reaches the control channel, and no client, silent,
# slow or mad, stalls the program or brings it down.
. "$(dirname "$0")/common.sh"
need python3 prlimit
open_place
target=$place/target
build "$root/tests/programs/control_target.c" -o "$target"
client=$root/tests/programs/control_client.py

with() { # COMMAND...: launches it under the library
    launch env LD_PRELOAD="$MEMOIR_LIB" "$@"
}

alive() { # NAME
    kill -0 "$pid" 2>/dev/null || fail "$1: the program is gone: $(cat "$place/errors")"
    "$MEMOIR_TOOL" ctl "$pid" stats >"$place/stats" 2>&1 || fail "$1: $(cat "$place/stats")"
}

stop() {
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    quiet "$place/errors"
}

with "$target" busy
before=$(ls "/proc/$pid/fd")
python3 "$client" ask "$pid" stats | head -n 1 | grep -qx 0 || fail "a plain client is refused"
python3 "$client" silent "$pid" || fail "a silent client"
alive silent
for _ in 1 2 3; do
    python3 "$client" silent "$pid" &
done
python3 "$client" slow "$pid" &
alive "several at a time"
wait_for=$(jobs -p | tail -n 4)
for job in $wait_for; do
    [ "$job" = "$pid" ] || wait "$job"
done
python3 "$client" garbage "$pid" "$(date +%s)" || fail "garbage"
alive garbage
python3 "$client" descriptors "$pid" || fail "descriptors"
alive descriptors
[ "$(ls "/proc/$pid/fd")" = "$before" ] || fail "other descriptors than before"
stop

# exec and fork at any moment of a request
with "$target" executes
python3 "$client" interrupted "$pid" || fail "interrupted by exec"
kill -0 "$pid" || fail "executes: the program is gone: $(cat "$place/errors")"
stop
with "$target" forks
python3 "$client" interrupted "$pid" || fail "interrupted by fork"
alive forks
stop

# a limit of the size of files ends the dump, not the program
with "$target" busy
prlimit --pid "$pid" --fsize=4096:
got=0
"$MEMOIR_TOOL" ctl "$pid" dump "$place/large" >"$place/said" 2>&1 || got=$?
[ "$got" -ne 0 ] && grep -qi 'too large\|limit' "$place/said" || fail "a limit: exit code $got: $(cat "$place/said")"
[ ! -e "$place/large" ] || fail "a limit: a part of a dump was left"
alive "a limit"
stop

# no thread of ours stays behind with less of a seccomp filter than the program has
mkfifo "$place/confine"
with "$target" confine "$place/confine"
alive "before the filter"
echo >"$place/confine"
filters() { # how many threads have none
    cat "/proc/$pid/task"/*/status 2>/dev/null | grep -c '^Seccomp:.0'
}
for _ in $(seq 30); do # each client would keep it
    grep -q confined "$place/out" && [ "$(filters)" -eq 0 ] && break
    "$target" knock "/tmp/memoir-$(id -u)/$pid.sock" >/dev/null
    sleep 0.1
done
[ "$(filters)" -eq 0 ] || fail "a helper without the filter stayed"
alive "after the filter"
[ "$(filters)" -eq 0 ] || fail "a helper without the filter came"
stop

# a child made by vfork has its parent's memory and answers nobody
with "$target" vfork
child=$(sed -n 's/^ready //p' "$place/out")
python3 "$client" stray "$child" || fail "vfork: stray signals"
python3 "$client" quiet "$child" || fail "a child made by vfork has a helper"
kill -9 "$child"
for _ in $(seq 100); do
    grep -q parent "$place/out" && break
    sleep 0.1
done
alive "after vfork"
stop

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    echo "not root: no other users"
    finish
fi
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
cp "$MEMOIR_TOOL" "$client" "$target" "$place" 2>/dev/null
cp "$MEMOIR_LIB" "$place/libmemoir.so"
MEMOIR_LIB=$place/libmemoir.so

# another user: no signal, no folder, no socket
with "$target" idle
alive root
"$target" knock "/tmp/memoir-0/$pid.sock" | grep -q '^status 0, [1-9]' || fail "root is turned away"
got=0
nobody "$place/memoir" ctl "$pid" stats >"$place/said" 2>&1 || got=$?
[ "$got" -eq 4 ] || fail "another user: exit code $got"
grep -q 'belongs to root' "$place/said" || fail "another user: $(cat "$place/said")"
nobody sh -c "cat '/tmp/memoir-0/$pid.sock'" 2>&1 | grep -q 'Permission denied' ||
    fail "another user can reach the socket"
# even behind an open folder the helper itself looks who it is
alive "root, once more" # or it might have gone for want of clients
chmod 711 /tmp/memoir-0
chmod 666 "/tmp/memoir-0/$pid.sock"
[ "$(nobody "$target" knock "/tmp/memoir-0/$pid.sock")" = 'status 1, 0 bytes' ] ||
    fail "another user is not turned away"
chmod 700 /tmp/memoir-0
alive "root, after another user"
stop

# folders that somebody else has made first: the next place is taken
user=54321
rm -rf "/tmp/memoir-$user" "/dev/shm/memoir-$user" "/var/tmp/memoir-$user"
as_user() { setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
nobody mkdir -m 700 "/tmp/memoir-$user"
with setpriv --reuid=$user --regid=$user --clear-groups "$target" idle
alive "a folder of another user"
[ -e "/dev/shm/memoir-$user/$pid.sock" ] || fail "not in the second place"
[ -z "$(ls -A "/tmp/memoir-$user")" ] || fail "something in a foreign folder"
stop
rm -rf "/tmp/memoir-$user" "/dev/shm/memoir-$user"
nobody mkdir -p -m 777 "/tmp/memoir-trap-$$"
ln -s "/tmp/memoir-trap-$$" "/tmp/memoir-$user"
as_user mkdir -m 755 "/dev/shm/memoir-$user"
with setpriv --reuid=$user --regid=$user --clear-groups "$target" idle
alive "a link and an open folder"
[ -e "/var/tmp/memoir-$user/$pid.sock" ] || fail "not in the third place"
find "/tmp/memoir-trap-$$" "/dev/shm/memoir-$user" -type s | grep . && fail "a trap worked"
stop
rm -rf "/tmp/memoir-$user" "/tmp/memoir-trap-$$" "/dev/shm/memoir-$user" "/var/tmp/memoir-$user"

# root's helper does not outlive root's rights
mkfifo "$place/go"
with "$target" drop "$place/go"
alive "before it drops its rights"
echo >"$place/go"
for _ in $(seq 50); do
    grep -q dropped "$place/out" && break
    sleep 0.1
done
for _ in $(seq 50); do # one that is about to end may take a client and say nothing
    "$target" knock "/tmp/memoir-0/$pid.sock" >"$place/said" || ! grep -q "can't connect" "$place/said" || break
    sleep 0.1
done
"$target" knock "/tmp/memoir-0/$pid.sock" >"$place/said" && fail "a helper with root's rights stayed"
grep -q "can't connect" "$place/said" || fail "dropped: $(cat "$place/said")"
alive "after it dropped its rights"
[ "$(stat -c %u "/tmp/memoir-65534/$pid.sock")" = 65534 ] || fail "the new helper is not nobody"
stop
rm -rf /tmp/memoir-65534
finish
