#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Every trigger makes its dumps and no others; forked and exec'd children write files of their own;
# dump.keep limits the files; a signal gets its dump while the program sleeps.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/dumps.c" -o "$place/program"

# run OPTIONS WORDS...: the program in an empty $place/out
run() {
    rm -rf "$place/out"
    mkdir "$place/out"
    options=$1
    shift
    MEMOIR=heap.rate:0,dump.prefix:$place/out/p,$options LD_PRELOAD=$MEMOIR_LIB \
        "$place/program" "$@" >"$place/said" 2>&1 || fail "$options: exit code $?"
    [ ! -s "$place/said" ] || fail "$options: said $(head -n 1 "$place/said")"
}

# made WHAT LEAST MOST: LEAST to MOST files with -WHAT- in their names, and no other ones
made() {
    of=$(find "$place/out" -name "p-*-$1-*.memoir" | wc -l)
    all=$(find "$place/out" -type f | wc -l)
    [ "$of" -ge "$2" ] && [ "$of" -le "$3" ] && [ "$of" -eq "$all" ] ||
        fail "$options: $of files of '$1', $all in all, not $2 to $3: $(ls -A "$place/out")"
}

run dump.every:10M grow 45
made allocated 4 4
run dump.every:10M grow 5
made allocated 0 0
run dump.freed:10M grow 45 shrink 35
made freed 3 3
run dump.growth:10M grow 25 shrink 20 grow 20 shrink 20 grow 36
made growth 4 4
run dump.peak:1M grow 60 shrink 60 grow 60
made peak 15 30
run dump.above:40M grow 50 shrink 8 grow 10 shrink 40 grow 40
made above 2 2
run dump.failure:on grow 1 fail fail
made failure 1 1
run dump.exit:on grow 1
made exit 1 1
run dump.exit:on grow 1 quit
made exit 0 0
run dump.exit:on grow 1 fork grow 1
made exit 2 2
run dump.exit:on grow 1 fork exec grow 1
made exit 2 2
run dump.exit:on close grow 1
made exit 1 1
run dump.exit:on threads grow 20
made exit 1 1
run dump.every:1M,dump.keep:3 grow 30
made allocated 3 3
run dump.every:1M,dump.keep_bytes:1,dump.exit:on grow 30
made exit 1 1
run dump.interval:100ms grow 1
made time 0 0
run heap:off,dump.every:1M grow 10
made allocated 0 0

# A share of the limit on the address space.
if (ulimit -v 4000000) 2>/dev/null; then
    ulimit -Sv 4000000
    run dump.above_percent:1 grow 60
    made above 1 1
    ulimit -Sv unlimited
fi

# The formats are what they say.
run dump.exit:on,dump.format:pprof grow 1
gzip -t "$place"/out/p-*-exit-*.pb.gz || fail "pprof: not gzip"
run dump.exit:on,dump.format:jemalloc grow 1
grep -q '^heap_v2/' "$place"/out/p-*-exit-*.heap || fail "jemalloc: no heap_v2"
run dump.exit:on,dump.format:gperftools grow 1
grep -q '^heap profile:' "$place"/out/p-*-exit-*.heap || fail "gperftools: no heap profile"

# Signals: while the program sleeps in the kernel, and while its threads are inside malloc.
for words in "grow 1 wait" "threads grow 1 wait"; do
    rm -rf "$place/out"
    mkdir "$place/out"
    : >"$place/said"
    # shellcheck disable=SC2086
    MEMOIR=heap.rate:0,dump.prefix:$place/out/p,dump.signal:10 LD_PRELOAD=$MEMOIR_LIB \
        "$place/program" $words >"$place/said" 2>&1 &
    tries=0
    until grep -q waiting "$place/said" || [ $tries -ge 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    for n in 1 2 3; do
        kill -USR1 $!
        tries=0
        until [ "$(find "$place/out" -name 'p-*-signal-*' | wc -l)" -ge $n ] || [ $tries -ge 200 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
    done
    kill -TERM $!
    wait $! || fail "$words: exit code $?"
    options="dump.signal:10 $words"
    made signal 3 3
done

# All at once: threads, signals, forks, limits that are reached again and again.
run dump.format:pprof,dump.signal:10,dump.every:1M,dump.exit:on,dump.keep:4 threads grow 10 storm 200
for file in "$place"/out/*; do
    gzip -t "$file" || fail "a storm: $file is torn"
done
[ "$(find "$place/out" -name "p-*-exit-*" | wc -l)" -eq 21 ] ||
    fail "a storm: $(find "$place/out" -name "p-*-exit-*" | wc -l) last dumps, not 21"

# The capture of the run, one file a process.
run capture:$place/out/run.memoir,capture.interval:never grow 1 snapshot mark here fork snapshot
[ "$(find "$place/out" -type f | wc -l)" -eq 2 ] || fail "capture: $(ls -A "$place/out")"
[ -s "$place/out/run.memoir" ] || fail "capture: no file of the parent's"
echo precious >"$place/mine"
MEMOIR=capture:$place/mine LD_PRELOAD=$MEMOIR_LIB "$place/program" grow 1 2>"$place/said"
grep -q '^memoir: no capture ' "$place/said" || fail "capture: another file, and not a word"
[ "$(cat "$place/mine")" = precious ] || fail "capture: replaced a file that is none"

# Calls.
run dump.format:jemalloc stop grow 1 start grow 2 stop grow 1 dump "$place/out/called"
grep -q '^  t\*: [0-9]*: 2097152 ' "$place/out/called" ||
    fail "start and stop: $(sed -n 2p "$place/out/called")"
finish
