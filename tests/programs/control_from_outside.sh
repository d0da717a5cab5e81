#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# Programs in every state answer to `memoir ctl`, lose nothing by it, and have no thread, socket or
# descriptor more when nobody asks any longer. Those that can't answer are told apart.
. "$(dirname "$0")/common.sh"
need python3 ps
target=$place/target
build "$root/tests/programs/control_target.c" -o "$target"
build -static "$root/tests/programs/control_target.c" "$MEMOIR_STATIC" -o "$place/static"
client=$root/tests/programs/control_client.py

with() { # COMMAND...: launches it under the library
    launch env LD_PRELOAD="$MEMOIR_LIB" "$@"
}

stop() {
    kill -0 "$pid" 2>/dev/null || fail "$1: the program is gone: $(cat "$place/errors")"
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    quiet "$place/errors"
}

answers() { # NAME
    "$MEMOIR_TOOL" ctl "$pid" stats >"$place/stats" 2>"$place/said" ||
        fail "$1: exit code $?: $(cat "$place/said")"
    grep -q '^live_bytes:[1-9]' "$place/stats" || fail "$1: no live bytes"
}

refuses() { # NAME TEXT
    got=0
    "$MEMOIR_TOOL" ctl "$pid" stats >"$place/stats" 2>"$place/said" || got=$?
    [ "$got" -eq 4 ] || fail "$1: exit code $got, not 4"
    grep -q -- "$2" "$place/said" || fail "$1: said $(cat "$place/said")"
}

descriptors() {
    for fd in /proc/"$pid"/fd/*; do
        echo "${fd##*/} $(readlink "$fd")"
    done
}

