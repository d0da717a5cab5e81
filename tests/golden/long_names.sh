#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Names of C++ that are megabytes long when they are written out, as expression templates have them,
# keep their function: in tables of any width, in JSON, folded, as pictures; with debug information
# and without. What is shown is what c++filt says, but for what is inside of brackets.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 c++filt nm "$CXX"
settle

cat >monster.cc <<'C'
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>
void *volatile kept;
#define LEAF kept = malloc(100000); asm volatile("")
#define APART __attribute__((noinline))
namespace {
template <int N> struct Nest { using type = std::map<std::string, std::vector<typename Nest<N - 1>::type>>; };
template <> struct Nest<0> { using type = std::tuple<int, std::string>; };
template <class T> struct Holder {
    APART void own_name() { LEAF; }
    template <class U> APART bool operator<(const U &) const { LEAF; return true; }
    template <class U> APART Holder &operator<<(const U &) { LEAF; return *this; }
    APART T *operator->() { LEAF; return nullptr; }
    template <class U> APART int operator()(U (*)(T, int), int) { LEAF; return 1; }
    APART operator std::vector<T>() { LEAF; return {}; }
    APART bool operator>(const Holder &) const { LEAF; return true; }
    APART int operator[](int) const { LEAF; return 1; }
};
template <class T, int (*F)(T), bool B = (sizeof(T) > 4), bool C = (sizeof(T) < 4)>
struct Expression { APART static void compute() { LEAF; } };
template <class T> int callback(T) { return 1; }
}
namespace visible {
template <class T> struct Deep { struct Inner {
    template <class U> APART static void at_the_end(U, T *) { LEAF; }
}; };
}
int main()
{
    using Big = Nest<DEPTH>::type;
    Holder<Big> h;
    const Holder<Big> c{};
    h.own_name(), (void)(c < 3), h << std::string(), h.operator->();
    h((std::string(*)(Big, int))nullptr, 2), (void)(std::vector<Big>)h, (void)(c > c), (void)c[1];
    Expression<Big *, callback<Big *>>::compute();
    visible::Deep<Big>::Inner::at_the_end<Big **>(nullptr, nullptr);
    return 0;
}
C
cat >check.py <<'PY'
import json, re, subprocess, sys
name, tool = sys.argv[1], sys.argv[2]
said = json.load(open(name + ".json"))
ours = {row["name"] for row in said["rows"] if row["self"] >= 100000}
theirs = subprocess.run("nm %s | awk '{ print $3 }' | c++filt -p" % name, shell=True, text=True,
                        capture_output=True).stdout.split("\n")
theirs = {text.replace("> >", ">>").replace("> >", ">>") for text in theirs if "Nest" in text or "map" in text}
bad = 0
wanted = ["own_name", "operator< <int>", "operator<< <", "operator->", "operator()<", "operator std::vector<",
          "operator>", "operator[]", "Expression<", "::compute", "at_the_end<"]
for want in wanted:
    if not any(want in text for text in ours):
        bad = print("no name with", want, sorted(text[:200] for text in ours)) or 1
for text in ours:
    head, tail = text[:text.index("<") + 1], re.search(r"::[^:]*?(<|$)", text[text.rindex("::"):])[0]
    if len(text) > 70000 or not any(full.startswith(head) and tail in full for full in theirs):
        bad = print("c++filt has no such name:", text[:300]) or 1
sys.exit(bad)
PY
for depth in 2 5; do
    for flags in -g -g0; do
        name=monster$depth$flags
        "$CXX" -std=c++17 -O1 -w "-DDEPTH=$depth" "$flags" monster.cc -o "$name" || exit 2
        MEMOIR=heap.rate:0,capture:$name.memoir preload "./$name"
        "$MEMOIR_TOOL" top "$name.memoir" --frames leaf --json -n 10 -q >"$name.json"
        python3 check.py "$name" "$MEMOIR_TOOL" || fail "$name: names are wrong"
        for width in 60 80 140; do
            COLUMNS=$width "$MEMOIR_TOOL" top "$name.memoir" --frames leaf -n 10 -q >"$name.$width"
            for word in own_name 'operator<' 'operator->' 'operator()' 'operator>' 'operator\[\]' \
                'operator std' compute at_the_end; do
                grep -q -- "$word" "$name.$width" || fail "$name: $word is not in $width columns"
            done
        done
        "$MEMOIR_TOOL" export "$name.memoir" --format folded -o "$name.folded" -q
        "$MEMOIR_TOOL" export "$name.memoir" -o "$name.svg" -q
        "$MEMOIR_TOOL" export "$name.memoir" --picture graph -o "$name.dot" -q
        for file in "$name.folded" "$name.svg" "$name.dot"; do
            for word in own_name compute at_the_end; do
                grep -q "$word" "$file" || fail "$file has no $word"
            done
        done
    done
done
finish
