#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Everything that guides to gperftools' heap profiler tell one to do, done with this library, and
# what it wrote read with google-pprof and go tool pprof.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/leaking.c" -o leaking

run() { # COMMAND... with HEAPPROFILE
    rm -f ./*.heap
    HEAPPROFILE=out preload "$@" 2>errors
}

files() { # NUMBER
    number=$1
    set -- ./*.heap
    [ -e "$1" ] || set --
    [ $# -eq "$number" ] || fail "$# files, not $number: $*"
}

said() { # LINE
    grep -Fxq "$1" errors || fail "not said: $1; but: $(cat errors)"
}

# share FUNCTION LOW HIGH PROGRAM FILE: percent of the memory that the readers charge to it
readers="google-pprof go"
share() {
    function=$1 low=$2 high=$3
    shift 3
    for reader in $readers; do
        command -v "$reader" >/dev/null || continue
        [ "$reader" = go ] && reader="go tool pprof"
        PPROF_TMPDIR=$place $reader --text "$@" >shown 2>/dev/null
        percent=$(awk -v f="$function" '$6 == f { print int($2) }' shown)
        [ "${percent:-0}" -ge "$low" ] && [ "${percent:-0}" -le "$high" ] ||
            fail "$reader: $function has ${percent:-no} percent, not $low to $high"
    done
}

# The whole program: every block, to the byte.
run ./leaking || fail "code $?"
said "Starting tracking the heap"
said "Dumping heap profile to out.0001.heap (Exiting, 6 MB in use)"
files 1
head -n 1 out.0001.heap | grep -Eq '^heap profile: +120: +6430720 \[ +120: +6430720\] @ heapprofile$' ||
    fail "other totals: $(head -n 1 out.0001.heap)"
share do_something 50 50 leaking out.0001.heap
share do_something_else 49 49 leaking out.0001.heap

# A file for every megabyte, or by use; the difference of two.
HEAP_PROFILE_ALLOCATION_INTERVAL=1048576 run ./leaking
files 6
said "Dumping heap profile to out.0003.heap (3 MB allocated cumulatively, 3 MB currently in use)"
readers=google-pprof
share do_something_else 100 100 --base=out.0004.heap leaking out.0006.heap
readers="google-pprof go"
HEAP_PROFILE_INUSE_INTERVAL=2097152 run ./leaking
said "Dumping heap profile to out.0001.heap (2 MB currently in use)"

# By time, with the reason in gperftools' words.
cat >slow.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[40];
int main(void)
{
    for (int i = 0; i < 40; i++) {
        kept[i] = malloc(1000);
        usleep(40000);
    }
    return 0;
}
END
build slow.c -o slow
HEAP_PROFILE_TIME_INTERVAL=1 run ./slow
grep -Eq '^Dumping heap profile to out.0001.heap \([1-9][0-9]? sec since the last dump\)$' errors ||
    fail "no dump by time: $(cat errors)"
sed -i 's/i < 40/i < 8/; s/40000/400000/' slow.c # on time, though there are few calls
build slow.c -o slow
HEAP_PROFILE_TIME_INTERVAL=1 run ./slow
[ "$(grep -c '(1 sec since the last dump)$' errors)" -ge 2 ] || fail "dumps by time are late: $(cat errors)"

# Old files go, unless they should stay; silence.
touch out.0077.heap
HEAPPROFILE=out PERFTOOLS_VERBOSE=-1 preload ./leaking 2>errors
files 1
[ ! -s errors ] || fail "not quiet: $(cat errors)"
touch out.0077.heap
HEAPPROFILE=out HEAP_PROFILE_CLEANUP=false preload ./leaking 2>errors
files 2

# A part of the program, by calls; a library that is opened; a signal.
rm -f ./*.heap
preload ./leaking block 2>errors || fail "block: code $?"
said "Dumping heap profile to block.0001.heap (end of the block)"
files 1
share do_something_else 100 100 leaking block.0001.heap
for name in libtcmalloc.so /usr/lib/nowhere/libtcmalloc_and_profiler.so.4; do
    rm -f ./*.heap
    preload ./leaking dlopen "$name" 2>errors || fail "dlopen: code $?"
    said "Dumping heap profile to opened.0001.heap (over)"
    share do_something 100 100 leaking opened.0001.heap
done
for wrong in SIGUSR2 65 -1; do
    HEAPPROFILESIGNAL=$wrong run ./leaking || fail "signal $wrong: code $?"
    said "memoir: HEAPPROFILESIGNAL is not a number from 1 to 64 and has no effect; 12 is SIGUSR2"
done
HEAPPROFILESIGNAL=12 run ./leaking signal || fail "signal: code $?"
said "Using signal 12 as heap profiling switch"
said "Dumping heap profile to out.0001.heap (signal)"
files 2
share do_something 100 100 leaking out.0001.heap

# Children, forked or started, have files of their own.
run ./leaking fork || fail "fork: code $?"
files 2
child=$(echo out_*.0001.heap)
[ -s out.0001.heap ] && [ -s "$child" ] || fail "no files of parent and child"
share do_something 100 100 leaking out.0001.heap
share do_something_else 49 49 leaking "$child"
run perl -e 'system("./leaking"); exit 0'
files 2
[ -s out.0001.heap ] && [ -s "$(echo out_*.0001.heap)" ] || fail "no files of perl and its child"

# Linked under gperftools' name, and with the real one.
mkdir names
ln -s "$MEMOIR_LIB" names/libtcmalloc_and_profiler.so
"$CC" -w -g -fno-builtin "$root/tests/programs/leaking.c" -Lnames -ltcmalloc_and_profiler -ldl \
    -o linked || fail "does not link with -ltcmalloc_and_profiler"
rm -f ./*.heap
HEAPPROFILE=out LD_LIBRARY_PATH=$(dirname "$MEMOIR_LIB") ./linked block 2>errors || fail "linked: code $?"
said "Starting tracking the heap"
if "$CC" -w -g "$root/tests/programs/leaking.c" -Wl,--no-as-needed -l:libtcmalloc.so.4 -ldl -o real \
    2>/dev/null; then
    HEAPPROFILESIGNAL=12 run ./real signal || fail "real: code $?"
    [ "$(grep -c 'Starting tracking' errors)" -eq 1 ] || fail "started twice: $(cat errors)"
    files 2
    share do_something 48 50 real out.0002.heap
    rm -f ./*.heap
    mkdir copies
    cp "$MEMOIR_LIB" copies/libtcmalloc.so.4
    HEAPPROFILE=out LD_LIBRARY_PATH=$place/copies ./real 2>errors || fail "in its place: code $?"
    files 1
fi

# Mappings of the program's own: as well, alone, in words.
HEAP_PROFILE_MMAP=1 run ./leaking mmap || fail "mmap: code $?"
head -n 1 out.0001.heap | grep -Eq "^heap profile: +83: +$((3235840 + (6 << 20) + 100000)) " ||
    fail "other totals with mappings: $(head -n 1 out.0001.heap)"
HEAP_PROFILE_ONLY_MMAP=1 run ./leaking mmap
head -n 1 out.0001.heap | grep -Eq "^heap profile: +3: +$(((6 << 20) + 100000)) " ||
    fail "other totals of mappings: $(head -n 1 out.0001.heap)"
build "$root/tests/programs/leaking.c" -Wl,--no-as-needed -lstdc++ -o allocates_early
HEAP_PROFILE_ONLY_MMAP=1 run ./allocates_early mmap
head -n 1 out.0001.heap | grep -Eq "^heap profile: +3: +$(((6 << 20) + 100000)) " ||
    fail "other totals after constructors: $(head -n 1 out.0001.heap)"
HEAP_PROFILE_MMAP_LOG=1 run ./leaking mmap
head -n 1 out.0001.heap | grep -Eq "^heap profile: +80: +3235840 " || fail "the log changes totals"
for line in '^mmap\(start=0x0, len=3145728, prot=0x3, flags=0x22, fd=-1, offset=0x0\) = 0x[0-9a-f]+$' \
    '^munmap\(start=0x[0-9a-f]+, len=3145728\)$' \
    '^mremap\(old_addr=0x[0-9a-f]+, old_size=1048576, new_size=5242880, flags=0x1, new_addr=0x0\) = 0x[0-9a-f]+$' \
    '^sbrk\(inc=100000\) = 0x[0-9a-f]+$'; do
    grep -Eq "$line" errors || fail "no line $line: $(cat errors)"
done

# The time in the names, by option.
MEMOIR=dump.time:on run ./leaking
ls ./*.heap | grep -Eqx '\./out\.20[0-9]{6}-[0-9]{6}\.0001\.heap' || fail "timed: $(ls ./*.heap)"

# The headers, in both of their places.
for header in heap-profiler profiler malloc_extension_c tcmalloc; do
    printf '#include <google/%s.h>\n#include <gperftools/%s.h>\nint main(void) { return 0; }\n' \
        $header $header >header.c
    "$CC" -Wall -Werror -I"$root/include/memoir/compat" header.c -o header || fail "$header.h in C"
    "$CXX" -x c++ -Wall -Werror -I"$root/include/memoir/compat" header.c -o header 2>/dev/null ||
        ! command -v "$CXX" >/dev/null || fail "$header.h in C++"
done

# Statistics at the end.
MALLOCSTATS=2 preload ./leaking 2>errors
grep -q '^MALLOC: ' errors || fail "no statistics of level 2: $(cat errors)"
# 40 blocks of up to 160 KiB and some sizes of small ones: as many spans, not as many pages.
spans=$(sed -n 's/^MALLOC: *\([0-9]*\) *Spans in use$/\1/p' errors)
[ "${spans:-0}" -ge 10 ] && [ "$spans" -le 200 ] || fail "spans in use: $(cat errors)"
grep -q '^class .* bytes ] : ' errors && grep -q '^PageHeap: ' errors || fail "what level 2 lacks: $(cat errors)"
MALLOCSTATS=1 preload ./leaking 2>errors
grep -Eq '^MALLOC:  +[0-9]+ \( +6\.[0-9] MiB\) Bytes in use by application$' errors ||
    fail "no statistics: $(cat errors)"
finish
