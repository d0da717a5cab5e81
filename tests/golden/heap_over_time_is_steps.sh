#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The heap over time is steps: a program takes 64 MiB, gives them back and is idle. Nothing in the
# graphs of the terminal, the picture and the page slopes through memory that is gone, and the idle
# time shows what was there. A mark has the bytes of its own moment and a line of
# its own; a snapshot that was merely due has none.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
export LC_ALL=C.UTF-8 HOME="$place"
cat >program.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *blocks[64];
int main(void)
{
    int (*mark)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_mark");
    usleep(300000);
    for (int i = 0; i < 64; i++) blocks[i] = memset(malloc(1 << 20), 1, 1 << 20);
    if (mark) mark("full");
    usleep(150000);
    for (int i = 0; i < 64; i++) free(blocks[i]);
    if (mark) mark("empty");
    for (int i = 0; i < 60; i++) {
        usleep(50000);
        free(malloc(100));
        if (i == 8 && mark) mark("time");
    }
    return 0;
}
END
build program.c -o program
"$MEMOIR_TOOL" run -q --every 100ms --output a.memoir ./program || fail "no capture"
"$MEMOIR_TOOL" time --json a.memoir >time.json || fail "no time"
"$MEMOIR_TOOL" export -q a.memoir -o time.svg --picture time || fail "no picture"
"$MEMOIR_TOOL" export -q a.memoir -o page.html || fail "no page"
"$MEMOIR_TOOL" report a.memoir >report.txt || fail "no report"
"$MEMOIR_TOOL" time a.memoir >time.txt || fail "no graph"
python3 - <<'END' || fail "not steps"
import json, re, sys
wrong = []
time = json.load(open("time.json"))
marks = {moment["name"]: moment for moment in time["moments"]}
if not 64 << 20 <= marks["full"]["live_bytes"] < 66 << 20: wrong.append(f"full: {marks['full']}")
if marks["empty"]["live_bytes"] > 1 << 20: wrong.append(f"empty: {marks['empty']}")
after = [point for point in time["points"] if point["time_ns"] > marks["empty"]["time_ns"]]
if not after or max(point["live_bytes"] for point in after) > 1 << 20: wrong.append(f"idle: {after}")
# Steps: from point to point either the time or the value stays, but for a fifth of a pixel.
for file in ("time.svg", "page.html"):
    paths = re.findall(r'<path class="(?:curve live|c[0-9]+1)" d="M([^"]*?)Z?"', open(file).read())
    if not paths: wrong.append(f"{file}: no path")
    for path in paths:
        points = [tuple(map(float, point.split(","))) for point in path.split("L") if "," in point]
        for (x, y), (u, v) in zip(points, points[1:]):
            if abs(x - u) > 0.35 and abs(y - v) > 0.15: wrong.append(f"{file}: {x},{y} to {u},{v} is a slope")
# Behind the mark hardly anything is left, in the line of the report and in the graph.
gone = marks["empty"]["time_ns"] / time["points"][-1]["time_ns"]
line = re.search(r"\|(.*)\|", open("report.txt").read())[1]
if max(line[int(len(line) * gone) + 2:]) > "▁": wrong.append(f"report: {line}")
if "█" not in line: wrong.append(f"report: {line}")
text = open("time.txt").read()
width = len(re.search(r"┼(\S*)", text)[1])
graph = re.findall(r"^.{10}[│┤](.*)$", text, re.M)[:9]
for row in graph:
    if row[int(width * gone) + 2:].strip(" ╌"): wrong.append(f"time: {row}")
if not any(row.strip(" ╌") for row in graph): wrong.append("time: nothing is high")
due = [moment for moment in time["moments"] if moment["name"] == "time"]
if len(due) < 18: wrong.append(f"only {len(due)} snapshots: no picture leaves one out")
drawn = open("time.svg").read().count('class="mark"')
if drawn != 3: wrong.append(f"time.svg: {drawn} marks, 3 are the program's")
axis = re.search(r"┼(\S*)", text)[1]
if not 3 <= axis.count("◆") <= 4 or "┴" not in axis: wrong.append(f"time: {axis}")
print("\n".join(wrong))
sys.exit(bool(wrong))
END
finish
