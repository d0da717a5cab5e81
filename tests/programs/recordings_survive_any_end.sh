#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever ends a program, `memoir run` has its recording and says how it ended: _exit, exit_group,
# SIGSEGV, abort, kill -9, the kernel for want of memory, before any snapshot. What run did not
# finish (--detach, run itself killed, programs started without it), `memoir recover` does; `memoir
# ps` lists it meanwhile. Nothing is left behind.
# run-serial: all recordings of a user are listed together.
. "$(dirname "$0")/common.sh"
need pgrep
cat >"$place/ends.c" <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((weak)) int memoir_snapshot(const char *words);
__attribute__((noinline)) void *keep_some(size_t size)
{
    return memset(malloc(size), 1, size);
}
int main(int argc, char **argv)
{
    (void)argc;
    for (int i = 0; i < 100; i++)
        keep_some(10000);
    switch (argv[1][0]) {
    case 'x':
        _exit(3);
    case 'g':
        syscall(SYS_exit_group, 5);
    case 's':
        *(volatile int *)0 = 1;
    case 'a':
        abort();
    case 'k':
        raise(SIGKILL);
    case 'e':
        execl(argv[0], argv[0], "k", NULL);
    case 'c':
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        raise(SIGKILL);
    case 'l':
        sleep(1);
        for (int i = 0; i < 3; i++)
            keep_some(1 << 20);
        raise(SIGKILL);
    case 'n': /* right after a snapshot, some time after the last allocation */
        usleep(60000);
        if (memoir_snapshot)
            memoir_snapshot("last");
        raise(SIGKILL);
    case 'm':
        for (;;)
            keep_some(1 << 20);
    }
    for (;;)
        pause();
}
END
build "$place/ends.c" -o "$place/ends"
mkdir "$place/here"
cd "$place/here" || exit 2
LC_ALL=C.UTF-8
export LC_ALL
memoir() { "$MEMOIR_TOOL" "$@"; }
said() { # PATTERN
    grep -Eq -- "$1" "$place/errors" || fail "$what: no line '$1' in: $(cat "$place/errors")"
}
shelves() { # of this script
    grep -l "^folder:$place/" /dev/shm/memoir-*/about 2>/dev/null
}
clean() { # NAME: one recording is here, with the blocks in it, and nothing else anywhere
    case "$(find . -mindepth 1)" in
    ./$1) ;;
    *) fail "$what: files $(find . -mindepth 1)" ;;
    esac
    memoir top --json "$(find . -name '*.memoir')" 2>/dev/null | grep -q '"name": "keep_some"' ||
        fail "$what: not in the recording"
    [ -z "$(shelves)" ] || fail "$what: left $(shelves)"
    find . -mindepth 1 -delete
}

while read -r way status line; do
    for rate in 0 4K; do
        what="$way at rate $rate"
        memoir run --rate $rate ../ends "$way" >"$place/out" 2>"$place/errors"
        got=$?
        [ "$got" -eq "$status" ] || fail "$what: status $got"
        said "^memoir: ../ends $way .*$line"
        [ $rate != 0 ] || said '^ +peak 1\.[0-9]+ MiB .* in 1[0-9][0-9] allocations'
        clean 'ends-*.memoir'
    done
done <<'END'
x 3 exit 3
g 5 exit 5
s 139 ended by signal 11 \(Segmentation fault\)
a 134 ended by signal 6 \(Aborted\)
k 137 ended by signal 9 \(Killed\)
e 137 ended by signal 9 \(Killed\)
c 137 ended by signal 9 \(Killed\)
END

what='killed right after a pause'
memoir run -o late.memoir ../ends l 2>"$place/errors"
memoir time --json late.memoir >"$place/time.json" 2>/dev/null
memoir top --json late.memoir >"$place/top.json" 2>/dev/null
python3 - "$place/time.json" "$place/top.json" <<'END' || fail "$what: $(cat "$place/time.json")"
import json, sys
time, top = (json.load(open(name)) for name in sys.argv[1:])
points = time["points"]
assert time["duration_ns"] >= 1000000000 and time["peak_time_ns"] >= 1000000000, "before the pause"
assert points[-1]["live_bytes"] == top["total"] and points[0]["live_bytes"] <= 4 << 20, "not the end"
assert all(a["time_ns"] <= b["time_ns"] and a["allocated_bytes"] <= b["allocated_bytes"]
           for a, b in zip(points, points[1:])), "not in order"
END
find . -mindepth 1 -delete

what='killed right after a snapshot'
memoir run --exact -o late.memoir ../ends n 2>"$place/errors"
memoir time --json late.memoir >"$place/time.json" 2>/dev/null
memoir top --json late.memoir >"$place/top.json" 2>/dev/null
python3 - "$place/time.json" "$place/top.json" <<'END' || fail "$what: $(cat "$place/time.json")"
import json, sys
time, top = (json.load(open(name)) for name in sys.argv[1:])
points, moments = time["points"], time["moments"]
assert [m["name"] for m in moments if m["rows"]] == ["last", "Killed"], "another last snapshot"
assert all(a["time_ns"] <= b["time_ns"] for a, b in zip(moments, moments[1:])), "not in order"
assert moments[-1]["time_ns"] == time["duration_ns"] >= max(p["time_ns"] for p in points), "after the end"
assert points[-1]["live_bytes"] == moments[-1]["live_bytes"] == top["total"] == time["total"], "not the end"
END
find . -mindepth 1 -delete

