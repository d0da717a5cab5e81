#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
#
# The CPU profiler by the commands that guides for gperftools teach, to the letter, with memoir's
# libraries, headers and commands in the place of gperftools': linked with -lprofiler and with
# -ltcmalloc_and_profiler, preloaded, opened with dlopen, called in the source, switched by a signal,
# in a forked child; then pprof's tables, pictures, filters and shell, and names for another machine.
. "$(dirname "$0")/common.sh"
need python3 c++
cd "$place" || exit 2
unset MEMOIR
lib=$place/lib
mkdir -p lib bin other
for file in "$(dirname "$MEMOIR_LIB")"/compat/*.so*; do
    [ -e "$file" ] || skip "there are no libraries of other names"
    ln -s "$file" lib/
done
for name in pprof google-pprof; do
    ln -s "$MEMOIR_TOOL" bin/$name
done
PATH=$place/bin:$PATH
export HOME="$place" XDG_CACHE_HOME="$place/cache" LD_LIBRARY_PATH="$lib"
include=$root/include/memoir/compat

cat >test.cc <<'CC'
#include <cstdio>
#include <cstdlib>
#include <ctime>
static double now()
{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}
volatile double result;
__attribute__((noinline)) void burn(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (int i = 1; i < 20000; i++)
            result += 1.0 / i;
}
__attribute__((noinline)) void burn_more() { burn(0.3); result += 1; }
__attribute__((noinline)) void burn_less() { burn(0.1); result += 1; }
#ifdef CALLS
#include <google/profiler.h>
int main()
{
    burn_more(); /* not profiled */
    ProfilerStart("part.prof");
    burn_less();
    ProfilerStop();
    ProfilerStart("part.prof"); /* takes the place of the first */
    burn_less();
    burn_less();
    ProfilerStop();
    return 0;
}
#elif defined FORKS
#include <sys/wait.h>
#include <unistd.h>
int main()
{
    pid_t child = fork();
    if (child == 0)
        burn_less();
    else
        burn_more();
    printf("child %d\n", int(child));
    if (child > 0)
        waitpid(child, nullptr, 0);
    return 0;
}
#elif defined OPENS
#include <dlfcn.h>
int main(int, char **words)
{
    void *handle = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
        return printf("%s\n", dlerror()), 1;
    int (*start)(const char *) = reinterpret_cast<int (*)(const char *)>(dlsym(handle, "ProfilerStart"));
    void (*stop)() = reinterpret_cast<void (*)()>(dlsym(handle, "ProfilerStop"));
    if (!start || !stop || !start("opened.prof"))
        return printf("not started\n"), 1;
    burn_more();
    stop();
    return 0;
}
#else
int main()
{
    burn_more();
    burn_less();
    static void *volatile block = malloc(100);
    free(block);
    return 0;
}
#endif
CC

# has FILE FUNCTION...: they are in it, and google-pprof reads it, which leaves out functions that are
# in all stacks.
has() {
    file=$1
    shift
    [ -s "$file" ] || {
        fail "there is no $file"
        return
    }
    google-pprof --text ./a.out "$file" >shown 2>said || fail "google-pprof $file: $(cat said)"
    grep -q '^Total: [1-9][0-9]* samples$' shown && grep -q ' burn$' shown || fail "$file: $(cat shown)"
    "$MEMOIR_TOOL" tree "$file" >tree 2>said || fail "memoir tree $file: $(cat said)"
    for function in "$@"; do
        grep -q "[├└ ] $function(* " tree || fail "$function is not in $file: $(cat tree)"
    done
}
profiled() { # COUNT: how many profiles the program says to have made
    [ "$(grep -c '^PROFILE: interrupts/evictions/bytes = [1-9][0-9]*/[0-9]*/[1-9][0-9]*$' err)" -eq "$1" ] ||
        fail "$1 profiles: $(cat err)"
}

