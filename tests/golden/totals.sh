#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of a capture with every block, the totals that verbs say are the sums of their lists, and one
# verb's are another's: threads that come and go, blocks that move; blocks that other threads free. Of a
# sampled one the peak is one number as well, and the end is the true one.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
cat >busy.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *kept[8][1000];
__attribute__((noinline)) static void *grab(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) static void *grow(void *block, size_t size) { return realloc(block, size); }
static void *work(void *argument)
{
    long which = (long)argument;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 1000; i++) {
            free(kept[which][i]);
            kept[which][i] = grab((size_t)(16 + i * 7 + which * 100));
        }
        for (int i = 0; i < 2000; i++)
            free(grow(grab(100), 100 + (size_t)i % 64));
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
        if (i % 2 == 1) {
            pthread_join(threads[i - 1], NULL);
            pthread_join(threads[i], NULL);
        }
    }
    for (int i = 0; i < 4000; i++)
        free(kept[i % 8][i / 8]);
    free(grow(grab(5 << 20), 9 << 20));
    return 0;
}
C
build busy.c -o busy
for rate in 0 16K; do
    "$MEMOIR_TOOL" run --rate $rate --every 100ms --output busy.memoir ./busy 2>words || fail "$(cat words)"
    for verb in report top peak leaks sizes threads time; do
        "$MEMOIR_TOOL" $verb --rows 0 --json busy.memoir >$verb.json 2>errors
        [ -s $verb.json ] || fail "$verb: $(cat errors)"
    done
    python3 - $rate <<'END' || fail "rate $rate"
import json, re, sys
page, top, peak, leaks, sizes, threads, time = (
    json.load(open(verb + ".json"))
    for verb in "report top peak leaks sizes threads time".split())
wrong = []
def same(what, *numbers):
    if len(set(numbers)) != 1:
        wrong.append(f"{what}: {numbers}")
def added(rows, column):
    return sum(row[column] for row in rows)
lists = page["lists"]
for name, one in lists.items():
    if name != "short_lived":
        same(f"report's {name}", one["total"], added(one["rows"], "self"))
same("peak", lists["peak"]["total"], peak["total"], added(peak["rows"], "self"), top["total"],
     sizes["bytes"], added(sizes["sizes"], "bytes"), max(p["live_bytes"] for p in time["points"]))
same("peak's objects", peak["total_objects"], added(sizes["sizes"], "objects"))
same("requested", sizes["requested"], added(sizes["sizes"], "requested"))
same("end", lists["live"]["total"], added(threads["threads"], "inuse_space"), leaks["total"])
same("allocated", lists["allocated"]["total"], added(threads["threads"], "alloc_space"))
same("calls", lists["calls"]["total"], added(threads["threads"], "alloc_objects"))
if sys.argv[1] == "0":
    same("leaks", leaks["total"], leaks["leaked_bytes"] + leaks["suppressed_bytes"])
    same("leaked", leaks["leaked_bytes"], added(leaks["sites"], "bytes"))
    same("the end of the course", time["points"][-1]["live_bytes"], lists["live"]["total"])
    said = re.search(r"allocated ([0-9.]+) MiB", open("words").read())[1]
    same("said", said, f"{lists['allocated']['total'] / 1048576:.3g}")
    same("counted", page["live_bytes"], lists["live"]["total"])
    open("live", "w").write(str(page["live_bytes"]))
else: # which is a number that is counted, too
    same("the end", page["live_bytes"], int(open("live").read()))
    said = re.search(r"end ([0-9.]+) MiB", open("words").read())[1]
    same("the end that is said", said, f"{page['live_bytes'] / 1048576:.3g}")
sys.exit("\n".join(wrong) if wrong else 0)
END
done

# A filter leaves the same of it in every verb, and in what is written.
"$MEMOIR_TOOL" run --exact --output busy.memoir ./busy 2>/dev/null
number=$("$MEMOIR_TOOL" threads busy.memoir --json | sed -n 's/^ *"id": \([0-9]*\),$/\1/p' | tail -n 1)
whole=$("$MEMOIR_TOOL" top busy.memoir --metric alloc --json | sed -n 's/^  "total": \([0-9]*\),$/\1/p')
for filter in --focus=grow --ignore=grow --size=1K:4K "--thread=$number" --age=:1ms --age=1ms: --module=busy; do
    for verb in top sizes threads report; do
        metric='--metric alloc'
        [ $verb != threads ] && [ $verb != report ] || metric=''
        # shellcheck disable=SC2086 # words
        "$MEMOIR_TOOL" $verb --rows 0 --json $metric busy.memoir "$filter" >$verb.json 2>errors
        [ -s $verb.json ] || fail "$verb $filter: $(cat errors)"
    done
    "$MEMOIR_TOOL" export -q busy.memoir "$filter" -o part.pb.gz
    for metric in alloc live peak; do
        "$MEMOIR_TOOL" top --rows 0 --json --metric $metric part.pb.gz >$metric.json
    done
    python3 - "$filter" "$whole" <<'END' || fail "$filter"
import json, sys
filter, whole = sys.argv[1], int(sys.argv[2])
top, sizes, threads, page, alloc, live, peak = (
    json.load(open(name + ".json")) for name in "top sizes threads report alloc live peak".split())
numbers = [top["total"], sizes["bytes"], sum(row["bytes"] for row in sizes["sizes"]),
           sum(row["alloc_space"] for row in threads["threads"]),
           page["lists"]["allocated"]["total"], alloc["total"]]
assert len(set(numbers)) == 1 and 0 < numbers[0], numbers
assert numbers[0] < whole or filter.startswith("--module"), "all of it"
if filter.startswith("--age"):
    ended = [live["total"], peak["total"], sum(row["inuse_space"] for row in threads["threads"])]
    assert ended == [0, 0, 0], ended
END
done
"$MEMOIR_TOOL" top busy.memoir --age :1ms | grep -q '   allocated: ' || fail "--age: not of what was allocated"
for verb in peak leaks 'top --metric live'; do
    # shellcheck disable=SC2086 # words
    expect 2 "$MEMOIR_TOOL" $verb busy.memoir --age :1ms >said 2>errors
    grep -q -- '--age is the age of freed blocks' errors || fail "$verb --age: $(cat errors)"
done
finish
