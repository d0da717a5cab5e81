#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Files made by this library and by the programs that it replaces: the totals that we read from
# them are those that jeprof, google-pprof and go tool pprof show.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
HOME=$place GOCACHE=$place/cache GOFLAGS=-mod=mod XDG_CACHE_HOME=$place
export HOME GOCACHE GOFLAGS XDG_CACHE_HOME
compared=0

cat >work.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *keep[100000];
static int kept;
__attribute__((noinline)) static void *make(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) static void many(void) { for (int i = 0; i < 2000; i++) keep[kept++] = make(1000 + i); }
__attribute__((noinline)) static void large(void) { for (int i = 0; i < 300; i++) keep[kept++] = make(100000); }
__attribute__((noinline)) static void gone(void) { for (int i = 0; i < 5000; i++) free(make(3000)); }
static void *thread(void *held) { for (int i = 0; i < 1000; i++) ((void **)held)[i] = make(2000); return NULL; }
int main(int count, char **words)
{
    static void *more[1000];
    pthread_t other;
    many(), large(), gone();
    pthread_create(&other, NULL, thread, more);
    pthread_join(other, NULL);
    volatile double sum = 0;
    for (long i = 0; count > 1 && i < atol(words[1]); i++)
        sum += i;
    return 0;
}
END
build work.c -o work

ours() { # FILE METRIC: the number
    "$MEMOIR_TOOL" top --json --rows 1 --metric "$2" "$1" 2>errors |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["whole"])' || cat errors
}

# NAME OURS THEIRS SLACK: rounding is a number for each stack, and theirs cut off what is behind the dot
same() {
    compared=$((compared + 1))
    python3 -c 'import sys; sys.exit(abs(float(sys.argv[1]) - float(sys.argv[2])) > float(sys.argv[3]))' \
        "$2" "$3" "$4" || fail "$1: we read $2, they $3"
    [ "$3" != 0 ] || fail "$1: nothing was compared"
}

perls() { # TOOL FILE OPTION: the number of "Total: N B"
    "$1" --text --show_bytes "$3" ./work "$2" 2>/dev/null | sed -n 's/^Total: \([0-9]*\) .*/\1/p'
}

gos() { # FILE METRIC
    go tool pprof -top -unit=bytes -sample_index="$2" ./work "$1" 2>/dev/null |
        sed -n 's/.* of \([0-9.]*\)[a-zB]* total$/\1/p'
}

waits() { # FILE
    go tool pprof -top -unit=ns -sample_index=delay "$1" 2>/dev/null | sed -n 's/.* of \([0-9]*\)ns total$/\1/p'
}

if command -v jeprof >/dev/null; then
    MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_accum:true,prof_prefix:real \
        LD_PRELOAD=libjemalloc.so.2 ./work 2>/dev/null
    for file in real.*; do
        [ -e "$file" ] || continue # built without profiling
        for metric in inuse_space inuse_objects alloc_space; do
            same "jemalloc's own $metric" "$(ours "$file" $metric)" "$(perls jeprof "$file" --$metric)" 8
        done
    done
    for accum in true false; do
        MALLOC_CONF=prof:true,lg_prof_sample:14,prof_final:true,prof_accum:$accum,prof_prefix:je.$accum \
            LD_PRELOAD=$MEMOIR_LIB ./work
        file=$(echo je.$accum.*)
        for metric in inuse_space inuse_objects; do
            same "jemalloc $metric" "$(ours "$file" $metric)" "$(perls jeprof "$file" --$metric)" 4
        done
        [ $accum = false ] ||
            same "jemalloc alloc" "$(ours "$file" alloc_space)" "$(perls jeprof "$file" --alloc_space)" 4
        gzip -k "$file"
        same "jemalloc in gzip" "$(ours "$file.gz" inuse_space)" "$(ours "$file" inuse_space)" 0
        jeprof --collapsed ./work "$file" 2>/dev/null >folded
        same "folded" "$(ours folded samples)" "$(ours "$file" inuse_space)" 8
    done
fi

