#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# gperftools' CPU profiler as its guides use it: CPUPROFILE and its relatives, ProfilerStart. What the
# profile says is what the program knows of itself, by function, thread and kind of time; google-pprof
# reads it.
. "$(dirname "$0")/common.sh"
need python3 nm
cd "$place" || exit 2
build -no-pie "$root/tests/programs/cpu_work.c" -o work
reader=$root/tests/programs/cpu_profile.py

# profile VARIABLES... -- ARGUMENTS...
profile() {
    rm -f p.prof*
    variables=
    while [ "$1" != -- ]; do
        variables="$variables $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    env LD_PRELOAD="$MEMOIR_LIB" MEMOIR="$mode" CPUPROFILE=p.prof $variables ./work "$@" >told 2>err ||
        fail "exit code $?: $variables $*: $(cat err)"
}

agrees() { # WORDS
    samples=$(sed -n 's|^PROFILE: .* = \([0-9]*\)/.*|\1|p' err)
    python3 "$reader" shares ./work p.prof told "$samples" >wrong 2>&1 || fail "$*: $(cat wrong)"
}

said() { # COUNT PATTERN
    [ "$(grep -c "$2" err)" -eq "$1" ] || fail "$1 times '$2': $(cat err)"
}

# ---- shares, by function and kind of time
profile -- shares 1 1000
agrees "one thread"
said 1 '^PROFILE: interrupts/evictions/bytes = [1-9][0-9]*/0/[1-9][0-9]*$'
[ "$(wc -l <err)" -eq 1 ] || fail "more is said: $(cat err)"
profile CPUPROFILE_FREQUENCY=1000 -- shares 4 500
agrees "four threads, 1000 Hz"
profile CPUPROFILE_FREQUENCY=4000 -- shares 16 200
agrees "16 threads, 4000 Hz"
profile CPUPROFILE_FREQUENCY=1000 -- system 1500
agrees "system calls"
# threads that end before their clock rings, and before the kernel looks at it
profile -- short 1200 1000
agrees "threads of 1 ms"
profile CPUPROFILE_FREQUENCY=1000 -- short 300 5000
agrees "threads of 5 ms"

# ---- google-pprof
if command -v google-pprof >/dev/null 2>&1; then
    profile -- shares 1 500
    google-pprof --text ./work p.prof >shown 2>/dev/null
    grep -q ' part_10$' shown || fail "google-pprof: $(head -5 shown)"
fi

# ---- ProfilerStart: the second call fails, what is before and after is not in the file
rm -f p.prof
LD_PRELOAD=$MEMOIR_LIB ./work calls p.prof 600 >told 2>err || fail "calls: $?"
grep -qx 'started 1' told && grep -qx 'again 0' told || fail "ProfilerStart: $(cat told)"
said 1 '^PROFILE: '
python3 "$reader" total p.prof 570e6 680e6 >wrong || fail "calls: $(cat wrong)"
[ ! -e other ] || fail "the refused call left a file"
LD_PRELOAD=$MEMOIR_LIB ./work calls missing/p.prof 10 >told 2>err
grep -qx 'started 0' told || fail "ProfilerStart without a folder: $(cat told)"

# ---- a forked child has a file of its own, a program that was started by a profiled one, too
profile -- fork 400
child=$(sed -n 's/^child //p' told)
python3 "$reader" total p.prof 300e6 550e6 >wrong || fail "parent: $(cat wrong)"
python3 "$reader" total "p.prof_$child" 300e6 550e6 >wrong || fail "child: $(cat wrong)"
profile -- fork 400 exec
child=$(sed -n 's/^child //p' told)
python3 "$reader" total p.prof 300e6 550e6 >wrong || fail "parent of an exec: $(cat wrong)"
python3 "$reader" total "p.prof_$child" 300e6 550e6 >wrong || fail "exec: $(cat wrong)"

# ---- CPUPROFILESIGNAL
rm -f p.prof*
CPUPROFILE=p.prof CPUPROFILESIGNAL=12 LD_PRELOAD=$MEMOIR_LIB ./work shares 1 4000 >told 2>err &
# Of its 4 seconds, at least 0.2 pass before each signal, and at least 0.1 behind the last.
for step in 1 2 3 4; do
    from=$(cut -d' ' -f14 /proc/$!/stat)
    while kill -0 $! && [ "$(cut -d' ' -f14 /proc/$!/stat)" -lt $((from + 20)) ]; do sleep 0.02; done
    kill -12 $! || fail "it is gone"
done
wait $! || fail "switched: exit code $?"
said 1 '^Using signal 12 as cpu profiling switch$'
said 2 '^PROFILE: '
for file in p.prof.0 p.prof.1; do
    python3 "$reader" total $file 150e6 3500e6 >wrong || fail "$file: $(cat wrong)"
done
[ ! -e p.prof ] || fail "there is a file without a number"

# ---- what can't be
CPUPROFILE=missing/x LD_PRELOAD=$MEMOIR_LIB ./work shares 1 10 >told 2>err || fail "missing folder: $?"
said 1 "^Can't turn on cpu profiling for 'missing/x': "
finish
