#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The option debug, and the library names and variables of gperftools' debug allocator: fills and sizes,
# threads and forked children, the queue of freed blocks, checks on request, page fences, the list of calls;
# a debugger stops in the frame that freed the block, with the signal.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/debugged_blocks.c" -o "$place/blocks"
cd "$place" || exit 2
ulimit -c 0
library=$(dirname "$MEMOIR_LIB")/compat/libtcmalloc_minimal_debug.so.4
marks=$(nm -D "$library" 2>/dev/null | grep -c memoir_mode_debug) # none where names are links (musl)
[ "$marks" -gt 0 ] || library=$MEMOIR_LIB

# run CODE CASE [VARIABLE=VALUE...]: by the library's name where it can be; what it said is in `said`
run() {
    code=$1 case=$2
    shift 2
    env "$@" MEMOIR="debug:on${options:+,$options}" LD_PRELOAD="$library" ./blocks "$case" >out 2>said
    got=$?
    [ "$got" -eq "$code" ] || {
        fail "$case $*: exit status $got, wanted $code"
        cat said
    }
}

says() { # COUNT PATTERN
    count=$(grep -Ec -e "$2" said)
    [ "$count" -eq "$1" ] || fail "'$2' was said $count times, wanted $1: $(head -5 said)"
}

options=
for case in fills threads; do
    run 0 $case
    says 0 .
done
options=guard:full run 0 threads
options=leak.at_exit:on run 0 fills
says 0 memoir
(
    failures=0
    ulimit -v 500000
    run 0 fills
    [ "$failures" -eq 0 ]
) || fail "with 500 MB of addresses"

run 134 leaves_queue TCMALLOC_MAX_FREE_QUEUE_SIZE=100000
says 1 '^reached$'
says 1 '^memoir: Memory was written to after being freed\.  MallocBlock: 0x[0-9a-f]+, user ptr: 0x[0-9a-f]+, size: 100\.$'
says 1 '^    @ 0x[0-9a-f]+ main$'
run 0 leaves_queue TCMALLOC_MAX_FREE_QUEUE_SIZE=1000000
says 1 '^went on$'
run 9 reuse TCMALLOC_MAX_FREE_QUEUE_SIZE=1000
run 0 reuse TCMALLOC_RECLAIM_MEMORY=false

run 0 sums
says 1 '[0-9]+ freed blocks, [0-9]+ bytes, wait in the queue'
run 134 verify
says 1 '^reached$'
says 1 '^memoir: memory stomping bug: a word after object at 0x[0-9a-f]+ has been corrupted$'
run 134 verify_freed
says 1 '^memoir: Memory was written to after being freed'
run 134 verify_family
says 1 '^memoir: memory allocation/deallocation mismatch at 0x[0-9a-f]+: allocated with malloc being deallocated with delete$'

run 0 read_behind
run 139 read_behind TCMALLOC_PAGE_FENCE=1
says 1 '^memoir: guard: overflow: read at'
run 0 read_behind TCMALLOC_PAGE_FENCE=1 TCMALLOC_PAGE_FENCE_READABLE=1
[ "$(cat out)" = 0 ] || fail "a readable fence holds $(cat out)"
run 139 write_behind TCMALLOC_PAGE_FENCE=1 TCMALLOC_PAGE_FENCE_READABLE=1
run 0 reuse TCMALLOC_PAGE_FENCE=1 TCMALLOC_PAGE_FENCE_NEVER_RECLAIM=1

echo precious >victim
ln -s victim link
run 0 fills TCMALLOC_TRACE=1 "TCMALLOC_TRACE_FILE=$place/link"
[ "$(cat victim)" = precious ] || fail "the trace follows a link: $(head -n 1 victim)"
if [ "$(id -u)" -eq 0 ] && mkfifo theirs && chown 65534 theirs; then # with a reader
    exec 9<>theirs
    run 0 fills TCMALLOC_TRACE=1 "TCMALLOC_TRACE_FILE=$place/theirs"
    exec 9>&-
    says 1 "Can't open .*/theirs\\.  Logging disabled\\.$"
fi
echo longer than nothing >trace
chmod 600 trace
run 0 fills TCMALLOC_TRACE=1 "TCMALLOC_TRACE_FILE=$place/trace"
[ "$(stat -c %a trace)" = 600 ] || fail "the trace has mode $(stat -c %a trace)"
tab=$(printf '\t')
head -1 trace | grep -Eq '^Trace started: [0-9]{10}$' || fail "the trace begins with $(head -1 trace)"
sed -n 2p trace | grep -q "^func${tab}size${tab}ptr${tab}thread_id" || fail "its columns: $(sed -n 2p trace)"
for call in "malloc${tab}98" "realloc${tab}198" "free${tab}198"; do
    grep -Eq "^$call${tab}0x[0-9a-f]+${tab}[0-9]+${tab}0x[0-9a-f]+" trace || fail "no line of $call"
done

if [ "$marks" -gt 0 ]; then
    for name in libtcmalloc_debug.so libtcmalloc_minimal_debug.so; do
        LD_PRELOAD=$(dirname "$library")/$name ./blocks after 2>said
        says 1 '^memoir: memory stomping bug: a word after object'
    done
fi

# The command shows the report with names; its exit status is the program's.
"$MEMOIR_TOOL" run --debug --lib "$MEMOIR_LIB" ./blocks after >shown 2>&1
[ $? -eq 134 ] || fail "memoir run --debug: exit status $?"
grep -q 'memory stomping bug: a word after object' shown || fail "memoir run --debug says $(cat shown)"
grep -q 'debugged_blocks.c:' shown || fail "memoir run --debug names no line: $(cat shown)"

if command -v gdb >/dev/null 2>&1 && gdb -batch -ex run ./blocks 2>&1 | grep -q 'exited normally'; then
    gdb -batch -ex 'set environment MEMOIR debug:on' -ex "set environment LD_PRELOAD $MEMOIR_LIB" \
        -ex 'set startup-with-shell off' -ex run -ex bt -ex 'frame function main' -ex 'info locals' \
        --args ./blocks after >said 2>&1
    says 1 'received signal SIGABRT'
    says 2 '^#[0-9]+ .*main \(count=.*debugged_blocks.c:[0-9]+$'
    says 1 '^what = .*"after"$'
    gdb -batch -ex 'set environment MEMOIR debug:on,guard:full' -ex "set environment LD_PRELOAD $MEMOIR_LIB" \
        -ex 'set startup-with-shell off' -ex run -ex bt --args ./blocks write_behind >said 2>&1
    says 1 'received signal SIGSEGV'
    says 1 '^#0 .*main \(count=.*debugged_blocks.c:[0-9]+$'
fi
finish