if command -v google-pprof >/dev/null; then
    HEAPPROFILE=ours LD_PRELOAD=$MEMOIR_LIB ./work 2>/dev/null
    HEAPPROFILE=theirs LD_PRELOAD=libtcmalloc.so.4 ./work 2>/dev/null
    for file in ours.0001.heap theirs.0001.heap; do
        [ -e "$file" ] || continue
        for metric in inuse_space inuse_objects alloc_space alloc_objects; do
            same "gperftools $metric" "$(ours $file $metric)" "$(perls google-pprof $file --$metric)" 0
        done
    done
    MEMOIR=dump.format:gperftools,heap.rate:16K,dump.exit:true,dump.prefix:sampled LD_PRELOAD=$MEMOIR_LIB ./work
    file=$(echo sampled-*.heap)
    same "gperftools, sampled" "$(ours "$file" inuse_space)" "$(perls google-pprof "$file" --inuse_space)" 8
    printf '%s\n' '--- contention:' 'cycles/second = 1000000000' 'sampling period = 10' \
        '1500000000 3 @ 0x400010 0x400020' >locks
    same "contention" "$(ours locks delay)" \
        "$(google-pprof --text ./work locks 2>/dev/null | sed -n 's/^Total: \([0-9.]*\) seconds/\1e9/p')" 0
    CPUPROFILE=cpu.prof LD_PRELOAD=libprofiler.so.0 ./work 200000000 2>/dev/null
    if [ -s cpu.prof ]; then
        google-pprof --text ./work cpu.prof 2>/dev/null >text
        samples=$(sed -n 's/^Total: \([0-9]*\) .*/\1/p' text)
        same "CPU" "$(ours cpu.prof samples)" "$samples" 0
        google-pprof --raw ./work cpu.prof >cpu.raw 2>/dev/null
        same "CPU with names" "$(ours cpu.raw samples)" "$samples" 0
        "$MEMOIR_TOOL" top --by function cpu.raw 2>/dev/null | grep -q main || fail "no names in cpu.raw"
    fi
fi

if command -v go >/dev/null; then
    MEMOIR=dump.format:pprof,heap.rate:16K,dump.exit:true,dump.prefix:ours LD_PRELOAD=$MEMOIR_LIB ./work
    file=$(echo ours-*.pb.gz)
    for metric in inuse_space inuse_objects alloc_space alloc_objects peak_space alloc_requested; do
        same "pprof $metric" "$(ours "$file" $metric)" "$(gos "$file" $metric)" 0
    done
    gzip -dc "$file" >plain.pb
    same "pprof, plain" "$(ours plain.pb inuse_space)" "$(gos "$file" inuse_space)" 0
    cat >work.go <<'END'
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var keep [][]byte