# 1. linked with -lprofiler: the program keeps its malloc. It calls nothing of the library, which some
# compilers leave out then, gperftools' as well.
c++ -g -O1 -std=c++11 test.cc -o a.out -L"$lib" -Wl,--no-as-needed -lprofiler
CPUPROFILE=linked.prof ./a.out 2>err
profiled 1
has linked.prof burn_more burn_less main

# 2. preloaded into a program that was not prepared
c++ -g -O1 -std=c++11 test.cc
env LD_PRELOAD="$lib/libprofiler.so" CPUPROFILE=preloaded.prof ./a.out 2>err
profiled 1
has preloaded.prof burn_more main
CPUPROFILE=both.prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$lib/libtcmalloc_and_profiler.so ./a.out 2>err
profiled 1
has both.prof burn_more main

# 3. -ltcmalloc_and_profiler, with the heap profiler beside it
c++ -g -O1 -std=c++11 test.cc -L"$lib" -ltcmalloc_and_profiler
CPUPROFILE=all.prof HEAPPROFILE=all MALLOCSTATS=1 ./a.out 2>err
profiled 1
has all.prof burn_more
[ -s all.0001.heap ] || fail "no heap profile beside the CPU's"
grep -q '^Starting tracking the heap$' err && grep -q '^MALLOC: ' err || fail "the others: $(cat err)"

# 4. calls in the source, with the older header
c++ -g -O1 -std=c++11 -DCALLS -I"$include" test.cc -L"$lib" -lprofiler
./a.out 2>err
profiled 2
has part.prof burn_less
grep -q burn_more tree && fail "what is before ProfilerStart is in the profile"
[ "$(sed -n 's/^Total: \([0-9]*\) samples/\1/p' shown)" -gt 14 ] || fail "not the second part: $(cat shown)"
cat >headers.cc <<'CC'
#include <google/profiler.h>
#include <google/stacktrace.h>
#include <gperftools/profiler.h>
#include <gperftools/stacktrace.h>
#include <stdio.h>
__attribute__((noinline)) static int trace(void **frames, int *sizes)
{
    int count = GetStackTrace(frames, 16, 0);
    return GetStackFrames(frames, sizes, 16, 0) == count ? count : -1;
}
int main()
{
    void *frames[16];
    int sizes[16];
    ProfilerState state;
    ProfilerGetCurrentState(&state);
    int count = trace(frames, sizes);
    bool inside = frames[0] > reinterpret_cast<void *>(trace) && frames[0] < reinterpret_cast<char *>(trace) + 400;
    printf("%d %d %d\n", count > 1, inside, state.enabled);
    return 0;
}
CC
c++ -g -O1 -std=c++11 -Wall -Werror -I"$include" headers.cc -o headers -L"$lib" -lprofiler
[ "$(./headers)" = '1 1 0' ] || fail "the calls of stacktrace.h: $(./headers)"

# 5. fork
c++ -g -O1 -std=c++11 -DFORKS test.cc
CPUPROFILE=cpuprofile.out LD_PRELOAD=$lib/libtcmalloc_and_profiler.so ./a.out >told 2>err
child=$(sed -n 's/^child \([1-9][0-9]*\)/\1/p' told)
has cpuprofile.out burn_more
has "cpuprofile.out_$child" burn_less
pprof --svg a.out cpuprofile.out >cpu.svg 2>err || fail "pprof --svg: $(cat err)"
grep -q '<svg' cpu.svg || fail "no picture: $(head -c 200 cpu.svg)"

# 6. dlopen, alone and beside a preloaded libtcmalloc
c++ -g -O1 -std=c++11 -DOPENS test.cc -ldl
for name in libprofiler.so.0 libtcmalloc_and_profiler.so.4; do
    for before in '' "$lib/libtcmalloc.so"; do
        rm -f opened.prof
        LD_PRELOAD=$before ./a.out "$lib/$name" >told 2>err || fail "dlopen $name, $before: $(cat told err)"
        has opened.prof burn_more
    done
