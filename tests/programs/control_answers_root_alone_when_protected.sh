#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# A process that the kernel protects from its own user answers root and nobody else, whatever client
# asks, at each request: not dumpable, root given up, capabilities or a group that the user lacks.
. "$(dirname "$0")/common.sh"
need python3 setpriv
[ "$(id -u)" -eq 0 ] || skip "it takes root to have several users"
user=54322
rm -rf "/tmp/memoir-$user" "/dev/shm/memoir-$user" "/var/tmp/memoir-$user"
trap 'for p in $running; do kill "$p" 2>/dev/null; done; rm -rf "$place" "/tmp/memoir-$user"' EXIT
open_place
build "$root/tests/programs/control_target.c" -o "$place/target"
cp "$root/tests/programs/control_client.py" "$MEMOIR_TOOL" "$place"
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place"/*
mkfifo -m 666 "$place/fifo"
mkdir "$place/theirs"
chown $user "$place/theirs"
as_user="setpriv --reuid=$user --regid=$user --clear-groups"
raw() { # the status; on a busy machine the helper may be gone before the client has connected
    for _ in 1 2 3 4 5; do
        status=$(CLIENT_USER=$user python3 "$place/control_client.py" "$@" 2>&1 | head -n 1)
        case $status in
        Traceback* | "no connection"*) sleep 0.5 ;;
        *) break ;;
        esac
    done
    echo "$status"
}

with() { # COMMAND...: launches it under the library
    launch env LD_PRELOAD="$place/libmemoir.so" "$@"
}

stop() {
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    quiet "$place/errors"
}

refused() { # NAME: the user gets EPERM and nothing else, through any client; root is served
    "$place/memoir" ctl "$pid" stats >"$place/said" 2>&1 || fail "$1: root: $(cat "$place/said")"
    # root keeps the helper there, which its own user may not be able to call
    while "$place/memoir" ctl "$pid" version >/dev/null 2>&1; do sleep 0.3; done &
    caller=$!
    running="$running $caller"
    for line in stats stop 'set heap.rate=1K' dump; do
        got=$(raw ask "$pid" "$line")
        [ "$got" = 1 ] || fail "$1: its own user asked '$line': $got"
    done
    kill "$caller"
    for verb in "ctl $pid stats" "top $pid" "ctl $pid dump $place/theirs/none"; do
        got=0
        # shellcheck disable=SC2086 # a verb is several words
        $as_user env TMPDIR=/tmp "$place/memoir" $verb >"$place/said" 2>&1 || got=$?
        [ "$got" -eq 4 ] && grep -q 'answers only root: the kernel protects' "$place/said" &&
            grep -q sudo "$place/said" || fail "$1: $verb: exit code $got: $(cat "$place/said")"
    done
    $as_user "$place/memoir" ps >"$place/said" 2>&1 || fail "$1: ps: $?"
    grep -q "$pid" "$place/said" && fail "$1: ps: $(cat "$place/said")"
    grep -q "can't be inspected.*sudo" "$place/said" || fail "$1: ps is silent: $(cat "$place/said")"
    "$place/memoir" ps --all >"$place/said" 2>&1
    grep "^ *$pid " "$place/said" | grep -q 'iB\|B ' || fail "$1: root's ps: $(cat "$place/said")"
    "$place/memoir" ctl "$pid" >"$place/said" 2>&1 || fail "$1: root: $(cat "$place/said")"
    grep -q '^heap:on' "$place/said" || fail "$1: its settings were changed"
}

with $as_user "$place/target" idle
[ "$(raw ask "$pid" stats)" = 0 ] || fail "a plain process refuses its own user"
stop

with $as_user "$place/target" closed
refused "not dumpable"
stop

with $as_user "$place/target" closed-own-busy # root calls it by its bell
refused "not dumpable, with the bell"
stop

with setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=+net_bind_service \
    --ambient-caps=+net_bind_service "$place/target" idle
refused "a capability"
stop

with setpriv --reuid=$user --regid=65533 --clear-groups "$place/target" idle
refused "another group"
stop

# at each request: a client that connected before, and one after it is dumpable again
with $as_user "$place/target" close-later "$place/fifo"
[ "$(raw ask "$pid" stats)" = 0 ] || fail "refused too early"
[ "$(raw late "$pid" "$place/fifo" "$place/out" stats)" = 1 ] || fail "connected before: answered"
[ "$(raw ask "$pid" stats)" = 1 ] || fail "not dumpable any more: answered"
[ "$(raw late "$pid" "$place/fifo" "$place/out" stats)" = 0 ] || fail "dumpable again: refused"
stop

# A user namespace whose root is that user. The kernel protects a program that was started outside
# and then closed itself from this root, too.
inside() { LD_PRELOAD=$place/libmemoir.so $as_user "$place/target" asked-inside "$@" 2>&1; }
said=$(inside)
if [ $? -ne 77 ]; then
    case $said in
    'status 0, '*) ;;
    *) fail "root of a namespace is refused: $said" ;;
    esac
    said=$(inside closed)
    [ "$said" = 'status 1, 0 bytes' ] || fail "root of a namespace may ask a closed process: $said"
fi
finish
