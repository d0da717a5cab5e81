#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Filters mean what they mean in pprof: the same profile through `go tool pprof -top` and through
# `memoir top --frames all`, with each filter, has the same functions with the same numbers.
. "$(dirname "$0")/../programs/common.sh"
need go python3
go tool pprof -help >/dev/null 2>&1 || [ $? -eq 2 ] || skip "go has no pprof"
cat >"$place/app.cc" <<'END'
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
struct Node {
    std::vector<std::unique_ptr<Node>> kids;
    std::string name;
};
static void grow(Node &node, int depth)
{
    for (int i = 0; i < 3; i++) {
        node.kids.push_back(std::make_unique<Node>());
        node.kids.back()->name = std::string(64, 'a');
        if (depth > 0)
            grow(*node.kids.back(), depth - 1);
    }
}
static Node root;
static std::map<int, std::string> *cache;
static void Fill_cache()
{
    cache = new std::map<int, std::string>;
    for (int i = 0; i < 500; i++)
        (*cache)[i] = std::string(100 + i % 300, 'x');
}
int main()
{
    std::thread worker(Fill_cache);
    worker.join();
    grow(root, 4);
    return 0;
}
END
cd "$place" || exit 2
"$CXX" -O1 -g app.cc -o app -pthread || skip "no C++ compiler"
"$MEMOIR_TOOL" run --exact --output app.memoir ./app 2>errors || fail "run: $(cat errors)"
"$MEMOIR_TOOL" export app.memoir -o app.pb.gz 2>errors || fail "export: $(cat errors)"
cat >compare.py <<'END'
import json, os, re, subprocess, sys
tool = os.environ["MEMOIR_TOOL"]
cases = [
    ([], []),
    (["-focus=grow"], ["--focus", "grow"]),
    (["-ignore=grow"], ["--ignore", "grow"]),
    (["-focus=Fill_cache", "-ignore=string"], ["Fill_cache", "-string"]),
    (["-hide=grow"], ["--hide", "grow"]),
    (["-hide=std::"], ["--hide", "std::"]),
    (["-show=grow|main"], ["--show", "grow|main"]),
    (["-show_from=grow"], ["--from", "grow"]),
    (["-show_from=^main$"], ["--from", "^main$"]),
    (["-prune_from=grow"], ["--prune", "grow"]),
    (["-tagfocus=64b:128b"], ["--tag-focus", "64b:128b"]),
    (["-tagignore=:100b"], ["--tag-ignore", ":100b"]),
    (["-noinlines"], ["--no-inlines"]),
    (["-focus=app.cc"], ["--focus", "app.cc"]),
]
common = ["-symbolize=none", "-top", "-unit=B", "-sample_index=alloc_space", "-nodecount=100000",
          "-nodefraction=0", "-edgefraction=0"]
failed = 0
for theirs, ours in cases:
    out = subprocess.run(["go", "tool", "pprof", *common, *theirs, "app.pb.gz"],
                         capture_output=True, text=True).stdout
    want = {}
    for line in out.splitlines():
        row = re.match(r"\s*(-?\d+)B?\s+\S+%\s+\S+%\s+(-?\d+)B?\s+\S+%\s+(.*)", line)
        if row:
            name = re.sub(r" \((partial-)?inline\)$", "", row[3])
            old = want.get(name, (0, 0))
            want[name] = (old[0] + int(row[1]), max(old[1], int(row[2])))
    words = ["top", "app.pb.gz", "--metric", "alloc_space", "--frames", "all", "--by", "function",
             "--json", *ours]
    got = {}
    for row in json.loads(subprocess.run([tool, *words], capture_output=True).stdout)["rows"]:
        name = row["name"]
        if row.get("unnamed"):  # pprof does not tell the functions of a library apart
            name = "[%s]" % name.rpartition("+")[0]
        old = got.get(name, (0, 0))
        got[name] = (old[0] + row["self"], max(old[1], row["total"]))
    want = {name: value for name, value in want.items() if value != (0, 0)}
    if not want or want != got:
        failed = 1
        print("differs:", theirs, ours)
        for name in sorted(set(want) | set(got)):
            if want.get(name) != got.get(name):
                print("   ", name[:80], "pprof", want.get(name), "memoir", got.get(name))
sys.exit(failed)
END
MEMOIR_TOOL=$MEMOIR_TOOL python3 compare.py || fail "not as in pprof"
finish
