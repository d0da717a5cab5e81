#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What functions cost with all they call, as callgrind_annotate --inclusive=yes prints it: in files
# that valgrind wrote of a program with code inlined from other files, static functions of one name
# in two files and several events; and in those that `memoir export` writes, of a program with
# recursion as well, where every function must agree to the byte.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb
need valgrind callgrind_annotate

cat >inline.h <<'END'
static inline int twist(int x)
{
    for (int i = 0; i < 20; i++)
        x = x * 31 + (x >> 3) + i;
    return x;
}
__attribute__((noinline)) int outside(int x);
static inline int through(int x)
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += twist(x + i);
    return sum + outside(x);
}
END
cat >one.cc <<'END'
#include "inline.h"
#include <algorithm>
#include <cstdio>
#include <vector>
static __attribute__((noinline)) int helper(int x)
{
    int sum = 1;
    for (int i = 0; i < x % 5; i++)
        sum += i * x;
    return sum + through(x);
}
__attribute__((noinline)) int sorts(int n)
{
    std::vector<int> v;
    for (int i = 0; i < n; i++)
        v.push_back(twist(i) % 1000);
    std::sort(v.begin(), v.end());
    return v[n / 2];
}
int other(int x);
int main()
{
    int sum = 0;
    for (int i = 0; i < 300; i++)
        sum += helper(i) + other(i);
    sum += sorts(2000);
    return printf("%d\n", sum) > 0 ? 0 : 1;
}
END
cat >two.cc <<'END'
#include "inline.h"
static __attribute__((noinline)) int helper(int x)
{
    int sum = x;
    for (int i = 0; i < x % 7; i++)
        sum ^= i * x;
    return sum + through(x * 3) + through(x * 7);
}
int outside(int x)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum ^= x * i;
    return sum;
}
int other(int x)
{
    return helper(x) + twist(x);
}
END
${CXX:-c++} -g -O2 one.cc two.cc -o program
valgrind --tool=callgrind --callgrind-out-file=calls.out ./program >/dev/null 2>&1
valgrind --tool=callgrind --cache-sim=yes --callgrind-out-file=events.out ./program >/dev/null 2>&1

cat >keeps.cc <<'END'
#include <map>
#include <string>
#include <vector>
std::vector<std::string> kept;
std::map<int, std::string> named;
struct Base {
    Base()
    {
        named[(int)named.size()] = std::string(100, 'n');
    }
};
struct Derived : Base {
    Derived()
    {
        kept.push_back(std::string(200, 'd'));
    }
};
__attribute__((noinline)) static void first(int depth);
__attribute__((noinline)) static void second(int depth)
{
    kept.push_back(std::string(300 + (unsigned)depth, 's'));
    if (depth > 0)
        first(depth - 1);
}
__attribute__((noinline)) static void first(int depth)
{
    kept.push_back(std::string(1000 + (unsigned)depth, 'f'));
    if (depth % 3)
        first(depth - 1);
    if (depth > 0)
        second(depth - 1);
}
int main()
{
    for (int i = 0; i < 100; i++)
        Derived derived;
    first(9);
    second(4);
    return 0;
}
END
${CXX:-c++} -g -O1 keeps.cc -o keeps
"$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output keeps.memoir ./keeps 2>run.log

python3 - <<'END'
import csv, io, os, re, subprocess

def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout

# callgrind_annotate shortens paths below the present folder, but not those of callees.
def theirs(file, event):
    said, costs = run("callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", f"--show={event}",
                      f"--sort={event}", os.path.abspath(file), cwd="/"), {}
    for line in said.splitlines():
        match = re.match(r"^ *([0-9,]+) \( *[0-9.]+%\)  (.*)$", line)
        if match and match[2] != "PROGRAM TOTALS":
            name = re.sub(r" \[[/?][^\[\]]*\]$", "", match[2])
            costs[name] = costs.get(name, 0) + int(match[1].replace(",", ""))
    return {name: cost for name, cost in costs.items() if cost}

def ours(file, event):
    rows = run(os.environ["MEMOIR_TOOL"], "top", file, "--metric", event, "--by", "function", "--frames", "all",
               "--rows", "0", "--csv", "--quiet")
    costs = {}
    for row in csv.DictReader(io.StringIO(rows)):
        name = (row["file"] or "???") + ":" + row["name"]
        costs[name] = costs.get(name, 0) + int(row["total"])
    return {name: cost for name, cost in costs.items() if cost}

for file, events in (("calls.out", ["Ir"]), ("events.out", ["Ir", "Dr", "Dw"])):
    for event in events:
        wanted, got = theirs(file, event), ours(file, event)
        # A function that calls itself, F'2, counts again in each call there.
        plain = [name for name in wanted if "'2" not in name and wanted[name] >= 100]
        parts = [name for name in plain if "inline.h:" in name or "/c++/" in name]
        assert len(plain) > 50 and len(parts) >= 3, (file, len(plain), parts)
        for ending in ("one.cc:main", "one.cc:helper(int)", "two.cc:helper(int)", "two.cc:outside(int)",
                       "inline.h:sorts(int)", "one.cc:sorts(int)"):
            assert event != "Ir" or any(name.endswith(ending) for name in plain), (file, ending)
        wrong = {name: (wanted[name], got.get(name)) for name in plain
                 if abs(got.get(name, 0) - wanted[name]) > max(20, wanted[name] / 500)}
        assert not wrong, (file, event, wrong)

for event in ("alloc_space", "alloc_objects", "peak_space"):
    run(os.environ["MEMOIR_TOOL"], "export", "keeps.memoir", "--metric", event, "-o", "keeps.callgrind")
    wanted, got = theirs("keeps.callgrind", event), ours("keeps.memoir", event)
    wrong = {name: (wanted.get(name), got.get(name)) for name in wanted.keys() | got.keys()
             if wanted.get(name) != got.get(name)}
    assert len(wanted) > 20 and not wrong, (event, len(wanted), wrong)
    # Read back, what is outside of the recursion is the same.
    back = ours("keeps.callgrind", event)
    for name in wanted:
        if "first" not in name and "second" not in name and "/c++/" not in name:
            assert abs(back.get(name, 0) - wanted[name]) <= max(20, wanted[name] / 500), \
                (event, name, wanted[name], back.get(name))
END
