#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# No loop without a way out: in every mode of the profiler, when addresses, mappings, descriptors or
# threads are out, alone and together, and when a system call fails for ever, each entry point
# returns within a second, and so does the end of the program.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/every_call_returns.c" -o "$place/program"
ulimit -c 0
cd "$place" || exit 2
chmod 777 . # one of the programs belongs to another user from some point on
[ -r "$MEMOIR_LIB" ] || exit 2
number() { # NAME: of a system call
    printf '#include <sys/syscall.h>\nSYS_%s\n' "$1" | "$CC" -E -P - | tail -n 1
}
left_out=
run() { # LIMITS...
    # Not by alarm: a dump holds signals back.
    timeout -s KILL 60 env $setting LD_PRELOAD="$MEMOIR_LIB" "$place/program" "$@" \
        >"$place/out" 2>"$place/errors"
    code=$?
    if [ $code -eq 77 ]; then
        left_out="$left_out $*"
    elif [ $code -ne 0 ]; then
        fail "$setting, $*: exit code $code: $(grep -v ^memoir: "$place/errors" | head -n 3)"
    fi
    rm -f "$place"/file*
}
for setting in MEMOIR=heap:off MEMOIR=heap.rate:0 MEMOIR=heap.rate:1 \
    "MEMOIR=heap.rate:4K,capture:$place/file.memoir,capture.interval:100ms" \
    "MEMOIR=heap.rate:4K,dump.prefix:$place/file,dump.every:64M,dump.growth:16M,dump.exit:on" \
    "MALLOC_CONF=prof:true,lg_prof_sample:10,prof_gdump:true,lg_prof_interval:26,prof_final:true,prof_prefix:$place/file" \
    "HEAPPROFILE=$place/file HEAP_PROFILE_ALLOCATION_INTERVAL=67108864"; do
    for limit in as maps files threads; do
        run $limit
    done
    run maps as threads files
done
[ -z "$left_out" ] || echo "left out:$left_out"
# EINTR 4, ENOMEM 12, ENOSYS 38
for setting in MEMOIR=heap.rate:0 "MEMOIR=heap.rate:4K,capture:$place/file.memoir,capture.interval:100ms" \
    "MEMOIR=heap.rate:4K,dump.prefix:$place/file,dump.every:16M,dump.exit:on"; do
    for name in mmap munmap mremap madvise mincore mprotect futex read write pread64 openat close \
        renameat2 unlinkat getrandom tgkill rt_sigprocmask rt_sigtimedwait getcpu; do
        which=$(number $name)
        for error in 4 12 38; do
            run "$which=$error"
        done
    done
done
finish