what='kept as a file that was named, in another folder'
mkdir "$place/out put"
memoir run -o "$place/out put/x.memoir" ../ends k 2>"$place/errors"
memoir top "$place/out put/x.memoir" >"$place/out" 2>&1 || fail "$what: $(cat "$place/out")"
grep -q 'did not exit normally' "$place/out" || fail "$what: $(cat "$place/out")"
[ "$(stat -c %a "$place/out put/x.memoir")" = 600 ] || fail "$what: mode"

what='two runs in one folder'
"$MEMOIR_TOOL" run --exact ../ends w 2>"$place/errors" &
one=$!
memoir run --exact ../ends k 2>/dev/null
for _ in $(seq 100); do
    pid=$(pgrep -P $one) && break
    sleep 0.1
done
sleep 0.5
kill -9 "$pid"
wait $one
[ "$(find . -name 'ends-*.memoir' | wc -l)" -eq 2 ] || fail "$what: $(find . -mindepth 1)"
find . -mindepth 1 -delete

what='a limit on the size of files'
(ulimit -f 0 && memoir run --exact ../ends x; echo "status $?" >&2) 2>&1 | cat >"$place/errors"
said '^status 3$'
said 'nothing was recorded|File too large'
[ -z "$(shelves)" ] || fail "$what: left $(shelves)"
find . -mindepth 1 -delete

what='--detach'
expect 0 memoir run --exact --detach ../ends w >"$place/out" 2>"$place/errors"
pid=$(sed -n 's/^memoir: process \([0-9]*\) goes on and is recorded.*/\1/p' "$place/errors")
for _ in $(seq 100); do
    memoir recover 2>"$place/errors"
    grep -q "process $pid still runs" "$place/errors" && break
    sleep 0.1
done
memoir ps >"$place/errors" 2>&1
said "^ *$pid  under way   ../ends w"
shelf=$(dirname "$(shelves)")
mode=700
[ "$(id -u)" -ne 0 ] || mode=711 # its programs may change their user
[ "$(stat -c %a "$shelf")" = $mode ] || fail "$what: mode of the folder: $(stat -c %a "$shelf")"
[ -z "$(find "$shelf" -type f ! -perm 600)" ] || fail "$what: modes: $(ls -l "$shelf")"
expect 4 memoir recover "$shelf" 2>"$place/errors"
said "process $pid still runs"
memoir recover 2>"$place/errors" || fail "$what: $?"
said "process $pid still runs and is recorded: ../ends w"
kill -9 "$pid"
sleep 0.3
expect 0 memoir recover "$shelf" 2>"$place/errors"
said "^memoir: ../ends w   killed, or ended by _exit "
clean 'ends-*.memoir'

what='--detach, recover before the program has begun'
cat >"$place/slow.c" <<'END'
#include <unistd.h>
__attribute__((constructor)) static void wait_a_little(void)
{
    usleep(500000);
}
END
build -fPIC -shared "$place/slow.c" -o "$place/slow.so"
find . -mindepth 1 -delete
LD_PRELOAD=$place/slow.so "$MEMOIR_TOOL" run --exact --detach ../ends w 2>"$place/errors"
pid=$(sed -n 's/^memoir: process \([0-9]*\) goes on and is recorded.*/\1/p' "$place/errors")
memoir recover 2>"$place/errors"
said "process $pid still runs"
sleep 1
kill -9 "$pid"
sleep 0.3
memoir recover 2>"$place/errors"
clean 'ends-*.memoir'

what='memoir run is killed, too'
"$MEMOIR_TOOL" run --exact ../ends w 2>/dev/null &
one=$!
for _ in $(seq 100); do
    pid=$(pgrep -P $one) && [ -n "$(shelves)" ] && break
    sleep 0.1
done
sleep 0.5
expect 4 memoir recover "$(dirname "$(shelves)")" 2>"$place/errors"
said 'will finish it by itself'
kill -9 $one
wait $one 2>/dev/null
kill -9 "$pid"
sleep 0.3
expect 0 memoir recover --json "$(dirname "$(shelves)")" >"$place/errors"
said "\"file\": \"$place/here/ends-"
said '"running": false'
clean 'ends-*.memoir'

what='without memoir run'
MEMOIR=recorder:$place/here/state,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB ../ends k 2>/dev/null
expect 0 memoir recover state 2>"$place/errors"
said '^memoir: state.memoir, of process [0-9]+$'
clean state.memoir
MEMOIR=capture:$place/here/run.memoir,recorder:$place/here/state,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB \
    ../ends k 2>/dev/null
expect 0 memoir recover state 2>"$place/errors"
clean run.memoir
echo text >text
expect 3 memoir recover text 2>"$place/errors"
expect 3 memoir recover no/file 2>"$place/errors"
expect 3 memoir recover / 2>"$place/errors"
[ -e text ] || fail "a file that is not ours is gone"
find . -mindepth 1 -delete

if [ "$(id -u)" -eq 0 ]; then
    what='out of memory'
    group=
    if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
        group=/sys/fs/cgroup/memory/memoir-test-$$ limit=memory.limit_in_bytes
    elif grep -qs memory /sys/fs/cgroup/cgroup.subtree_control; then
        group=/sys/fs/cgroup/memoir-test-$$ limit=memory.max
    fi
    if [ -n "$group" ] && mkdir "$group" 2>/dev/null && echo 100M >"$group/$limit" 2>/dev/null; then
        sh -c 'echo $$ >"$1"/cgroup.procs && shift && exec "$@"' sh "$group" \
            "$MEMOIR_TOOL" run --exact ../ends m >"$place/out" 2>"$place/errors"
        said '^memoir: .* ended by signal 9 \(Killed\), out of memory '
        said '^ +peak [89][0-9]\.[0-9] MiB '
        clean 'ends-*.memoir'
    else
        echo "no cgroup with a limit can be made: out of memory is not tried"
    fi
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
fi
finish
