#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
#
# `memoir run --cpu` records memory and time in one file, and says where both went; `memoir cpu PID` does
# so for a process that runs, in three formats, leaves it as it was, and refuses what can't be. What is
# told of functions and threads is what the program knows of itself.
. "$(dirname "$0")/common.sh"
need python3
settle
export HOME="$place"
memoir() { "$MEMOIR_TOOL" "$@"; }

cat >work.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
volatile double result;
void *volatile kept[1000];
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
__attribute__((noinline)) void burn(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (int i = 1; i < 10000; i++)
            result += 1.0 / i;
}
__attribute__((noinline)) void parse(double seconds) { burn(seconds); result++; }
__attribute__((noinline)) void render(double seconds) { burn(seconds); result++; }
__attribute__((noinline)) void keep(void)
{
    for (int i = 0; i < 1000; i++)
        kept[i] = malloc(1000);
}
static void *painter(void *once)
{
    pthread_setname_np(pthread_self(), "painter");
    do
        render(0.2);
    while (!once);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, NULL, painter, argc > 1 ? NULL : "once");
    keep();
    do
        parse(0.6);
    while (argc > 1);
    pthread_join(thread, NULL);
    return 0;
}
C
build work.c -o work

# ---- run
memoir run --cpu --rate-hz 250 --exact -o run.memoir ./work 2>said || fail "run --cpu: $(cat said)"
grep -Eq '^    CPU  [0-9.]+ m?s: user .*, system .*     250 samples a second, by ' said || fail "no CPU time: $(cat said)"
grep -q '^    most CPU time .*burn' said && grep -q '^    largest at peak .*keep' said || fail "who has it: $(cat said)"
cat >run.py <<'PY'
import json, os, subprocess

def ask(*words):
    out = subprocess.run([os.environ["MEMOIR_TOOL"], *words, "--json"], capture_output=True, text=True)
    assert out.returncode == 0, (words, out.stderr)
    return json.loads(out.stdout)

heap = ask("top", "run.memoir")
rows = {row["name"]: row for row in heap["rows"]}
assert heap["metric"]["unit"] == "bytes" and rows["keep"]["self"] >= 1000000 and "cpu" in rows["keep"]
cpu = ask("top", "run.memoir", "--metric", "cpu")
rows = {row["name"]: row for row in cpu["rows"]}
assert 0.7e9 < cpu["total"] < 1.2e9, cpu["total"]
assert rows["burn"]["total"] > 0.85 * cpu["total"]
assert 0.6 < rows["parse"]["total"] / rows["burn"]["total"] < 0.9, rows
assert all(row["alloc_space"] >= 0 for row in cpu["rows"])
threads = {row["name"]: row for row in ask("threads", "run.memoir")["threads"]}
assert threads["painter"]["cpu"] > 0 and threads["work"]["cpu"] > threads["painter"]["cpu"], threads
assert threads["work"]["alloc_space"] >= 1000000 and threads["painter"]["alloc_space"] < 10000, threads
report = ask("report", "run.memoir")
assert report["clock"]["rate"] == 250 and report["clock"]["source"], report["clock"]
both = report["clock"]["user_ns"] + report["clock"]["system_ns"]
assert abs(both - cpu["total"]) < 0.1 * both, (both, cpu["total"])
PY
python3 run.py || fail "the recording: $(memoir run.memoir)"
memoir export run.memoir --metric cpu -o flame.svg 2>said && grep -q 'CPU time' flame.svg || fail "no flame graph: $(cat said)"
memoir run --cpu --rate-hz 1 -o short.memoir true 2>said # one run in some hundreds has a sample
grep -Eq '^    CPU  (no sample|1.00 s): user ' said || fail "a short run: $(cat said)"
memoir run --cpu --rate-hz 0 ./work 2>said && fail "a rate of 0"
grep -q "can't be '0'" said || fail "$(cat said)"

