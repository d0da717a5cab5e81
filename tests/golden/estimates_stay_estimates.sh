#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A sampled profile that is exported says so in every format that can: read back, its rows have
# errors, and none is smaller than before; formats that nobody reads back have the mark in a text that their viewers
# show. A format that can't say it prints one line when it is written. An exact profile gets no mark.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3
settle

cat >program.c <<'C'
#include <stdlib.h>
static void *volatile kept[40000];
__attribute__((noinline)) static void many(void) { for (int i = 0; i < 30000; i++) kept[i] = malloc(500); }
__attribute__((noinline)) static void few(void) { for (int i = 30000; i < 30400; i++) kept[i] = malloc(9000); }
int main(void) { many(); few(); return 0; }
C
build program.c -o program
MEMOIR=heap.rate:64K,capture:sampled.memoir preload ./program
MEMOIR=heap.rate:0,capture:exact.memoir preload ./program

cat >judge.py <<'PY'
import json, sys
before, after, how = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3]
def errors(said):
    return {row["name"]: (row["self"], row["self_error"]) for row in said["rows"] if row["self"] > 0}
old, new = errors(before), errors(after)
for name, (value, error) in old.items():
    if name not in new:
        sys.exit("no row " + name)
    got = new[name][1]
    if how == "exact":
        if got != 0:
            sys.exit("%s is exact, but has an error of %s" % (name, got))
    # Other formats sum sizes up, so that the mean stands for all: a third less. And they do not have
    # the counters that make the bars of a capture shorter: more.
    elif not error * 0.66 <= got or got == 0:
        sys.exit("%s: error %s, not %s" % (name, got, error))
if how != "exact" and not any(error > 0 for _, error in old.values()):
    sys.exit("the original has no errors")
PY
for kind in sampled exact; do
    for format in pprof callgrind speedscope dhat massif heaptrack gperftools symbolized; do
        "$MEMOIR_TOOL" export "$kind.memoir" --format "$format" --at end -o "$kind.$format" 2>err ||
            fail "$format can't be written: $(cat err)"
        ! grep -q "numbers are estimates" err || fail "$format: $(cat err)"
        "$MEMOIR_TOOL" top "$kind.memoir" --at end --metric live --by function --json -n 0 -q >before.json
        "$MEMOIR_TOOL" top "$kind.$format" --at end --metric live --by function --json -n 0 -q >after.json ||
            "$MEMOIR_TOOL" top "$kind.$format" --by function --json -n 0 -q >after.json ||
            fail "$format can't be read"
        python3 judge.py before.json after.json "$kind" || fail "$kind, $format: see above"
        [ "$format" = pprof ] || [ "$kind" = sampled ] || ! grep -q '\[estimate' "$kind.$format" ||
            fail "$format: an exact profile is called an estimate"
        # Written again, it is the same; the mark is there once.
        "$MEMOIR_TOOL" export "$kind.$format" --format callgrind -o again -q 2>err
        marks=$(grep -o '\[estimate' again | wc -l)
        [ "$marks" -eq "$([ "$kind" = sampled ] && echo 1 || echo 0)" ] || fail "$format: $marks marks, written again"
    done
    for format in firefox perfetto; do
        "$MEMOIR_TOOL" export "$kind.memoir" --format "$format" -o "$kind.$format" -q || fail "$format"
        found=$(grep -c '\[estimate: sampled every 65536 bytes\]' "$kind.$format")
        [ "$found" -gt 0 ] && [ "$kind" = exact ] && fail "$format: an exact profile is called an estimate"
        [ "$found" -eq 0 ] && [ "$kind" = sampled ] && fail "$format does not say that it is an estimate"
    done
    for format in folded csv; do
        "$MEMOIR_TOOL" export "$kind.memoir" --format "$format" -o "$kind.$format" 2>err || fail "$format"
        lines=$(grep -c "estimates, which this format can't express" err)
        [ "$lines" -eq "$([ "$kind" = sampled ] && echo 1 || echo 0)" ] || fail "$kind, $format: $(cat err)"
    done
done
finish
