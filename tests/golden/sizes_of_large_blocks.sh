#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Blocks over 32 KiB have sizes like all others: --size keeps those that it names, --by size and
# `memoir sizes` have a row for them, with the whole of the memory in all rows together. In a
# capture, in pprof's format, by the library and by export, in heaptrack's, and by the mean of a stack
# in the text formats of jemalloc and gperftools.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >large.c <<'END'
#include <stdlib.h>
static void *volatile keep[2000];
static int kept;
#define SITE(name, size)                                                                           \
    __attribute__((noinline)) static void name(void)                                               \
    {                                                                                              \
        keep[kept++] = malloc(size);                                                               \
    }
SITE(small, 100)
SITE(just_large, 40000)
SITE(middling, 100000)
SITE(huge, 3000000)
__attribute__((noinline)) static void mixed(size_t size)
{
    keep[kept++] = malloc(size);
}
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        small();
        if (i < 8)
            mixed(i < 5 ? 50000 : 500000);
        if (i < 20)
            just_large();
        if (i < 10)
            middling();
        if (i < 3)
            huge();
    }
    return 0;
}
END
${CC:-cc} -g -O1 large.c -o large
"$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output large.memoir ./large 2>run.log
for format in pprof jemalloc gperftools; do
    "$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --format $format --output lib.$format ./large 2>run.log
done
"$MEMOIR_TOOL" run --rate 4K --lib "$MEMOIR_LIB" --output sampled.memoir ./large 2>run.log
"$MEMOIR_TOOL" export large.memoir -o exported.pb.gz 2>run.log
"$MEMOIR_TOOL" export large.memoir --format heaptrack -o large.heaptrack 2>run.log
python3 - <<'END'
import json, os, re, subprocess

SITES = {"small": (112, 1000), "just_large": (40960, 20), "middling": (102400, 10), "huge": (3002368, 3)}

def memoir(*words):
    return json.loads(subprocess.run([os.environ["MEMOIR_TOOL"], *words, "--json"], check=True,
                                     capture_output=True, text=True).stdout)

def own(file, *flags):
    rows = memoir("top", file, "--metric", "live", "--by", "function", *flags)["rows"]
    return {row["name"]: row["self"] for row in rows if row["self"] and row["name"] in SITES}

for file in ("large.memoir", "lib.pprof", "exported.pb.gz", "large.heaptrack", "lib.jemalloc",
             "lib.gperftools"):
    bytes_of = own(file)
    assert set(bytes_of) == set(SITES), (file, bytes_of)
    for name, (size, count) in SITES.items():
        # Usable bytes, or those asked for.
        assert 0.88 * size * count < bytes_of[name] <= size * count, (file, name, bytes_of)
    for limits, names in (("33K:", {"just_large", "middling", "huge"}), (":32K", {"small"}),
                          ("33K:64K", {"just_large"}), ("64K:1M", {"middling"}),
                          ("1M:", {"huge"}), ("50:50G", set(SITES)), ("4M:", set())):
        found = own(file, "--size", limits)
        assert found == {name: bytes_of[name] for name in names}, (file, limits, found)
    by_size = memoir("top", file, "--metric", "live", "--by", "size")
    assert sum(row["self"] for row in by_size["rows"]) == by_size["total"] == by_size["whole"], file
    assert "[unknown]" not in {row["name"] for row in by_size["rows"]}, file
    for name, (size, count) in SITES.items(): # each in the row of its size, or in that of its range
        def holds(row):
            ends = [int(end) for end in re.sub("mean ", "", row["name"]).split("-")]
            return ends[0] <= (bytes_of[name] // count) <= ends[-1]
        rows = [row for row in by_size["rows"] if holds(row)]
        assert len(rows) >= 1 and sum(row["self"] for row in rows) >= bytes_of[name], (file, name, rows)
    sizes = memoir("sizes", file, "--metric", "live")
    assert sum(row["bytes"] for row in sizes["sizes"]) == sizes["bytes"] == sizes["total"], file
    if file != "large.memoir":
        continue
    row = next(row for row in sizes["sizes"] if row["size"] == 3002368)
    assert row["size_least"] <= 3002368 <= row["size_most"] and row["objects"] == 3, row
    assert all("size_least" not in row for row in sizes["sizes"] if row["size"] <= 32768)

# Blocks of one site that differ in size are told apart where samples have sizes.
for file in ("large.memoir", "lib.pprof", "exported.pb.gz"):
    for limits, blocks, size in (("33K:64K", 5, 53248), ("64K:1M", 3, 503808)):
        rows = memoir("top", file, "--metric", "live", "--by", "function", "--size", limits)["rows"]
        found = [(row["self_objects"], row["self"]) for row in rows if row["name"] == "mixed"]
        assert found == [(blocks, blocks * size)], (file, limits, found)

# The blocks of one size are counted in a sampled run, too, unless only some are asked for.
def sampled(*flags):
    rows = memoir("top", "sampled.memoir", "--metric", "alloc", "--by", "size", *flags)["rows"]
    return next(row for row in rows if row["name"] == "112")
exact = next(row for row in memoir("top", "large.memoir", "--metric", "alloc", "--by", "size")["rows"]
             if row["name"] == "112")
row = sampled()
assert (row["self"], row["self_objects"], row["self_error"]) == \
       (exact["self"], exact["self_objects"], 0), (row, exact)
assert sampled("--focus", "small")["self_error"] > 0

# A filter of an export is the same.
subprocess.run([os.environ["MEMOIR_TOOL"], "export", "large.memoir", "--size", "1M:", "-o", "huge.pb.gz"],
               check=True, capture_output=True)
assert own("huge.pb.gz") == {"huge": 3 * 3002368}, own("huge.pb.gz")
END
