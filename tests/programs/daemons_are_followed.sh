#!/bin/sh
# SPDX-License-Identifier: MIT
# `memoir run` of a program that goes on in the background (fork, setsid, the first process ends):
# run says so, stays until it has ended, says how it ended, and keeps its recording. Signals that a
# process sends to run go to it; Ctrl-C leaves it alone. Real redis-server and nginx among them.
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin
build -no-pie "$root/tests/programs/run_target.c" -o "$place/target"
mkdir "$place/here"
cd "$place/here" || exit 2
LC_ALL=C.UTF-8
export LC_ALL
memoir() { "$MEMOIR_TOOL" "$@"; }

said() { # PATTERN
    grep -Eq -- "$1" "$place/errors" || fail "$what: no line '$1' in: $(cat "$place/errors")"
}
start() { # ARGUMENTS of memoir run: then $run is its process, $daemon the one that goes on
    : >"$place/errors"
    "$MEMOIR_TOOL" run "$@" >"$place/out" 2>"$place/errors" &
    run=$!
    daemon=
    for _ in $(seq 200); do
        daemon=$(sed -n 's/^memoir: process \([0-9]*\) goes on in the background: .*/\1/p' "$place/errors")
        [ -n "$daemon" ] && break
        kill -0 $run 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$daemon" ] || fail "$what: nothing is said of the daemon: $(cat "$place/errors")"
}
ends() { # STATUS: run ends with it, and one recording is there
    wait $run
    got=$?
    [ "$got" -eq "$1" ] || fail "$what: status $got"
    case "$(find . -mindepth 1 -name '*' ! -name 'socket*')" in
    ./*-"$daemon"-*.memoir) ;;
    *) fail "$what: files $(find . -mindepth 1)" ;;
    esac
}
clear() { find . -mindepth 1 -delete; }

what='ends by itself'
start --exact ../target daemon
grep -q 'recorded until it ends' "$place/errors" || fail "$what: $(cat "$place/errors")"
kill -USR1 "$daemon"
ends 0
said '^memoir: ../target daemon   exit 0   .*recorded every block$'
said "^    the largest of 2 processes, $daemon: ../target daemon   exit 0\$"
memoir top ./*.memoir 2>/dev/null | grep -q keep_some || fail "$what: nothing in the recording"
clear

what='a daemon that does nothing is killed'
build -x c - -o ../idle <<'END'
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
int main(void)
{
    kept = malloc(5000000);
    if (daemon(1, 1) != 0)
        return 1;
    for (;;)
        pause();
}
END
start ../idle
sleep 0.3
kill -KILL "$daemon"
wait $run
said "^    process $daemon, in the background:   ended by signal 9|^    the largest of 2 processes, $daemon: ../idle   ended by signal 9"
clear

what='a signal for run is for the daemon'
start --exact ../target daemon
for _ in $(seq 100); do
    grep -q ready "$place/out" && break # then it has its handler
    sleep 0.1
done
kill -TERM $run
ends 0
grep -q 'signal 15' "$place/out" || fail "$what: it did not get it"
clear

what='a signal ends the daemon'
start --exact ../target daemon
kill -HUP "$daemon"
ends 0
said "^    the largest of 2 processes, $daemon: ../target daemon   ended by signal 1 \\(Hangup\\)\$"
clear

what='children that end soon'
expect 0 memoir run --exact sh -c '../target & ../target & exit 0' 2>"$place/errors"
said '^    the largest of [23] processes, '
clear

what='without the library'
build -static "$root/tests/programs/run_target.c" -o "$place/static" 2>/dev/null
expect 0 timeout 20 "$MEMOIR_TOOL" run --exact sh -c "$place/static daemon; ../target" >"$place/out" 2>"$place/errors"
grep -q 'goes on' "$place/errors" && fail "$what: $(cat "$place/errors")"
pid=$(pgrep -f "^$place/static daemon\$") && kill -USR1 "$pid"
clear

if command -v python3 >/dev/null; then
    what='Ctrl-C leaves it alone'
    python3 "$root/tests/programs/ctrl_c.py" c@2 sh -c \
        'echo ready; exec "$0" run --exact ../target session >/dev/null' "$MEMOIR_TOOL" \
        >"$place/out" 2>"$place/errors"
    daemon=$(sed -n 's/^memoir: process \([0-9]*\) goes on in the background: .*/\1/p' "$place/errors")
    grep -q '^status 0 after' "$place/out" || fail "$what: $(cat "$place/out" "$place/errors")"
    said "^memoir: process $daemon goes on and is recorded; when it has ended: memoir recover\$"
    kill -0 "$daemon" || fail "$what: it has ended"
    kill -USR1 "$daemon"
    for _ in $(seq 100); do
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.1
    done
    memoir recover .memoir-* 2>"$place/errors" || fail "$what: $(cat "$place/errors")"
    said '^memoir: ../target session '
    memoir top ./*.memoir 2>/dev/null | grep -q keep_some || fail "$what: its recording: $(find . -mindepth 1)"
    clear
fi

if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
    what=redis-server
    start redis-server --port 0 --unixsocket "$place/redis" --save "" --dir "$place" --daemonize yes
    for _ in $(seq 200); do
        redis-cli -s "$place/redis" PING >/dev/null 2>&1 && break
        sleep 0.05
    done
    i=0
    while [ $i -lt 500 ]; do
        echo "SET key:$i $(printf %020000d $i)"
        i=$((i + 1))
    done | redis-cli -s "$place/redis" >/dev/null
    redis-cli -s "$place/redis" SHUTDOWN NOSAVE
    ends 0
    said "processes, $daemon: .*redis-server .*   exit 0\$"
    said '^ +peak 1[0-9]\.[0-9] MiB '
    find . -name "redis-server-[0-9]*-$daemon-*.memoir" | grep -q . || fail "$what: not named after it: $(ls)"
    clear
fi

if command -v nginx >/dev/null && [ "$(id -u)" -eq 0 ]; then
    what=nginx
    mkdir "$place/nginx"
    cat >"$place/nginx/conf" <<END
daemon on;
worker_processes 2;
pid $place/nginx/pid;
error_log $place/nginx/errors;
events { worker_connections 16; }
http {
    access_log off;
    client_body_temp_path $place/nginx/a;
    proxy_temp_path $place/nginx/b;
    fastcgi_temp_path $place/nginx/c;
    uwsgi_temp_path $place/nginx/d;
    scgi_temp_path $place/nginx/e;
    server { listen unix:$place/nginx/socket; }
}
END
    start --output "$place/here" nginx -c "$place/nginx/conf" -p "$place/nginx"
    for _ in $(seq 100); do
        [ -s "$place/nginx/pid" ] && break
        sleep 0.1
    done
    master=$(cat "$place/nginx/pid")
    nginx -c "$place/nginx/conf" -p "$place/nginx" -s quit
    wait $run || fail "$what: status $?"
    find . -name "nginx-*-$master-*.memoir" | grep -q . || fail "$what: $(find . -mindepth 1)"
    [ "$(find . -name '*.memoir' | wc -l)" -ge 2 ] || fail "$what: $(find . -mindepth 1)"
    clear
    what='nginx, killed'
    rm -f "$place/nginx/pid" "$place/nginx/socket"
    start --output "$place/here" nginx -c "$place/nginx/conf" -p "$place/nginx"
    master=$daemon
    for _ in $(seq 100); do
        [ "$(pgrep -P "$master" | wc -l)" -eq 2 ] && break
        sleep 0.1
    done
    sleep 0.3 # the master sleeps by then, as it will until it is killed
    workers=$(pgrep -P "$master")
    kill -KILL "$master" $workers
    wait $run
    find . -name "nginx-*-$master-*.memoir" | grep -q . || fail "$what: $(find . -mindepth 1)"
    clear
fi
finish
