#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# Who may ask workers of real daemons that root started: memcached stays protected by the kernel
# after it changed its user and answers only root; nginx makes its workers dumpable again, and they
# answer their own user, too.
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin
need nginx memcached setpriv python3
[ "$(id -u)" -eq 0 ] || skip "it takes root"
id www-data >/dev/null 2>&1 || skip "there is no user www-data"
running=''
trap 'for p in $running; do kill "$p" 2>/dev/null; done; rm -rf "$place"' EXIT
open_place
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
cp "$MEMOIR_TOOL" "$place/memoir"
chmod 755 "$place"/*
web="setpriv --reuid=www-data --regid=www-data --clear-groups env TMPDIR=/tmp"
other="setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR=/tmp"

answers() { # NAME COMMAND...
    said=$("$@" 2>&1) || fail "is refused: $*: $said"
}
refuses() { # TEXT COMMAND...
    wanted=$1
    shift
    got=0
    said=$("$@" 2>&1) || got=$?
    [ "$got" -eq 4 ] || fail "exit code $got: $*"
    case $said in
    *"$wanted"*) ;;
    *) fail "$*: $said" ;;
    esac
}

port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
LD_PRELOAD=$place/libmemoir.so memcached -u www-data -l 127.0.0.1 -p "$port" 2>"$place/errors" &
worker=$!
running=$worker
for _ in $(seq 100); do
    [ "$(stat -c %U "/proc/$worker")" = www-data ] && break
    sleep 0.1
done
answers "$place/memoir" ctl "$worker" stats
answers "$place/memoir" top "$worker"
refuses 'answers only root' $web "$place/memoir" ctl "$worker" stats
refuses 'answers only root' $web "$place/memoir" top "$worker"
refuses 'belongs to www-data' $other "$place/memoir" top "$worker"
kill "$worker"
wait "$worker"
quiet "$place/errors"

mkdir "$place/nginx"
cat >"$place/nginx/conf" <<END
user www-data www-data;
daemon off;
worker_processes 1;
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
LD_PRELOAD=$place/libmemoir.so nginx -c "$place/nginx/conf" -p "$place/nginx" 2>"$place/errors" &
master=$!
running=$master
worker=
for _ in $(seq 100); do
    worker=$(cat "/proc/$master/task/$master/children")
    worker=${worker%% *}
    [ -n "$worker" ] && [ "$(stat -c %U "/proc/$worker/mem")" = www-data ] && break
    sleep 0.1
done
answers "$place/memoir" ctl "$worker" stats
answers $web "$place/memoir" ctl "$worker" stats
answers $web "$place/memoir" top "$worker"
refuses 'belongs to www-data' $other "$place/memoir" ctl "$worker" stats
refuses 'belongs to root' $web "$place/memoir" ctl "$master" stats
kill "$master"
wait "$master"
quiet "$place/errors"
finish
