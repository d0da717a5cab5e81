#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of the distribution that are linked with libjemalloc or libtcmalloc, on our libraries of
# these names and without a rebuild: their statistics are ours, and their profiles are written.
. "$(dirname "$0")/common.sh"
names=$(dirname "$MEMOIR_LIB")/compat
cd "$place" || exit 2
tried=0

linked() { # PROGRAM LIBRARY: whether it is installed and needs that library
    path=$(command -v "$1") && ldd "$path" 2>/dev/null | grep -q "$2"
}

redis() {
    LD_LIBRARY_PATH=$names MALLOC_CONF=prof:true,prof_final:true,prof_prefix:redis \
        redis-server --port 0 --unixsocket "$place/socket" --save "" --dir . --daemonize no >log 2>&1 &
    server=$!
    tries=0
    while ! redis-cli -s "$place/socket" PING >answer 2>&1 && [ $tries -lt 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    redis-cli -s "$place/socket" DEBUG POPULATE 1000 >answer 2>&1
    redis-cli -s "$place/socket" MEMORY MALLOC-STATS >stats
    redis-cli -s "$place/socket" INFO memory | tr -d '\r' >memory
    redis-cli -s "$place/socket" MEMORY PURGE >purged
    redis-cli -s "$place/socket" SHUTDOWN NOSAVE >answer 2>&1
    wait $server || fail "redis-server ended with $?: $(tail -n 3 log)"
    grep -q 'gmemoir' stats || fail "redis: MEMORY MALLOC-STATS is not ours: $(head -n 3 stats)"
    [ "$(cat purged)" = OK ] || fail "redis: MEMORY PURGE: $(cat purged)"
    for key in allocator_allocated allocator_active allocator_resident; do
        value=$(sed -n "s/^$key://p" memory)
        [ "${value:-0}" -gt 100000 ] || fail "redis: $key is ${value:-nothing}"
    done
    set -- redis.*.f.heap
    [ -e "$1" ] || fail "redis: no dump at the end: $(ls)"
    "$MEMOIR_TOOL" top "$1" >top 2>&1 || fail "redis: the dump can't be read: $(cat top)"
}

prolog() {
    LD_LIBRARY_PATH=$names HEAPPROFILE=$place/swipl swipl \
        -g 'malloc_property(P), P =.. [N, V], write(N-V), nl, fail ; true' -t halt >properties 2>log ||
        fail "swipl ended with $?: $(cat log)"
    grep -q '^generic.current_allocated_bytes-[1-9]' properties || fail "swipl: $(cat properties)"
    "$MEMOIR_TOOL" top swipl.0001.heap >top 2>&1 || fail "swipl: no profile: $(cat log top)"
}

if linked redis-server libjemalloc && command -v redis-cli >/dev/null; then
    tried=1
    redis
fi
if linked swipl libtcmalloc; then
    tried=1
    prolog
fi
[ $tried -eq 1 ] || skip "neither redis-server with libjemalloc nor swipl with libtcmalloc is installed"
finish
