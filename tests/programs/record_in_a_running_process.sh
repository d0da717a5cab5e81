#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# `memoir ctl PID record FILE` begins a recording in a process that nobody prepared, and `record
# stop` ends it: the file is the client's, with mode 0600; the heap over time goes back to the start
# of the process; killed, the file reads up to its last snapshot, and `memoir recover` adds the rest;
# children do not go on with it.
. "$(dirname "$0")/common.sh"
need pgrep
open_place
cat >"$place/target.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t wanted;
static void on_signal(int number)
{
    wanted = number;
}
__attribute__((noinline)) void *keep(size_t size)
{
    return memset(malloc(size), 1, size);
}
int main(void)
{
    for (int i = 0; i < 100; i++)
        keep(100000);
    signal(SIGUSR1, on_signal);
    puts("ready");
    fflush(stdout);
    for (;;) {
        usleep(10000);
        keep(1000);
        if (wanted == SIGUSR1 && fork() == 0) {
            for (int i = 0; i < 200; i++) {
                keep(100000);
                usleep(10000);
            }
            return 0;
        }
        wanted = 0;
    }
}
END
mkdir "$place/here"
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place/libmemoir.so"
build "$place/target.c" -o "$place/target"
build -static "$place/target.c" "$MEMOIR_STATIC" -o "$place/static"
cd "$place/here" || exit 2
trap 'for p in $running; do kill -9 "$p" 2>/dev/null; done; forget; rm -rf "$place"' EXIT
ctl() { "$MEMOIR_TOOL" ctl "$pid" "$@" >"$place/said" 2>"$place/wrong"; }
recover() { "$MEMOIR_TOOL" recover "$pid" >"$place/said" 2>"$place/wrong"; }
allocations() { "$MEMOIR_TOOL" report --json "$1" 2>/dev/null | sed -n 's/^ *"allocations": \([0-9]*\),*/\1/p' | head -n 1; }
said() { # PATTERN
    cat "$place/said" "$place/wrong" | grep -Eq -- "$1" ||
        fail "$what: no line '$1' in: $(cat "$place/said" "$place/wrong")"
}
descriptors() {
    for fd in /proc/"$pid"/fd/*; do
        echo "${fd##*/} $(readlink "$fd")"
    done
}
readable() { # FILE
    "$MEMOIR_TOOL" top "$1" 2>"$place/wrong" | grep -q ' keep ' || fail "$what: $1: $(cat "$place/wrong")"
}

for program in target static; do
    what=$program
    launch env LD_PRELOAD="$MEMOIR_LIB" MEMOIR=heap.rate:4096 "$place/$program"
    descriptors >"$place/before"
    expect 0 ctl record
    said '^record:off$'
    expect 4 ctl record stop
    said 'there is no recording'
    expect 2 ctl record run.txt
    said 'ends in .memoir'
    [ ! -e run.txt ] || fail "$what: run.txt is there"
    : >there.memoir
    expect 3 ctl record there.memoir
    said "can't write there.memoir"
    expect 3 ctl record no/folder.memoir
    expect 0 ctl record run.memoir
    said "^record:$place/here/run.memoir\$"
    [ "$(stat -c %a run.memoir)" = 600 ] || fail "$what: mode $(stat -c %a run.memoir)"
    readable run.memoir
    expect 4 ctl record second.memoir
    said "$place/here/run.memoir is under way"
    said "memoir ctl $pid record stop"
    [ ! -e second.memoir ] || fail "$what: second.memoir is there"
    expect 0 ctl mark middle
    expect 0 ctl snapshot
    expect 0 ctl record --json
    said "\"record\": \"$place/here/run.memoir\""
    expect 0 ctl record stop
    said "^recorded:$place/here/run.memoir\$"
    readable run.memoir
    "$MEMOIR_TOOL" time run.memoir >"$place/said"
    said '^ *◆.* middle$'
    said '^ *◆.* record stop$'
    sleep 1.5 # then the helper is gone
    # the recorder file is for the next one, too
    kept=/dev/shm/memoir-$(id -u)-end-$pid
    descriptors | grep -v " $kept\$" | cmp -s - "$place/before" || fail "$what: descriptors: $(descriptors)"
    # once more; and killed
    expect 0 ctl record killed.memoir
    sleep 1
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    readable killed.memoir
    last=$(allocations killed.memoir)
    expect 0 recover
    said "^memoir: $place/here/killed.memoir, of process $pid\$"
    readable killed.memoir
    [ "$(allocations killed.memoir)" -ge $((last + 20)) ] ||
        fail "$what: $last allocations, then $(allocations killed.memoir)"
    "$MEMOIR_TOOL" time killed.memoir >"$place/said" 2>&1
    said '^ *◆.* record$'
    [ ! -e "$kept" ] && [ ! -e "/dev/shm/.memoir-$(id -u)-end-$pid.paths" ] || fail "$what: left $kept"
    quiet "$place/errors"
    rm -f ./*.memoir
done

what='a forked child'
launch env LD_PRELOAD="$MEMOIR_LIB" MEMOIR=heap.rate:4096 "$place/target"
expect 0 ctl record run.memoir
kill -USR1 "$pid"
sleep 1.5
expect 0 ctl record stop
sleep 1
[ "$(find . -type f)" = ./run.memoir ] || fail "$what: $(find . -type f)"
readable run.memoir
quiet "$place/errors"
# a recording that was ended before the kill: nothing is added to it
kill -9 "$pid"
wait "$pid" 2>/dev/null
last=$(allocations run.memoir)
expect 0 recover
[ "$(allocations run.memoir)" -eq "$last" ] && [ "$(find . -type f)" = ./run.memoir ] || fail "$what: $(ls)"
[ -z "$(find /dev/shm -name "*-end-$pid*")" ] || fail "$what: left $(find /dev/shm -name "*-end-$pid*")"
rm -f ./*.memoir

what='memoir run'
"$MEMOIR_TOOL" run --rate 4K "$place/target" >"$place/out" 2>"$place/errors" &
run=$!
running="$running $run"
pid=
for _ in $(seq 100); do
    grep -q ready "$place/out" && pid=$(pgrep -P $run) && break
    sleep 0.1
done
expect 4 ctl record second.memoir
said 'is under way'
kill $run
wait $run
rm -f ./*.memoir

# root asks a process of another user: the file is root's, and the process need not be able to open it
if [ "$(id -u)" -eq 0 ]; then
    what='root and another user'
    launch setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR=/tmp \
        LD_PRELOAD="$place/libmemoir.so" MEMOIR=heap.rate:4096 "$place/target"
    chmod 700 "$place/here"
    expect 0 ctl record run.memoir
    [ "$(stat -c %u run.memoir)" -eq 0 ] || fail "$what: not root's"
    sleep 1
    expect 0 ctl record stop
    readable run.memoir
    kill "$pid"
fi
finish
