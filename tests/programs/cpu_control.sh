#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# The CPU profile by options, by the calls of memoir.h and from outside: started, stopped, changed and
# forgotten several times in one run; in a capture beside the heap, as pprof's file and as gperftools'.
. "$(dirname "$0")/common.sh"
need python3 nm
cd "$place" || exit 2
build -no-pie "$root/tests/programs/cpu_work.c" -o work
reader=$root/tests/programs/cpu_profile.py

value() { # KEY: of the last answer
    sed -n "s/^$1://p" answer
}

between() { # NUMBER LOW HIGH WORDS
    awk -v n="${1:-x}" -v low="$2" -v high="$3" 'BEGIN { exit !(n + 0 >= low && n + 0 <= high) }' ||
        fail "$4: ${1:-nothing}, not $2 to $3"
}

# ---- options: one capture has heap and CPU
MEMOIR=cpu:on,cpu.rate:1000,heap.rate:0,capture:run.memoir LD_PRELOAD=$MEMOIR_LIB ./work shares 2 400 >told 2>err ||
    fail "exit code $?: $(cat err)"
quiet err
"$MEMOIR_TOOL" top --metric cpu --json run.memoir >cpu.json 2>err || fail "the capture: $(cat err)"
grep -q part_10 cpu.json || fail "no function in the capture: $(head -c 300 cpu.json)"
"$MEMOIR_TOOL" top --metric alloc_space run.memoir >shown 2>err || fail "its heap: $(cat err)"

# ---- from outside
ask() { # VERB...
    "$MEMOIR_TOOL" ctl "$program" "$@" >answer 2>err || fail "ctl $*: $(cat answer err)"
}
LD_PRELOAD=$MEMOIR_LIB ./work shares 2 30000 >/dev/null 2>said &
program=$!
sleep 0.3
ask cpu
[ "$(value cpu)" = off ] && [ "$(value cpu.samples)" = 0 ] || fail "before: $(cat answer)"
ask cpu start 500
[ "$(value cpu)" = on ] && [ "$(value cpu.rate)" = 500 ] || fail "start: $(cat answer)"
between "$(value cpu.threads)" 3 3 "threads that were there before"
sleep 1.5
ask cpu rate 50
[ "$(value cpu.rate)" = 50 ] || fail "rate: $(cat answer)"
between "$(value cpu.samples)" 3 100000 "samples of threads that were there before"
ask cpu stop
samples=$(value cpu.samples)
sleep 0.5
ask cpu
[ "$(value cpu)" = off ] && [ "$(value cpu.samples)" = "$samples" ] || fail "samples after the stop: $(cat answer)"
ask cpu dump gperftools
python3 "$reader" has ./work "$(value dump)" spend_all >share || fail "gperftools' file"
between "$(cat share)" 90 100 "share of the function that all threads are in"
ask cpu dump pprof
if command -v go >/dev/null 2>&1; then
    HOME=$place go tool pprof -top "$(value dump)" >shown 2>/dev/null
    grep -q '^Type: cpu' shown && grep -q ' part_10$' shown || fail "go tool pprof: $(cat shown)"
fi
ask cpu dump memoir
"$MEMOIR_TOOL" top --metric cpu "$(value dump)" >shown 2>err && grep -q part_10 shown || fail "memoir's file: $(cat err)"
ask cpu reset
[ "$(value cpu.samples)" = 0 ] || fail "reset: $(cat answer)"
ask cpu start
[ "$(value cpu.rate)" = 50 ] || fail "the last rate: $(cat answer)"
sleep 1.5
ask set cpu.rate=1000
ask cpu
between "$(value cpu.samples)" 1 100000 "samples after a second start"
[ "$(value cpu.rate)" = 1000 ] || fail "set: $(cat answer)"
! "$MEMOIR_TOOL" ctl $program cpu start 10001 >answer 2>&1 && grep -q '1 to 10000' answer || fail "rate: $(cat answer)"
! "$MEMOIR_TOOL" ctl $program cpu nonsense >answer 2>&1 && grep -q 'start' answer || fail "verb: $(cat answer)"
kill $program
wait $program 2>/dev/null
quiet said

# ---- calls
cat >calls.c <<'END'
#include <memoir/memoir.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    volatile unsigned long sum = 0;
    for (int round = 0; round < 2; round++) {
        if (memoir_cpu_start(1000) != 0)
            return 1;
        clock_t end = clock() + CLOCKS_PER_SEC / 3;
        while (clock() < end)
            for (int i = 0; i < 10000; i++)
                sum += i;
        memoir_cpu_stop();
    }
    return memoir_cpu_dump("calls.prof") != 0;
}
END
build calls.c -o calls -L"$(dirname "$MEMOIR_LIB")" -lmemoir -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
MEMOIR=dump.format:gperftools ./calls 2>err || fail "calls: $? $(cat err)"
python3 "$reader" total calls.prof 600e6 760e6 >wrong || fail "two rounds of 333 ms: $(cat wrong)"
finish
