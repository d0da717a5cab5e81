#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# Every total is one number, whoever tells it: live, allocated, freed, calls, peak and end of real
# programs (small, mixed and large blocks, 1 and 4 threads; sampled at the usual rate, at 64K, and
# every block) are asked for through every verb, page, export, picture and file name. They are equal
# to the byte, or as far as a rounded text tells, and the peak is at least the end and each snapshot.
# No site has more live, now or at the peak, than it allocated.
# A running process says the same through ps, top, ctl and its own counters.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
export LC_ALL=C.UTF-8 HOME="$place"
root=${root:-$MEMOIR_ROOT}

cat >program.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memoir/memoir.h"
enum { KEPT = 3000 };
static void *kept[4][KEPT];
static const char *kind;
static int alone; /* no other thread allocates between a question and a mark */
static unsigned seeds[4];
__attribute__((noinline)) static void *small(size_t n) { return malloc(16 + n % 200); }
__attribute__((noinline)) static void *middle(size_t n) { return malloc(500 + n % 20000); }
__attribute__((noinline)) static void *large(size_t n) { return malloc(33000 + n % 600000); }
__attribute__((noinline)) static void *grow(void *block, size_t n) { return realloc(block, n); }
static unsigned next(long thread) { return (seeds[thread] = seeds[thread] * 1103515245 + 12345) >> 8; }
static void *one(long thread)
{
    unsigned n = next(thread);
    if (kind[0] == 's' || (kind[0] == 'm' && n % 8 != 0)) return small(n / 8);
    if (kind[0] == 'm' && n % 64 != 0) return middle(n / 64);
    return large(n / 64);
}
static void mark(const char *name)
{
    int (*set)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_mark");
    bool (*ask)(struct memoir_stats *, size_t) =
        (bool (*)(struct memoir_stats *, size_t))dlsym(RTLD_DEFAULT, "memoir_stats");
    struct memoir_stats stats;
    char line[64];
    if (!set || !ask || !ask(&stats, sizeof stats)) return;
    set(name);
    write(1, line, (size_t)snprintf(line, sizeof line, "%s %lu\n", name, (unsigned long)stats.live_bytes));
}
static void *work(void *argument)
{
    long thread = (long)argument;
    int count = kind[0] == 'l' ? KEPT / 20 : KEPT;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < count; i++) {
            free(kept[thread][i]);
            kept[thread][i] = one(thread);
            if (i % 4 == 0) kept[thread][i] = grow(kept[thread][i], 100 + next(thread) % (kind[0] == 's' ? 300 : 30000));
            free(one(thread));
        }
        if (alone && round == 1) mark("half");
        usleep(60000);
    }
    for (int i = 0; i < count * 2 / 3; i++) free(kept[thread][i]);
    return NULL;
}
int main(int count, char **words)
{
    pthread_t threads[4];
    int all = atoi(words[2]);
    kind = words[1];
    alone = all == 1;
    for (int i = 0; i < 4; i++) seeds[i] = (unsigned)i + 1;
    for (long i = 1; i < all; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    work((void *)0);
    for (int i = 1; i < all; i++) pthread_join(threads[i], NULL);
    mark("done");
    if (count > 3) { write(1, "ready\n", 6); for (;;) pause(); }
    return 0;
}
END
build -I"$root/include" program.c -o program -lpthread -ldl

run() { # KIND THREADS FLAGS...
    kind=$1 threads=$2
    shift 2
    rm -rf folder && mkdir folder
    "$MEMOIR_TOOL" run --every 100ms "$@" --output folder ./program "$kind" "$threads" >said 2>words ||
        fail "$kind $threads $*: $(cat words)"
    python3 "$root/tests/golden/readers/one_truth.py" "$MEMOIR_TOOL" folder/*.memoir words said ||
        fail "$kind, $threads threads, ${*:-the usual rate}"
}
for kind in small mixed large; do
    for threads in 1 4; do
        run $kind $threads
        run $kind $threads --rate 64K
        run $kind $threads --exact
    done
done

# A run of a few milliseconds lasts as long when it is told of and when its file is read.
cat >short.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) { void *volatile block = malloc(1000); free(block); usleep(3000); return 0; }
END
build short.c -o short
for _ in 1 2 3; do
    "$MEMOIR_TOOL" run --exact --output short.memoir ./short 2>words || fail "short: $(cat words)"
    "$MEMOIR_TOOL" report short.memoir >page
    [ "$(sed -n '1s/.*exit 0  *\(.*\)  *recorded.*/\1/p' words)" = "$(sed -n '1s/.*capture  *\(.*\)  *recorded.*/\1/p' page)" ] ||
        fail "two durations: $(head -n 1 words page)"
    [ "$(grep -o '[0-9.]* [KMG]*/s)\|[0-9.]*/s)' words)" = "$(grep -o '[0-9.]* [KMG]*/s)\|[0-9.]*/s)' page)" ] ||
        fail "two rates: $(grep -h '/s)' words page)"
done

# A mark is not above the peak, though no slow free came by between.
cat >marks.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
static void *kept[4000], *last[8];
int main(void)
{
    int (*mark)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_mark");
    for (int i = 0; i < 4000; i++) kept[i] = malloc(100);
    for (int i = 0; i < 4000; i++) free(kept[i]);
    for (int i = 0; i < 4000; i++) kept[i] = malloc(100);
    for (int i = 0; i < 8; i++) last[i] = malloc(100);
    mark("most");
    for (int i = 0; i < 8; i++) free(last[i]);
    for (int i = 0; i < 4000; i++) free(kept[i]);
    return 0;
}
END
build marks.c -o marks
"$MEMOIR_TOOL" run --output marks.memoir ./marks 2>words || fail "marks: $(cat words)"
"$MEMOIR_TOOL" time marks.memoir --json >time.json
python3 -c 'import json
time = json.load(open("time.json"))
assert time["moments"][0]["live_bytes"] == max(point["live_bytes"] for point in time["points"]), time' ||
    fail "a mark above the peak"

# What the library itself writes for pprof: no site has more than it allocated.
LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap.rate:64K,dump.format:pprof,dump.exit:on,dump.prefix:dump ./program mixed 4 >/dev/null ||
    fail "no dump"
python3 "$root/tests/golden/readers/one_truth.py" "$MEMOIR_TOOL" dump-*.pb.gz || fail "a dump for pprof"

# A process that runs: its own counters, ps, ctl and top.
LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap:on ./program mixed 4 stay >said &
pid=$!
for _ in $(seq 200); do grep -q ready said && break; sleep 0.05; done
python3 "$root/tests/golden/readers/one_truth.py" "$MEMOIR_TOOL" "$pid" said || fail "a running process"
"$MEMOIR_TOOL" ctl "$pid" stop >/dev/null || fail "it can't be stopped"
"$MEMOIR_TOOL" top "$pid" >top.txt 2>top.words || fail "top of a stopped one: $(cat top.words)"
grep -q 'sampling was turned off' top.txt top.words || fail "top does not say that sampling is off: $(cat top.txt top.words)"
kill "$pid"
wait "$pid" 2>/dev/null
finish