done

# 7. the switch: kill -SIGNAL begins a profile, a second one ends it
c++ -g -O1 -std=c++11 test.cc
sed 's/    burn_more();/    for (int i = 0; i < 8; i++) burn_more();/' test.cc >long.cc
c++ -g -O1 -std=c++11 long.cc
LD_PRELOAD=$lib/libprofiler.so CPUPROFILE=switched CPUPROFILESIGNAL=12 ./a.out 2>err &
process=$!
for _ in 1 2 3 4; do
    sleep 0.4
    kill -12 $process 2>/dev/null || fail "the program has ended: $(cat err)"
done
wait $process
[ -s switched.0 ] && [ -s switched.1 ] && [ ! -e switched ] || fail "the files of the switch: $(ls)"
has switched.0 burn_more

# 8. pprof's words
c++ -g -O1 -std=c++11 test.cc
LD_PRELOAD=$lib/libprofiler.so CPUPROFILE=logfile CPUPROFILE_FREQUENCY=500 ./a.out 2>err
LD_PRELOAD=$lib/libprofiler.so CPUPROFILE=logfile2 CPUPROFILE_FREQUENCY=1000 ./a.out 2>err
works() { # PATTERN COMMAND
    sh -c "$2" >out 2>err </dev/null || fail "exit code $? of: $2 ($(tail -n 1 err))"
    grep -a -q "$1" out || fail "no '$1' in the output of: $2"
}
works 'samples$' 'pprof --text ./a.out logfile'
works ' burn_more$' 'pprof --text --focus=burn_more ./a.out logfile'
works ' burn_more$' 'pprof --text --ignore=burn_less ./a.out logfile'
grep -q ' burn_less$' out && fail "--ignore keeps it"
works 'test.cc:' 'pprof --text --lines ./a.out logfile'
works ' 0*[0-9a-f]* .*burn' 'pprof --text --addresses ./a.out logfile'
works '^Total: ' 'pprof --text ./a.out --base=logfile logfile2'
works '^digraph' 'pprof --dot ./a.out logfile'
works 'result += 1.0' 'pprof --list=burn ./a.out logfile'
works 'burn' 'pprof --disasm=burn ./a.out logfile'
works '^events: ' 'pprof --callgrind ./a.out logfile'
works 'main;burn_more' 'google-pprof --collapsed ./a.out logfile'
works ' burn_more$' 'printf "top\ntext\nquit\n" | pprof ./a.out logfile'
works 'burn_more' 'pprof -top ./a.out logfile'
works 'burn_more' 'pprof -peek burn ./a.out logfile'
if command -v dot >/dev/null 2>&1; then
    works '^%PDF' 'pprof --pdf ./a.out logfile > 1.pdf && cat 1.pdf'
    works '^GIF8' 'pprof --gif ./a.out logfile > 1.gif && cat 1.gif'
    works '<svg' 'pprof --svg ./a.out logfile > 1.svg && cat 1.svg'
    works '^%!PS' 'pprof --gv ./a.out logfile > 1.gv && cat 1.gv'
fi
"$MEMOIR_TOOL" top logfile --json >top.json
python3 -c 'import json; rows = {row["name"]: row for row in json.load(open("top.json"))["rows"]}
share = rows["burn_more"]["total"] / rows["main"]["total"]
assert 0.6 < share < 0.9, share' || fail "the shares: $(cat top.json | head -40)"

# 9. names on another machine: in place of nm and readelf, a file that has them
"$MEMOIR_TOOL" symbols logfile --embed -o other/named.pb.gz 2>err || fail "--embed: $(cat err)"
mv a.out other/hidden
(cd other && rm -rf "$place/cache" && "$MEMOIR_TOOL" tree named.pb.gz --no-cache) >out 2>err || fail "embedded: $(cat err)"
grep -q 'burn_more' out && grep -q 'test.cc' out || fail "names are not in the file: $(cat out)"
finish
