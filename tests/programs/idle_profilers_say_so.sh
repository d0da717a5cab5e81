#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# A profiler that can't do anything says so, in one line that names what would help: prof:true that
# nothing writes a dump of; calls and options about the heap in a process whose malloc is another
# one. A profiler that does something says nothing of the kind.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
unset MEMOIR_TOLD MALLOC_CONF
cat >program.c <<'END'
/* program [call...]: does the calls, by the names in the library that is loaded or, with a path
 * first, in the one that it opens late; f forks, c runs a child by exec. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library = RTLD_DEFAULT;
static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        exit(9);
    return found;
}
static int control(const char *name, void *value, size_t size)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) = find("mallctl");
    return mallctl(name, NULL, NULL, value, size);
}
int main(int count, char **arguments)
{
    bool on = true;
    void *volatile block = malloc(1 << 20);
    for (int i = 1; i < count; i++) {
        const char *call = arguments[i];
        if (strchr(call, '/') != NULL && (library = dlopen(call, RTLD_NOW)) == NULL)
            return 8;
        if (strcmp(call, "HeapProfilerStart") == 0)
            ((void (*)(const char *))find(call))("made_by_call");
        if (strcmp(call, "HeapProfilerStop") == 0)
            ((void (*)(void))find(call))();
        if (strcmp(call, "ProfilerStart") == 0)
            printf("%d\n", ((int (*)(const char *))find(call))("cpu.prof"));
        if (strcmp(call, "ProfilerStop") == 0)
            ((void (*)(void))find(call))();
        if (strcmp(call, "memoir_dump") == 0)
            ((int (*)(const char *))find(call))("dump.memoir");
        if (strcmp(call, "memoir_start") == 0)
            ((void (*)(long))find(call))(1024);
        if (strcmp(call, "prof.dump") == 0)
            control(call, NULL, 0);
        if (strcmp(call, "prof.active") == 0)
            control(call, &on, sizeof on);
        if (strcmp(call, "f") == 0 && fork() == 0)
            exit(0);
        if (strcmp(call, "c") == 0 && fork() == 0)
            execl(arguments[0], arguments[0], NULL);
        while (wait(NULL) > 0)
            ;
        if (strcmp(call, "own") == 0) { /* a file of the program's gets number 2 */
            close(2);
            open("data", O_CREAT | O_TRUNC | O_WRONLY, 0600);
        }
    }
    return 0;
}
END
build program.c -o program

# ours COUNT WHAT: COUNT lines of ours in err
ours() {
    count=$(grep -c '^memoir:' err)
    [ "$count" -eq "$1" ] || fail "$2: $count lines, not $1: $(cat err)"
}

# ---- prof:true
# idle COUNT OPTIONS ARGUMENT...
idle() {
    wanted=$1 options=$2
    shift 2
    rm -f p.*
    MALLOC_CONF=$options LD_PRELOAD=$MEMOIR_LIB ./program "$@" 2>err || fail "exit code $?: $options $*"
    ours "$wanted" "MALLOC_CONF=$options, $*"
}
idle 1 prof:true
idle 1 prof:true,prof_prefix:p
grep -q 'no dump was made; add prof_final:true' err || fail "nothing helpful is said: $(cat err)"
idle 1 prof:true,prof_prefix:p,lg_prof_sample:0
idle 1 prof:true,prof_prefix:p f f       # the forked children have nothing to add
idle 1 prof:true,prof_prefix:p c c       # nor have the programs that it starts
idle 1 prof_leak:true,prof_prefix:p      # a leak check without a last dump
idle 0 prof:true,prof_prefix:p prof.dump # a dump was made
[ -e "$(echo p.*.m0.heap)" ] || fail "prof.dump made no file"
idle 0 prof:true,prof_prefix:p,prof_final:true
idle 0 prof:true,prof_prefix:p,lg_prof_interval:30
idle 0 prof:true,prof_prefix:p,prof_gdump:true
idle 0 prof:true,prof_prefix:p,prof_log:true
idle 0 prof:true,prof_active:false,prof_prefix:p # for later
idle 0 prof:true,prof_prefix:             # somebody does not want files
idle 0 prof:false,prof_prefix:p
for wish in prof_final:true prof_gdump:true lg_prof_interval:20 prof_log:true prof_prefix:p lg_prof_sample:0; do
    idle 1 "$wish" # nobody said prof:true
    grep -q "^memoir: ${wish%:*} in MALLOC_CONF: no effect without prof:true" err || fail "$wish: $(cat err)"
done
idle 1 prof_final:true,lg_prof_interval:20,prof_prefix:p
idle 0 prof_final:false,prof_prefix:jeprof,lg_prof_interval:-1
idle 0 prof_leak:true,prof_final:true # implies it
idle 1 prof:true,prof_prefix:no/such/folder/p prof.dump # that line is about the dump that failed
! grep -q 'no dump was made' err || fail "a dump that failed is not none: $(cat err)"
MEMOIR=capture:run.memoir idle 0 prof:true,prof_prefix:p
idle 0 prof:true,prof_prefix:p own # the line is not for a file of the program
[ -e data ] && [ ! -s data ] || fail "a message is in the program's own file: $(cat data)"
MALLOC_CONF=prof:true LD_PRELOAD=$MEMOIR_LIB sh -c 'exec ./program' 2>err
ours 1 "a shell that becomes the program"
MALLOC_CONF=prof:true LD_PRELOAD=$MEMOIR_LIB env A=1 ./program 2>err
ours 1 "env that becomes the program"