threads() {
    for task in /proc/"$pid"/task/*; do
        echo "$task"
    done | wc -l
}

alone() { # NAME THREADS: the helper goes, and its socket
    for _ in $(seq 150); do
        [ "$(threads)" -eq "$2" ] && break
        sleep 0.1
    done
    [ "$(threads)" -eq "$2" ] || fail "$1: $(threads) threads, not $2, long after the last request"
    [ ! -e "/tmp/memoir-$(id -u)/$pid.sock" ] || fail "$1: its socket is still there"
}

# idle in pause; the descriptors are the same before, while and after
with "$target" idle
before=$(descriptors)
count=$(threads)
answers idle
[ "$(threads)" -gt "$count" ] || fail "idle: no helper to be seen"
[ "$(descriptors)" = "$before" ] || fail "idle: other descriptors while the helper is there"
[ "$(stat -c %a "/tmp/memoir-$(id -u)")" = 700 ] || fail "idle: the folder is not private"
[ "$(stat -c %a "/tmp/memoir-$(id -u)/$pid.sock")" = 600 ] || fail "idle: the socket is not private"
"$MEMOIR_TOOL" ps >"$place/list" 2>/dev/null || fail "ps: exit code $?"
grep -Eq "^ *$pid .* (KiB|B) .* 512 KiB +/" "$place/list" || fail "ps: $(cat "$place/list")"
"$MEMOIR_TOOL" ps --json 2>/dev/null | python3 -c "
import json, sys
page = json.load(sys.stdin)
rows = [row for row in page['processes'] if row['pid'] == $pid]
sys.exit(page['schema'] != 'memoir.ps/1' or len(rows) != 1 or rows[0]['live_bytes'] < 1000)" ||
    fail "ps --json"
alone idle "$count"
[ "$(descriptors)" = "$before" ] || fail "idle: other descriptors afterwards"
mappings=$(wc -l <"/proc/$pid/maps")
answers "idle again"
alone "idle again" "$count"
[ "$(wc -l <"/proc/$pid/maps")" -eq "$mappings" ] || fail "idle: a mapping was left behind"
python3 "$client" stray "$pid" || fail "stray signals"
kill -9 "$pid"
wait "$pid" 2>/dev/null
refuses gone "no process $pid"
with "$target" idle
answers "to be killed"
kill -9 "$pid"
wait "$pid" 2>/dev/null
[ -e "/tmp/memoir-$(id -u)/$pid.sock" ] || fail "killed: no socket, so nothing to remove"
"$MEMOIR_TOOL" ps >/dev/null 2>&1
[ ! -e "/tmp/memoir-$(id -u)/$pid.sock" ] || fail "killed: ps left the socket"

# A killed process leaves its socket: the next helper of the user removes it, and so does the client,
# also if the number belongs to another process by now.
with "$target" idle
answers "to be killed, too"
left=/tmp/memoir-$(id -u)/$pid.sock
kill -9 "$pid"
wait "$pid" 2>/dev/null
[ -e "$left" ] || fail "killed: no socket for the next helper"
with "$target" idle
python3 "$client" ask "$pid" version >/dev/null || fail "no answer"
[ ! -e "$left" ] || fail "the next helper left a socket"
reused=/tmp/memoir-$(id -u)/$$.sock
python3 -c "
import os, socket
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.bind('$reused')
os.utime('$reused', (1, 1))"
answers "beside a socket that is left"
[ ! -e "$reused" ] || fail "a socket with the number of another process was left"
stop "killed"

# what the kernel refuses to processes of several threads works again soon after the last client
if unshare -U true 2>/dev/null; then
    with "$target" unshare "$place/go"
    answers "before unshare"
    echo >"$place/go"
    for _ in $(seq 100); do
        grep -q unshared "$place/out" && break
        sleep 0.1
    done
    took=$(sed -n 's/^unshared after \([0-9]*\) ms$/\1/p' "$place/out")
    [ "${took:-9999}" -lt 3500 ] || fail "unshare works after ${took:-more than 10000} ms"
    stop unshare
fi

# one thread in a call that a signal would end, one in a call that goes on: the second is called
with "$target" waiting
answers waiting
if [ -r "/proc/$pid/task/$pid/syscall" ]; then
    [ "$(cat "$place/out")" = "ready $pid" ] || fail "waiting: $(cat "$place/out")"
fi
stop waiting

# every verb, while three threads allocate
ctl() { # WORDS...: what it answers is in $place/answer
    "$MEMOIR_TOOL" ctl "$pid" "$@" >"$place/answer" 2>&1 || fail "ctl $*: $(cat "$place/answer")"
}
says() { # LINE
    grep -qx -- "$1" "$place/answer" || fail "no line '$1' but: $(cat "$place/answer")"
}
MEMOIR=capture:$place/run.memoir,dump.prefix:$place/dump
export MEMOIR
with "$target" busy
unset MEMOIR
before=$(descriptors)
for round in 1 2 3 4 5 6 7 8; do
    answers busy
    ctl stop && says heap:off
    ctl stats && says profile.sampling:off && grep -q '^profile.off_s:[0-9]' "$place/answer" || fail "off, without a word"
    "$MEMOIR_TOOL" ps 2>/dev/null | grep -Eq "^ *$pid .* off [0-9]+s" || fail "ps: off since when?"
    ctl start 4K && says heap:on && says heap.rate:4K
    ctl rate 64K && says heap.rate:64K
    ctl heap.rate=16K dump.keep=3 && says heap.rate:16K && says dump.keep:3
    ctl show heap.rate && says heap.rate:16K
    ctl dump "$place/file$round"
    [ -s "$place/file$round" ] || fail "an empty dump"
    ctl dump --format jemalloc "$place/text$round"
    grep -q '^heap_v2/16384$' "$place/text$round" || fail "no heap_v2 in $place/text$round"
    ctl dump
    written=$(sed -n 's/^dump://p' "$place/answer")
    [ -s "$written" ] || fail "no dump $written"
    ctl snapshot
    ctl mark "round $round"
done
[ "$(descriptors)" = "$before" ] || fail "busy: other descriptors: $(descriptors)"
[ -s "$place/run.memoir" ] || fail "no capture"
for wrong in 'set nonsense=1' 'rate lots' 'set numa.nodes=1' nothing 'start now' 'dump --format'; do
    got=0
    # shellcheck disable=SC2086 # words
    "$MEMOIR_TOOL" ctl "$pid" $wrong >"$place/answer" 2>&1 || got=$?
    case $got in 2 | 4) ;; *) fail "ctl $wrong: exit code $got: $(cat "$place/answer")" ;; esac
done
for slip in 'rte rate' 'heap.rat=4K heap.rate' 'set heap.rat=4K heap.rate' 'show heap.rat heap.rate' 'rate=4K heap.rate' 'zzzz help'; do
    # shellcheck disable=SC2086 # words
    expect 4 "$MEMOIR_TOOL" ctl "$pid" ${slip% *} 2>"$place/answer"
    grep -q -- "^→ .*${slip##* }" "$place/answer" || fail "ctl $slip: $(cat "$place/answer")"
done

# the ending of the file says the format; one that a process can't write is refused
ctl dump "$place/a.pb.gz" && gzip -t "$place/a.pb.gz" || fail "no gzip"
ctl dump "$place/a.heap" && grep -q '^heap profile: ' "$place/a.heap" || fail "no text of gperftools"
ctl dump --format jemalloc "$place/b.heap" && grep -q '^heap_v2/' "$place/b.heap" || fail "no heap_v2"
expect 2 "$MEMOIR_TOOL" ctl "$pid" dump "$place/a.svg" 2>"$place/answer"
grep -q "memoir export $pid -o $place/a.svg" "$place/answer" || fail "a.svg: $(cat "$place/answer")"
[ ! -e "$place/a.svg" ] || fail "a.svg was made"
ctl dump "$place/a.xyz"
grep -q "a.xyz: in memoir's format; .pb.gz and .heap choose another" "$place/answer" || fail "a.xyz: $(cat "$place/answer")"
ctl dump "$place/plain"
grep -q "^memoir: $place/plain, [0-9.]* [KM]iB$" "$place/answer" && [ "$(wc -l <"$place/answer")" = 1 ] ||
    fail "a name without an ending: $(cat "$place/answer")"
"$MEMOIR_TOOL" ctl "$pid" dump --quiet "$place/quiet" >"$place/answer" 2>&1
[ ! -s "$place/answer" ] && [ -s "$place/quiet" ] || fail "not quiet: $(cat "$place/answer")"
expect 4 "$MEMOIR_TOOL" ctl "$pid" mark 2>"$place/answer"
grep -q "mark: write mark NAME" "$place/answer" || fail "mark: $(cat "$place/answer")"

# --json: the same facts
for words in show stats "dump $place/j.memoir" 'rate 16K' version 'mark here'; do
    # shellcheck disable=SC2086 # words
    ctl $words --json
    python3 -c "
import json, sys
page = json.load(open('$place/answer'))
answer = page['answer']
verb = '$words'.split()[0]
good = {'show': lambda: answer['heap.rate'] == '16K' and answer['dump.keep'] == '3',
        'stats': lambda: answer['live_bytes'] > 0 and answer['profile.lost'] == 0,
        'dump': lambda: answer['dump'] == '$place/j.memoir',
        'rate': lambda: answer['heap.rate'] == '16K', 'version': lambda: answer['version'],
        'mark': lambda: answer == {}}[verb]()
sys.exit(page['schema'] != 'memoir.ctl/1' or page['pid'] != $pid or not good)" ||
        fail "ctl $words --json: $(cat "$place/answer")"
done
expect 4 "$MEMOIR_TOOL" ctl "$pid" rte --json >"$place/answer" 2>/dev/null
[ ! -s "$place/answer" ] || fail "--json of nothing: $(cat "$place/answer")"
expect 3 "$MEMOIR_TOOL" ctl "$pid" dump "$place/file1" 2>/dev/null
expect 3 "$MEMOIR_TOOL" ctl "$pid" dump /nowhere/file 2>"$place/answer"
grep -q 'make its folder' "$place/answer" || fail "no next step: $(cat "$place/answer")"
expect 3 "$MEMOIR_TOOL" ctl "$pid" dump /dev/full 2>"$place/answer"
grep -q 'rm /dev' "$place/answer" && fail "bad advice: $(cat "$place/answer")"
stop busy

with "$target" forks
for _ in $(seq 30); do
    answers forks
    ctl dump "$place/forks"
    rm "$place/forks"
done
stop forks

launch "$place/static" idle
answers static
stop static

# the process knows where it is: a name relative to there is told in full; where it may not write, a
# file of the client's is the way
mkdir "$place/inside"
launch env LD_PRELOAD="$MEMOIR_LIB" sh -c "cd '$place/inside' && exec '$target' idle"
ctl dump
written=$(sed -n 's/^dump://p' "$place/answer")
case $written in "$place"/inside/?*) ;; *) fail "not in full: $written" ;; esac
[ -s "$written" ] || fail "no dump $written"
rm -r "$place/inside"
expect 4 "$MEMOIR_TOOL" ctl "$pid" dump 2>"$place/answer"
grep -q "no dump $place/inside" "$place/answer" && grep -q "^→ memoir ctl $pid dump FILE" "$place/answer" ||
    fail "a refused dump: $(cat "$place/answer")"
grep -q 'dump.prefix' "$place/answer" && fail "advice that can't be followed: $(cat "$place/answer")"
ctl dump "$place/elsewhere"
for words in 'dump a.memoir b.memoir' 'record stop now'; do
    # shellcheck disable=SC2086 # words
    expect 2 "$MEMOIR_TOOL" ctl "$pid" $words 2>"$place/answer"
    grep -q "^memoir: ${words%% *} takes one FILE, but got" "$place/answer" ||
        fail "$words: $(cat "$place/answer")"
done
expect 4 "$MEMOIR_TOOL" ctl "$pid" cpu stop now 2>"$place/answer"
grep -q "cpu: unknown word 'now': write cpu start" "$place/answer" || fail "cpu stop now: $(cat "$place/answer")"
: >"$place/errors" # it says there, too, that it can't
stop relative

with "$target" fork
child=$(sed -n 's/^ready //p' "$place/out" | head -n 1)
parent=$pid
pid=$child
answers "a forked child"
pid=$parent
answers "its parent"
pid=$child
answers "the child again"
kill "$child"
pid=$parent
stop fork

with python3 -c "
import time
print('ready', flush=True)
while True: time.sleep(60)"
count=$(threads)
answers python3
alone python3 "$count"
stop python3

if command -v redis-server >/dev/null; then
    (cd "$place" && exec env LD_PRELOAD="$MEMOIR_LIB" redis-server --port 0 \
        --unixsocket "$place/redis" --save '' >/dev/null 2>"$place/errors") &
    pid=$!
    running="$running $pid"
    for _ in $(seq 100); do
        [ "$(redis-cli -s "$place/redis" ping 2>/dev/null)" = PONG ] && break
        sleep 0.1
    done
    for _ in 1 2 3; do
        answers redis
        [ "$(redis-cli -s "$place/redis" ping)" = PONG ] || fail "redis: no PONG"
    done
    stop redis
fi

# those that do not hear the signal hear the bell, when they allocate
for state in deaf-busy own-busy reset-busy; do
    with "$target" $state
    count=$(threads)
    before=$(descriptors)
    for _ in 1 2 3; do
        answers $state
        ctl dump "$place/$state"
        rm "$place/$state"
    done
    "$MEMOIR_TOOL" ps 2>/dev/null | grep -Eq "^ *$pid .* KiB .* 512 KiB +/" ||
        fail "$state: ps: $("$MEMOIR_TOOL" ps 2>&1)"
    [ "$(descriptors)" = "$before" ] || fail "$state: other descriptors"
    alone $state "$count"
    stop $state
    launch "$place/static" $state
    answers "static, $state"
    stop "static, $state"
done
with env MEMOIR=control:off "$target" deaf-busy
refuses "deaf and off" 'its option control is off'
stop "deaf and off"
cp "$MEMOIR_LIB" "$place/libmemoir.so"
launch env LD_PRELOAD="$place/libmemoir.so" "$target" deaf-busy
printf 'another one' >"$place/new"
mv "$place/new" "$place/libmemoir.so"
answers "a library that was replaced"
stop "a library that was replaced"

# those that can't answer
with "$target" deaf
refuses deaf 'uses SIGURG itself, so the library answers at the next allocation'
"$MEMOIR_TOOL" ps 2>/dev/null | grep -q "^ *$pid .*answers at its next allocation" || fail "ps: deaf"
stop deaf
with "$target" own
refuses own 'uses SIGURG itself, so the library answers at the next allocation'
stop own
launch "$target" idle
refuses bare "process $pid runs without memoir"
stop bare
with env MEMOIR=control:off "$target" idle
refuses off 'its option control is off'
"$MEMOIR_TOOL" ps 2>/dev/null | grep -q "^ *$pid .*control is off" || fail "ps: no reason"
kill -STOP "$pid"
kill -CONT "$pid"
stop off
with "$target" idle
kill -STOP "$pid"
sleep 0.1
refuses stopped 'is stopped'
kill -CONT "$pid"
stop stopped

# a namespace of its own: another number inside, and another /proc
if unshare --fork --pid --mount-proc true 2>/dev/null; then
    with unshare --fork --pid --mount-proc --kill-child "$target" idle
    outer=$pid
    pid=$(ps -o pid= --ppid "$outer" | tr -d ' ')
    "$MEMOIR_TOOL" ctl "$pid" stats >"$place/stats" 2>"$place/said" ||
        fail "container: exit code $?: $(cat "$place/said")"
    kill -9 "$pid" # the first process of a namespace obeys no other signal
    wait "$outer" 2>/dev/null
    with unshare --fork --pid --mount-proc --kill-child "$target" deaf-busy
    outer=$pid
    pid=$(ps -o pid= --ppid "$outer" | tr -d ' ')
    answers "a container, deaf"
    kill -9 "$pid"
    wait "$outer" 2>/dev/null
fi
finish