//go:noinline
func blocked(lock *sync.Mutex, done chan int) {
	lock.Lock()
	time.Sleep(time.Millisecond)
	lock.Unlock()
	done <- 1
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	var lock sync.Mutex
	done := make(chan int)
	for i := 0; i < 5; i++ {
		go blocked(&lock, done)
	}
	for i := 0; i < 5; i++ {
		<-done
	}
	for i := 0; i < 3; i++ {
		go pprof.Do(context.Background(), pprof.Labels("worker", "seven"), func(context.Context) { select {} })
	}
	time.Sleep(20 * time.Millisecond)
	for i := 0; i < 3000; i++ {
		keep = append(keep, make([]byte, 1000+i))
	}
	runtime.GC()
	for debug, name := range []string{"go.pb.gz", "go.heap"} {
		file, _ := os.Create(name)
		pprof.Lookup("heap").WriteTo(file, debug)
		file.Close()
	}
	for _, name := range []string{"goroutine", "threadcreate", "block", "mutex"} {
		file, _ := os.Create("go." + name)
		pprof.Lookup(name).WriteTo(file, 1)
		file.Close()
	}
}
END
    if go run work.go >go.log 2>&1; then
        for metric in inuse_space inuse_objects alloc_space; do
            same "Go's $metric" "$(ours go.pb.gz $metric)" "$(gos go.pb.gz $metric)" 0
        done
        same "Go's text" "$(ours go.heap inuse_space)" "$(gos go.heap inuse_space)" 50
        same "Go's goroutines" "$(ours go.goroutine goroutine)" "$(gos go.goroutine goroutine)" 0
        for name in block mutex; do # theirs cut off each stack
            same "Go's $name" "$(ours go.$name delay)" "$(waits go.$name)" 20
            "$MEMOIR_TOOL" export --format folded go.$name 2>/dev/null | grep -q 'main.blocked' || fail "Go's $name: no names"
        done
        # What Go's own command shows no name of, and what it refuses.
        "$MEMOIR_TOOL" export --format folded go.heap 2>/dev/null | grep -q 'main.main' || fail "Go's heap: no names"
        "$MEMOIR_TOOL" top go.goroutine --tag-focus worker=seven 2>/dev/null | grep -q '^ *3 ' ||
            ! grep -q '# labels' go.goroutine || fail "Go's goroutines: no labels"
        same "Go's threads" "$(ours go.threadcreate threadcreate)" \
            "$(sed -n 's/^threadcreate profile: total //p' go.threadcreate)" 0
    fi
    printf '%s\n' '--- heapz 1 ---' 'format = java' 'resolution = bytes' '7048 7 @ 0x3 0x4 0x5' \
        '1048576 2 @ 0x6 0x4 0x5' '' '0x3 java.util.HashMap.put (HashMap.java:12)' \
        '0x4 app.Main.run (Main.java:-1)' '0x5 GC' '0x6 malloc (/usr/lib/libjvm.so)' >java.heap
    printf '%s\n' '--- contentionz 1 ---' 'format = java' 'resolution = microseconds' 'sampling period = 100' \
        '5 2 @ 0x3 0x4' '14 1 @ 0x4' '' '0x3 java.util.HashMap.put (HashMap.java:12)' '0x4 Main.run (Main.java:33)' >java.locks
    same "Java's heap" "$(ours java.heap inuse_space)" "$(gos java.heap inuse_space)" 2
    same "Java's objects" "$(ours java.heap inuse_objects)" "$(gos java.heap inuse_objects)" 2
    same "Java's locks" "$(ours java.locks delay)" "$(waits java.locks)" 0
    for file in java.heap java.locks; do
        "$MEMOIR_TOOL" top --frames all --by function --csv $file | grep -q HashMap.put || fail "$file: no names"
    done
    python3 - <<'PY' || fail "no profiles of Java's processor"
import struct
words = [0, 3, 1, 10000, 0, 5, 3, 1, 2, 3, 2, 4, 4, 2, 2, 3, 7, 1, 5, 1, 2, 6, 9, 0, 1, 0]
names = b"""0x1 java.util.HashMap.put (HashMap.java:12)
0x2 app.Main.run (Main.java:33)
0x3 app.Main.main (Main.java:-1)
0x4 malloc (/usr/lib/libjvm.so)
0x00000005 GC
 0x6 generated stub/JIT
0x77 unused (Unused.java:1)
"""
for form in "<I", ">I", "<Q", ">Q":
    with open("java.cpu" + str(" <I>I<Q>Q".index(form) // 2), "wb") as file:
        file.write(b"".join(struct.pack(form, word) for word in words) + names)
PY
    for file in java.cpu0 java.cpu1 java.cpu2 java.cpu3; do
        for view in -top -traces; do
            go tool pprof $view $file >theirs 2>/dev/null
            "$MEMOIR_TOOL" pprof $view $file >own 2>errors
            cmp -s theirs own || fail "Java's processor, $file $view: $(diff theirs own | head -5)"
        done
    done
    grep -q 'HashMap.put' theirs || fail "control: no names in Java's profile"
    printf '%s\n' '--- threadz 1 ---' '--- Thread 7f794ab90940 (name: main/14748) stack: ---' \
        '  PC: 0x00bc8f1c: helper(arena *)' '    0x0040be31 0x0040b58b' \
        '--- Thread 7f794a32e940 (name: second/14751) stack: ---' '  PC: [same as previous thread]' \
        '--- Memory map: ---' '  00400000-00fcb000: server' >threadz
    same "threads of a server" "$(ours threadz thread)" "$(gos threadz thread)" 0
    "$MEMOIR_TOOL" top --by thread threadz | grep -q 'second 14751' || fail "threadz: no names of threads"
fi

[ $compared -gt 0 ] || skip "there is none of jeprof, google-pprof and go"
echo "$compared totals are equal"
finish
