#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Memory runs out at every sampling rate: each entry point returns NULL with ENOMEM within a second,
# and works again after memory was freed; one thread and several, with our options and with those
# of jemalloc and gperftools.
. "$(dirname "$0")/common.sh"
CC=$CXX build "$root/tests/programs/exhaustion_ends_in_enomem.cc" -o "$place/program"
ulimit -c 0

run() { # NAME ASSIGNMENT [THREADS]
    env "$2" LD_PRELOAD="$MEMOIR_LIB" "$place/program" ${3-} >"$place/out" 2>&1
    code=$?
    [ $code -ne 77 ] || skip "this system has no limit on the address space"
    [ $code -eq 0 ] || fail "$1${3:+, $3 threads}: exit code $code: $(head -n 3 "$place/out")"
}
for rate in 0 1 1K 30K 512K; do
    run "rate $rate" MEMOIR=heap.rate:$rate
done
run "no sampling" MEMOIR=heap:off
run "jemalloc's options" MALLOC_CONF=prof:true,lg_prof_sample:10
run "gperftools' option" TCMALLOC_SAMPLE_PARAMETER=1024
for rate in 0 1 1K; do
    run "rate $rate" MEMOIR=heap.rate:$rate 4
done
finish
