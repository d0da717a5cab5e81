#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Several dumps of one process are moments of its run, in whatever order they are given: the last is
# what counts, and sites have a history, those that are gone, too. Dumps of two processes add up, and
# `memoir merge` adds what it is told to.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
cat >steps.c <<'C'
#include <memoir/memoir.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[8], *early[8];
__attribute__((noinline)) static void stay(int i) { kept[i] = malloc(100000); }
__attribute__((noinline)) static void go(int i) { early[i] = malloc(1000000); }
int main(int argc, char **argv)
{
    unsigned pause = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (int i = 0; i < 8; i++) {
        char name[] = "0.memoir";
        name[0] = (char)('0' + i);
        stay(i);
        if (i < 4)
            go(i);
        else
            free(early[i - 4]);
        memoir_dump(name);
        usleep(pause);
    }
    return 0;
}
C
build steps.c "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")" -o steps
MEMOIR=heap.rate:0 ./steps 2000 || fail "steps: $?"
mkdir other && (cd other && MEMOIR=heap.rate:0 ../steps 2000)

total() { # FILE...: what is live, and the history of each site
    "$MEMOIR_TOOL" top --metric live --rows 0 --json "$@" 2>errors >top.json || fail "$*: $(cat errors)"
    python3 -c 'import json; d = json.load(open("top.json")); print(d["total"])'
}

last=$(total 7.memoir)
[ "$last" -ge 800000 ] && [ "$last" -lt 1000000 ] || fail "the last is $last"
for order in "0 1 2 3 4 5 6 7" "7 6 5 4 3 2 1 0" "3 7 0"; do
    files=
    for i in $order; do files="$files $i.memoir"; done
    # shellcheck disable=SC2086
    [ "$(total $files)" = "$last" ] || fail "$order: $(cat top.json)"
    grep -q "^memoir: [38] dumps of one process, [0-9]*: showing the last; the others are its history$" \
        errors || fail "nothing is said: $(cat errors)"
done
"$MEMOIR_TOOL" time --rows 0 --json [0-7].memoir 2>/dev/null >time.json || fail "no course"
python3 - <<'END' || fail "the course"
import json
moments = json.load(open("time.json"))["moments"]
live = [moment["live_bytes"] for moment in moments]
assert len(live) == 8 and max(live) == live[3] and live[0] < live[1] < live[2] < live[3] > live[7], live
END
"$MEMOIR_TOOL" time [0-7].memoir 2>/dev/null >graph || fail "no graph"
grep -q ' go  ' graph || fail "what is gone is not in the graph: $(cat graph)"
[ "$(total 7.memoir other/7.memoir)" = $((2 * last)) ] || fail "two processes do not add up"
[ "$(total [0-7].memoir other/[0-7].memoir)" = $((2 * last)) ] || fail "two runs do not add up"
"$MEMOIR_TOOL" merge 6.memoir 7.memoir -o sum.pb.gz 2>/dev/null || fail "merge: $?"
[ "$(total sum.pb.gz)" -gt $((last + last / 2)) ] || fail "merge does not add: $(total sum.pb.gz)"

# dumps that follow each other faster than the clock's millisecond keep their order, and no graph
# claims that there was one only
mkdir fast && (cd fast && MEMOIR=heap.rate:0 ../steps)
[ "$(total fast/[0-7].memoir)" = "$(total fast/7.memoir)" ] || fail "the last of the fast ones"
"$MEMOIR_TOOL" time fast/[0-7].memoir >out 2>&1 || fail "no graph of fast ones"
grep -q ' go  ' out || grep -q 'lie within one millisecond; --json lists them$' out || fail "fast: $(cat out)"

# a capture in which nothing was freed tells that, and not that it can't tell
"$MEMOIR_TOOL" churn 0.memoir >out 2>&1
grep -q '^No block was freed' out || fail "churn: $(cat out)"
finish
