#!/bin/sh
# SPDX-License-Identifier: MIT
# varnishd under load: hundreds of threads that share one alternate signal stack, a second process that has dropped
# root. Every answer arrives, and the process that serves does not die.
. "$(dirname "$0")/../../programs/same.sh"
export PATH="$PATH:/usr/sbin"
need varnishd python3 ab curl
port=$((20000 + $$ % 20000))
mkdir "$place/site"
echo small >"$place/site/small.txt"
chmod 755 "$place" "$place/site"
(cd "$place/site" && LD_PRELOAD='' exec python3 -m http.server --bind 127.0.0.1 $port >/dev/null 2>&1) &
behind=$!

serve() {
    rm -rf "$place/varnish"
    varnishd -F -a "127.0.0.1:$((port + 1))" -b "127.0.0.1:$port" -n "$place/varnish" -s malloc,64m >log 2>&1 &
    server=$!
    tries=0
    until LD_PRELOAD='' curl -sf "http://127.0.0.1:$((port + 1))/small.txt" >/dev/null || [ $tries -gt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    LD_PRELOAD='' ab -q -n 5000 -c 20 "http://127.0.0.1:$((port + 1))/small.txt" | grep -E '^(Complete|Failed|Non-2xx)'
    kill -TERM $server
    wait $server
    echo "server ended with $?"
    grep -i 'died\|panic\|memoir' log
    rm -f log
}
same varnishd serve
kill $behind
finish
