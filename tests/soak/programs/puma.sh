#!/bin/sh
# SPDX-License-Identifier: MIT
# puma under load: Ruby with threads and forked workers, which free their alternate signal stacks before SIGTERM
# ends them. Every answer arrives, and server and workers end as they do without memoir.
. "$(dirname "$0")/../../programs/same.sh"
need puma ab curl
port=$((20000 + $$ % 20000))
cat >"$place/puma.rb" <<END
app { |environment| [200, {}, ["x" * (environment["QUERY_STRING"].to_i)]] }
bind "tcp://127.0.0.1:$port"
workers 2
threads 2, 4
END

serve() {
    puma -q -C "$place/puma.rb" >log 2>&1 &
    server=$!
    tries=0
    until LD_PRELOAD='' curl -sf "http://127.0.0.1:$port/?1" >/dev/null || [ $tries -gt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    LD_PRELOAD='' ab -q -n 500 -c 4 "http://127.0.0.1:$port/?5000" | grep -E '^(Complete|Failed|Non-2xx)'
    kill -TERM $server
    wait $server
    echo "server ended with $?"
    grep -i 'SEGV\|\[BUG\]\|memoir' log
    rm -f log
}
same puma serve
finish