# ---- another malloc: opened late, and linked behind
late() { # COUNT ARGUMENT...
    wanted=$1
    shift
    ./program "$MEMOIR_LIB" "$@" >out 2>err || fail "exit code $?: late $*"
    ours "$wanted" "opened late: $*"
}
late 0
late 1 HeapProfilerStart
grep -q 'HeapProfilerStart: nothing to profile: the malloc of this process is that of libc' err || fail "which call: $(cat err)"
late 1 HeapProfilerStart HeapProfilerStop HeapProfilerStart HeapProfilerStop
late 1 prof.dump prof.dump prof.active
late 1 memoir_start memoir_start
late 1 memoir_dump
late 3 HeapProfilerStart prof.dump memoir_start
late 0 ProfilerStart ProfilerStop ProfilerStart ProfilerStop # CPU time needs no heap
[ "$(cat out)" = "$(printf '1\n1')" ] && [ -s cpu.prof ] || fail "ProfilerStart: $(cat out)"
HEAPPROFILE=hp late 1
MALLOC_CONF=prof:true,prof_final:true,prof_prefix:p late 1
grep -q '^memoir: MALLOC_CONF: ' err || fail "which variable: $(cat err)"
CPUPROFILE=x HEAPCHECK=normal late 0 # the process's allocator may serve them

cat >other.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
static char memory[64 << 20] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t n) { void *p = memory + used; used += (n + 31) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
END
build program.c other.c -Wl,--no-as-needed "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")" -o behind
for call in HeapProfilerStart prof.dump memoir_dump; do
    ./behind "$call" 2>err || fail "linked behind another malloc: $call"
    ours 1 "linked behind another malloc: $call"
    grep -q 'behind contains its own malloc' err || fail "whose malloc it is: $(cat err)"
done
HEAPPROFILE=hp ./behind 2>err
ours 1 "HEAPPROFILE behind another malloc"

# ---- the real libraries before us: what they write is theirs, and we add nothing
real() { # NAME: its path
    ldconfig -p 2>/dev/null | awk -v name="$1" '$1 == name { print $NF; exit }'
}
tcmalloc=$(real libtcmalloc.so.4)
if [ -n "$tcmalloc" ]; then
    rm -f hp*
    HEAPPROFILE=hp MALLOCSTATS=1 LD_PRELOAD="$tcmalloc $MEMOIR_LIB" ./program 2>err
    ours 0 "libtcmalloc before us"
    [ "$(grep -c 'Starting tracking' err)" -eq 1 ] || fail "two heap profilers: $(cat err)"
    [ "$(grep -c 'Bytes in use by application' err)" -eq 1 ] || fail "statistics twice: $(cat err)"
    head -n 1 hp.0001.heap | grep -q 'heap profile: *0:' && fail "libtcmalloc's profile was replaced"
fi
jemalloc=$(real libjemalloc.so.2)
if [ -n "$jemalloc" ]; then
    rm -f p.*
    MALLOC_CONF=prof:true,prof_final:true,prof_prefix:p,lg_prof_sample:0,stats_print:true \
        LD_PRELOAD="$jemalloc $MEMOIR_LIB" ./program 2>err
    ours 0 "libjemalloc before us"
    [ "$(grep -c 'Begin jemalloc statistics' err)" -eq 1 ] || fail "statistics twice: $(cat err)"
    set -- p.*
    [ $# -eq 1 ] || fail "libjemalloc's dump and ours: $*"
fi

# ---- ours, also in a wrapper's clothes: nothing to say
normal() { # ARGUMENT...
    LD_PRELOAD="$wrapper $MEMOIR_LIB" ./program "$@" >out 2>err || fail "exit code $?: normal $*"
    ours 0 "preloaded $wrapper: $*"
}
cat >wrapper.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t n)
{
    static void *(*next)(size_t);
    if (next == NULL)
        next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return next(n);
}
END
build -shared -fPIC wrapper.c -o wrapper.so
for wrapper in '' ./wrapper.so; do
    normal HeapProfilerStart
    normal prof.dump
    normal prof.active
    normal memoir_start memoir_dump
    rm -f dump.memoir
done
wrapper=
profiler=$(ldconfig -p 2>/dev/null | awk '$1 == "libprofiler.so.0" { print $NF; exit }')
if [ -n "$profiler" ]; then
    for order in "$MEMOIR_LIB $profiler" "$profiler $MEMOIR_LIB"; do
        rm -f cpu.prof
        LD_PRELOAD=$order ./program ProfilerStart ProfilerStop >out 2>err
        ours 0 "ProfilerStart with libprofiler: $order"
        [ "$(cat out)" = 1 ] && [ -s cpu.prof ] || fail "libprofiler does not profile: $order"
    done
fi
finish
