#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# What `memoir report` calls growing, `memoir leaks` and the page of `memoir export` call so as well,
# and nothing else: a steady leak, one on top of much that stays, memory that comes and goes, that
# came once, and that moved from one caller of a function to another.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >shapes.c <<'END'
#include <stdlib.h>
#include <unistd.h>
enum { TICKS = 60, LARGE = 2000 };
static void *volatile even[TICKS], *volatile saw[TICKS], *volatile moved[TICKS];
static void *volatile large[LARGE + TICKS], *volatile once;
__attribute__((noinline)) static void *grows_evenly(void)
{
    return malloc(20000);
}
__attribute__((noinline)) static void *grows_on_top(void)
{
    return malloc(5000);
}
__attribute__((noinline)) static void *comes_and_goes(void)
{
    return malloc(30000);
}
__attribute__((noinline)) static void *comes_once(void)
{
    return malloc(200000);
}
__attribute__((noinline)) static void *changes_caller(void)
{
    void *volatile block = malloc(10000);
    return block;
}
__attribute__((noinline)) static void first_caller(int i)
{
    moved[i] = changes_caller();
}
__attribute__((noinline)) static void second_caller(int i)
{
    free(moved[i]);
    moved[i] = changes_caller();
}
int main(void)
{
    once = comes_once();
    for (int i = 0; i < LARGE; i++)
        large[i] = grows_on_top();
    for (int i = 0; i < TICKS; i++)
        first_caller(i);
    for (int i = 0; i < TICKS; i++) {
        even[i] = grows_evenly();
        large[LARGE + i] = grows_on_top();
        saw[i] = comes_and_goes();
        for (int k = 0; i == 40 && k < 30; k++) {
            free(saw[k]);
            saw[k] = NULL;
        }
        second_caller(i);
        usleep(20000);
    }
    return 0;
}
END
${CC:-cc} -g -O1 shapes.c -o shapes
"$MEMOIR_TOOL" run --exact --every 100ms --lib "$MEMOIR_LIB" --output run.memoir ./shapes 2>run.log
"$MEMOIR_TOOL" report run.memoir --rows 0 >report.txt
"$MEMOIR_TOOL" report run.memoir --rows 0 --json >report.json
"$MEMOIR_TOOL" leaks run.memoir --rows 0 --json >leaks.json || [ $? -eq 1 ]
"$MEMOIR_TOOL" export run.memoir -o page.html
python3 - <<'END'
import json, re
report, leaks = json.load(open("report.json")), json.load(open("leaks.json"))
text, page = open("report.txt").read(), open("page.html").read()
shapes = {site["name"]: site["shape"] for site in leaks["sites"]}
growing = {name for name, shape in shapes.items() if shape in ("linear", "growing")}
print(shapes)
assert growing == {"grows_evenly", "grows_on_top"}, shapes
assert shapes["comes_once"] == "once"
for key, rows in report["lists"].items():
    assert {row["name"] for row in rows["rows"] if row["growing"]} <= growing, key
rows = {row["name"]: row["growing"] for row in report["lists"]["live"]["rows"]}
for name, grows in rows.items():
    assert grows == (name in growing), (name, grows)
for name in shapes:
    marked = {"◢ growing" in line for line in text.splitlines() if re.search(rf" {name} ", line)}
    assert marked == {name in growing}, (name, marked)
# Sites of the page's table of leaks: the mark is in front of the shape.
for name, shape in shapes.items():
    row = next((row for row in page.split("<tr>") if f'{name}<' in row and "class=\"course\"" in row), "")
    if row:
        assert ("◢" in row) == (name in growing), (name, row)
assert sum('class="course"' in row for row in page.split("<tr>")) >= 4
END

# What was not sampled is no site: it does not grow.
"$MEMOIR_TOOL" run --rate 1G --every 100ms --lib "$MEMOIR_LIB" --output rough.memoir ./shapes 2>run.log
"$MEMOIR_TOOL" report rough.memoir --rows 0 >report.txt
grep -q '\[not sampled\]' report.txt || { cat report.txt; exit 1; }
if grep '\[not sampled\].*growing' report.txt; then
    exit 1
fi
