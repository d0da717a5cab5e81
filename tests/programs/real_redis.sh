#!/bin/sh
# SPDX-License-Identifier: MIT
# redis-server answers the same under the library and saves its data. (Debian links it with
# jemalloc; preloaded, malloc is ours, and jemalloc only gets the questions about statistics that
# it alone understands.)
. "$(dirname "$0")/same.sh"
need redis-server redis-cli

commands() {
    i=0
    while [ $i -lt 3000 ]; do
        echo "SET key:$i value-$i"
        echo "LPUSH list:$((i % 20)) $i"
        echo "HSET hash:$((i % 50)) field$i $((i * 3))"
        echo "ZADD ranks $((i * 7919 % 1009)) member$i"
        i=$((i + 1))
    done
    echo "APPEND big $(head -c 40000 /dev/zero | tr '\0' b)"
}
serve() {
    commands >commands
    redis-server --port 0 --unixsocket "$place/socket" --save "" --dir . --daemonize no >log 2>&1 &
    server=$!
    tries=0
    while ! redis-cli -s "$place/socket" PING >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ]; then
            echo "no answer"
            break
        fi
        sleep 0.05
    done
    redis-cli -s "$place/socket" <commands | cksum
    for question in "DBSIZE" "GET key:77" "LRANGE list:3 0 5" "HLEN hash:7" "ZRANGE ranks 0 5" "STRLEN big" \
        "SORT list:4 LIMIT 0 3" "EVAL return(redis.call('get','key:5')) 0" "DEL key:1 key:2" "SAVE" "DBSIZE"; do
        # shellcheck disable=SC2086
        redis-cli -s "$place/socket" $question
    done
    redis-cli -s "$place/socket" SHUTDOWN NOSAVE
    wait $server
    echo "server ended with $?"
    rm -f dump.rdb log # times and process ids
}

same "redis" serve
finish
