#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# The functions of gperftools' CPU profiler and its switch CPUPROFILESIGNAL answer as gperftools' own,
# and write the same files: what profiler_calls_agree.c prints is what it prints with libprofiler, where
# there is one.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build -pthread "$root/tests/programs/profiler_calls_agree.c" -I"$root/include" -o calls
theirs=$(ls /usr/lib/*/libprofiler.so.0 2>/dev/null | head -n 1)

try() { # FOLDER LIBRARY
    rm -rf "$1"
    mkdir "$1"
    cd "$1" || exit 2
    LD_PRELOAD=$2 ../calls >told 2>err || fail "$1: $?: $(cat told err)"
    echo "said $(grep -c '^PROFILE: ' err) times" >>told
    CPUPROFILE=s.prof CPUPROFILESIGNAL=12 LD_PRELOAD=$2 ../calls switch >out 2>err || fail "$1, switch: $?: $(cat err)"
    echo "said $(grep -c '^PROFILE: ' err) times" >>told
    for file in s.prof*; do
        [ -s "$file" ] && echo "$file" >>told
    done
    grep -v '^PROFILE: interrupts/evictions/bytes = [0-9]*/0/[0-9]*$' err >>told
    for signal in 12x '' 65 x; do # gperftools ends the program for the last three
        CPUPROFILE=t.prof CPUPROFILESIGNAL=$signal LD_PRELOAD=$2 ../calls switch >out 2>err
        [ "$signal" = 12x ] && grep 'Using signal' err >>told
        [ ! -e t.prof ] || fail "$1: CPUPROFILESIGNAL=$signal starts a profile"
        rm -f t.prof*
    done
    cd .. || exit 2
}

try ours "$MEMOIR_LIB"
cat >expected <<'EOF'
before: enabled 0, for all threads 0, '', started never, samples none
start 1
started: enabled 1, for all threads 1, 'a.prof', started now, samples none
again 0
b.prof is not there
running: enabled 1, for all threads 1, 'a.prof', started now, samples some
a.prof is not there
a.prof is not there
../a.prof is there
stopped: enabled 0, for all threads 0, '', started never, samples none
start 1
started anew: enabled 1, for all threads 1, '../c.prof', started now, samples none
../c.prof is there
no folder 0
not started: enabled 0, for all threads 0, '', started never, samples none
with a filter 1
with another 0
refused thread: enabled 1, for all threads 1, 'filtered.prof', started now, samples none
other thread: its samples
asked 1, in vain 0
without one 1
without a filter: enabled 1, for all threads 1, 'other.prof', started now, samples some
said 4 times
said 2 times
s.prof.0
s.prof.1
Using signal 12 as cpu profiling switch
Using signal 12 as cpu profiling switch
EOF
diff expected ours/told >wrong || fail "$(cat wrong)"
if [ -n "$theirs" ]; then
    for turn in 1 2 3 4; do # its samples depend on what else runs
        try theirs "$theirs"
        diff expected theirs/told >wrong && break
    done
    [ ! -s wrong ] || fail "gperftools itself, in turn $turn: $(cat wrong)"
fi
finish
