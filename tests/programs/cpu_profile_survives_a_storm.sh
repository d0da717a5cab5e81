#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# A CPU profile at its highest rate while threads throw, load and unload libraries, allocate, fork, start
# threads, jump and switch stacks: see cpu_profile_survives_a_storm.cc. No hang, no crash, and every kind of
# work goes on. MEMOIR_STORM_SECONDS makes it longer.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
command -v "$CXX" >/dev/null 2>&1 || skip "there is no C++ compiler"
storm_library
"$CXX" -std=c++17 -O1 -g -w "$root/tests/programs/cpu_profile_survives_a_storm.cc" -pthread -ldl -o storm || exit 2
seconds=${MEMOIR_STORM_SECONDS:-3}
for options in '' heap.rate:0; do
    MEMOIR=$options CPUPROFILE=p.prof CPUPROFILE_FREQUENCY=4000 LD_PRELOAD=$MEMOIR_LIB \
        timeout $((seconds + 60)) ./storm ./library.so "$seconds" >out 2>err ||
        fail "exit code $? with '$options': $(cat out err)"
    [ "$(grep -c '^PROFILE: ' err)" -eq 1 ] || fail "what is said: $(head -5 err)"
    [ -s p.prof ] || fail "no profile"
done
MEMOIR=cpu:on,cpu.rate:10000,capture:$place/run.memoir,recorder:$place/state LD_PRELOAD=$MEMOIR_LIB \
    timeout $((seconds + 60)) ./storm ./library.so "$seconds" >out 2>err || fail "exit code $? at 10 kHz: $(cat out err)"
"$MEMOIR_TOOL" top --metric cpu run.memoir >out 2>&1 || fail "at 10 kHz: $(cat out)"
finish
