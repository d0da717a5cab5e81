#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# 100 mallocs and 10,000 reallocs, most of which leave their block where it is, are 10,100
# allocations: in the summary of a run, in report, top, threads, time and check, text and JSON, by
# site, in exports, and at any rate of samples. As heaptrack and DHAT count them, where there are any.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >grow.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *grows(void)
{
    void *volatile block = malloc(10);
    for (int i = 1; i <= 100; i++)
        block = realloc(block, (size_t)i * 20);
    return block;
}
int main(void)
{
    for (int k = 0; k < 100; k++)
        free(grows());
    return 0;
}
END
${CC:-cc} -g -O1 -fno-builtin grow.c -o grow
for rate in 0 512K; do
    "$MEMOIR_TOOL" run --rate $rate --lib "$MEMOIR_LIB" --output $rate.memoir ./grow 2>$rate.txt
done
if valgrind --version >/dev/null 2>&1; then
    valgrind --tool=dhat --dhat-out-file=dhat.json ./grow >/dev/null 2>&1
fi
if heaptrack --version >/dev/null 2>&1; then
    heaptrack -o track ./grow >/dev/null 2>&1
fi
python3 - <<'END'
import glob, json, os, re, subprocess

COUNT = 10100

def memoir(*words):
    return subprocess.run([os.environ["MEMOIR_TOOL"], *words], check=True, capture_output=True, text=True).stdout

def ask(*words):
    return json.loads(memoir(*words, "--json"))

def within(limit, file):
    done = subprocess.run([os.environ["MEMOIR_TOOL"], "check", file, "--max-allocs", str(limit), "--strict"],
                          capture_output=True)
    return done.returncode == 0

for rate in ("0", "512K"):
    file = rate + ".memoir"
    report = ask("report", file)
    assert report["allocations"] == report["lists"]["calls"]["total"] == COUNT, (rate, report["allocations"])
    assert report["frees"] == COUNT, report["frees"]
    assert ask("top", file, "--metric", "count")["total"] == COUNT
    assert sum(row["alloc_objects"] for row in ask("threads", file)["threads"]) == COUNT
    assert within(COUNT, file) and not within(COUNT - 1, file), rate
    for text in (open(rate + ".txt").read(), memoir("report", file)):
        assert re.search(r" in 10\.1 K allocations[ \n]", text), text
    assert re.search(r"^allocations: 10\.1 K$", memoir("report", file), re.M)
    assert memoir("top", file, "--metric", "count").splitlines()[0].find("allocations: 10.1 K") > 0
    for ending in ("pb.gz", "heaptrack", "dhat.json"):
        memoir("export", file, "-o", "out." + ending)
        assert ask("top", "out." + ending, "--metric", "count")["total"] == COUNT, (rate, ending)
rows = ask("top", "0.memoir", "--metric", "count", "--by", "function")["rows"]
assert [row["self"] for row in rows if row["name"] == "grows"] == [COUNT], rows
for file in glob.glob("dhat.json") + glob.glob("track.*"):
    rows = ask("top", file, "--metric", "count", "--by", "function")["rows"]
    assert [row["self"] for row in rows if row["name"] == "grows"] == [COUNT], (file, rows)
END
