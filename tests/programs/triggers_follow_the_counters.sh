#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Dumps that are made every N bytes come as often as the program's bytes say, in every run:
# they follow the allocator's counters and not the estimate of a sampled profile.
. "$(dirname "$0")/common.sh"
build "$(dirname "$0")/interval.c" -o "$place/interval"
cd "$place" || exit 2

dumps() { # LEAST MOST WHAT COMMAND...: LEAST to MOST files are made in folder dumps
    least=$1 most=$2 what=$3
    shift 3
    for run in 1 2 3; do
        rm -rf dumps
        mkdir dumps
        "$@" 2>/dev/null || fail "$what: failed"
        made=$(find dumps -type f | wc -l)
        { [ "$made" -ge "$least" ] && [ "$made" -le "$most" ]; } ||
            fail "$what, run $run: $made dumps, not $least to $most"
    done
}

for size in 16 100 1000 2048 4096 65536; do
    for way in keep free; do
        # 6.5 MB, a dump each MiB
        dumps 5 7 "lg_prof_interval, $size, $way" env \
            MALLOC_CONF=prof:true,lg_prof_interval:20,prof_prefix:dumps/j \
            LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size $way
        dumps 5 7 "dump.every, $size, $way" env \
            MEMOIR=dump.every:1M,dump.prefix:dumps/m \
            LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size $way
        dumps 5 7 "dump.every, exact, $size, $way" env \
            MEMOIR=heap.rate:0,dump.every:1M,dump.prefix:dumps/m \
            LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size $way
        dumps 5 8 "HEAP_PROFILE_ALLOCATION_INTERVAL, $size, $way" env \
            HEAPPROFILE=dumps/g HEAP_PROFILE_ALLOCATION_INTERVAL=1048576 \
            HEAP_PROFILE_INUSE_INTERVAL=0 LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size $way
    done
    dumps 5 7 "dump.growth, $size" env \
        MEMOIR=dump.growth:1M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size keep
    dumps 0 0 "dump.growth, nothing grows, $size" env \
        MEMOIR=dump.growth:1M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size free
    dumps 1 1 "dump.above, $size" env \
        MEMOIR=dump.above:4M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size keep
    dumps 0 0 "dump.above, not reached, $size" env \
        MEMOIR=dump.above:7M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size keep
    dumps 5 7 "dump.freed, $size" env \
        MEMOIR=dump.freed:1M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 6500000 $size free
    # What becomes due while a dump is written is part of the next one.
    dumps 1 10 "dump.every, 4 threads, $size" env \
        MEMOIR=dump.every:4M,dump.prefix:dumps/m \
        LD_PRELOAD="$MEMOIR_LIB" ./interval 40000000 $size free 4
done
finish
