#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Three threads that work in turn, one after the other: `memoir threads` shows which ran when, with clocks of
# CPU time and of all time. A thread also runs for a moment at the end of each turn, and may be sampled then.
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
cd "$place" || exit 2
cat >turns.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 3, MS = 120 };
static pthread_barrier_t turn_ends;
static volatile unsigned long sum;

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *run(void *number)
{
    char name[16];
    snprintf(name, sizeof name, "turn-%ld", (long)number);
    pthread_setname_np(pthread_self(), name);
    for (long turn = 0; turn < THREADS; turn++) {
        for (double from = cpu_ms(); turn == (long)number && cpu_ms() - from < MS;)
            for (int i = 0; i < 1000; i++)
                sum += (unsigned long)i;
        pthread_barrier_wait(&turn_ends);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&turn_ends, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
END
build -D_GNU_SOURCE turns.c -o turns
cat >judge.py <<'END'
import json, sys
found = {}
for thread in json.load(open("threads.json"))["threads"]:
    if thread["name"].startswith("turn-"):
        width, us = thread["course"]["width_ms"], thread["course"]["us"]
        reached = lambda share: next(i for i in range(len(us)) if sum(us[:i + 1]) >= share * sum(us)) * width
        found[thread["name"]] = (reached(0.2), reached(0.8), width, sum(us))
print(found)
assert sorted(found) == ["turn-0", "turn-1", "turn-2"], "not all threads"
for name, (first, last, width, us) in found.items():
    assert 30e3 < us < 500e3, "%s has %d us" % (name, us)
for before, after in (("turn-0", "turn-1"), ("turn-1", "turn-2")):
    end, begin = found[before][1], found[after][0]
    assert end <= begin + max(found[before][2], found[after][2]), "%s ran until %d ms, %s from %d on" % (
        before, end, after, begin)
END
for clock in cpu wall; do
    rm -f run.memoir
    MEMOIR=cpu:on,cpu.rate:250,cpu.clock:$clock,capture:$place/run.memoir preload ./turns || fail "$clock: exit code $?"
    "$MEMOIR_TOOL" threads run.memoir --json >threads.json 2>message || fail "$clock: $(cat message)"
    python3 judge.py >judged 2>&1 || fail "$clock: $(cat judged)"
    "$MEMOIR_TOOL" threads run.memoir >table 2>&1
    [ "$(sed -n '/^which thread ran when/,$p' table | grep -c '  turn-[012]  ')" -eq 3 ] || fail "$clock: $(cat table)"
done
"$MEMOIR_TOOL" threads run.memoir -o threads.svg 2>message || fail "no picture: $(cat message)"
"$MEMOIR_TOOL" report run.memoir -o page.html 2>message || fail "no page: $(cat message)"
cat >pictured.py <<'END'
"""The rows of the picture: the bars of a thread begin where those of the one before end."""
import re, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
rows = {}
for group in tree.parse("threads.svg").getroot().iter(svg + "g"):
    name = group.find(svg + "title").text.split()[0]
    bars = [(float(bar.get("x")), float(bar.get("height"))) for bar in group.iter(svg + "rect")]
    rows[name] = sum(x * height for x, height in bars) / sum(height for _, height in bars)
assert rows["turn-0"] < rows["turn-1"] < rows["turn-2"], rows
page = open("page.html").read()
assert len(re.findall(r"<title>turn-[012] ", page)) == 6, "not all threads in both widths of the page"
END
python3 pictured.py >judged 2>&1 || fail "the picture: $(cat judged)"
finish