# What memoir's library does in malloc is malloc's time, unless all frames are asked for. A function without
# memory has time.
cat >churn.c <<'C'
#include <stdlib.h>
#include <time.h>
int main(void)
{
    static void *volatile blocks[100];
    for (int round = 0; round < 10000 || clock() < CLOCKS_PER_SEC / 2; round++) {
        for (int i = 0; i < 100; i++)
            blocks[i] = malloc(16 + 8 * (size_t)i);
        for (int i = 0; i < 100; i++)
            free(blocks[i]);
    }
    return 0;
}
C
build churn.c -o churn
memoir run --cpu --rate-hz 1000 -o churn.memoir ./churn 2>said || fail "churn: $(cat said)"
! grep -q 'it allocated little' said || fail "gigabytes are little: $(cat said)"
memoir top churn.memoir --metric cpu --by function >shown
grep -q ' malloc  .*lib/api' shown && grep -q ' free  .*lib/api' shown && ! grep -q 'hot_' shown || fail "$(cat shown)"
memoir top churn.memoir --metric cpu --by function --frames all >shown
grep -q ' hot_push.*hot.h' shown || fail "no insides: $(cat shown)"
memoir list run.memoir parse >shown 2>said && fail "memory of a function without: $(cat shown)"
grep -q -e '--metric cpu   shows its time' said || fail "$(cat said)"

# ---- a process
LD_PRELOAD=$MEMOIR_LIB ./work forever &
process=$!
sleep 0.5
for file in now.memoir now.pb.gz now.prof; do
    memoir cpu $process -d 700ms -o $file >shown 2>said || fail "$file: $(cat said)"
    grep -q 'CPU time: ' shown && grep -q ' burn ' shown || fail "$file: $(cat shown)"
    grep -q "the samples are in $file" said || fail "$file: $(cat said)"
    memoir tree $file --metric cpu >shown 2>said
    grep -q '[├└ ] parse ' shown && grep -q '[├└ ] render ' shown || fail "$file: $(cat shown)"
    memoir ctl $process cpu | grep -qx 'cpu:off' || fail "$file: it goes on: $(memoir ctl $process cpu)"
done
memoir threads now.memoir >shown
grep -q ' painter ' shown || fail "no threads: $(cat shown)"
if command -v google-pprof >/dev/null 2>&1; then
    google-pprof --text ./work now.prof >shown 2>/dev/null && grep -q ' burn$' shown || fail "google-pprof: $(cat shown)"
fi
memoir cpu $process -d 300ms >shown 2>said && ls work-*-$process-cpu.memoir >/dev/null || fail "no name: $(ls)"
# One that is sampled already goes on.
memoir ctl $process cpu start 500 >said && sleep 0.5
memoir cpu $process -d 100ms -o later.memoir >shown 2>said || fail "$(cat said)"
grep -q 'is sampled already' said && grep -q 'burn' shown || fail "$(cat said shown)"
memoir ctl $process cpu | grep -qx 'cpu:on' || fail "the sampling of others was stopped"
memoir ctl $process cpu stop >said
# Ctrl-C ends the sampling, not the answer.
python3 - "$process" <<'PY' || fail "Ctrl-C"
import os, signal, subprocess, sys, time
asked = subprocess.Popen([os.environ["MEMOIR_TOOL"], "cpu", sys.argv[1], "-d", "60s", "-o", "early.memoir"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(1.5)
asked.send_signal(signal.SIGINT)
out, said = asked.communicate(timeout=60)
assert asked.returncode == 0 and "burn" in out, (asked.returncode, out, said)
PY
refused() { # STATUS PATTERN WORDS...
    status=$1 pattern=$2
    shift 2
    expect "$status" memoir "$@" >shown 2>said
    grep -q -- "$pattern" said || fail "$*: $(cat said)"
}
refused 2 'written as .memoir, .pb.gz or .prof' cpu $process -o x.svg
refused 2 "can't be 'soon'" cpu $process -d soon
refused 2 "1 to 10000" cpu $process --rate-hz 10001
refused 2 "does not take 'more'" cpu $process more
refused 2 'needs the id of a process' cpu
refused 3 'File exists' cpu $process -d 100ms -o now.memoir
memoir ctl $process cpu | grep -qx 'cpu:off' || fail "it goes on after a refusal"
kill $process
wait $process 2>/dev/null
refused 4 'no process' cpu $process
LD_PRELOAD=$MEMOIR_LIB sleep 2 &
sleep 0.5
refused 4 'has ended' cpu $! -d 30s -o gone.memoir
[ ! -e gone.memoir ] || fail "a file without samples is left"
finish
