# SPDX-License-Identifier: MIT
#
# See tests/golden/one_truth.sh. Arguments: the command, a capture, what `memoir run` said, what the
# program said; or the command and a profile; or the command, the number of a process and what that
# said.
import csv
import io
import json
import os
import re
import subprocess
import sys

memoir, wrong, compared = sys.argv[1], [], 0
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "K": 1e3, "M": 1e6, "G": 1e9}


def ask(*words):
    done = subprocess.run([memoir, *words], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout and not "-o" in words:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def answer(*words):
    text = ask(*words, "--json")
    return json.loads(text)


def same(what, wanted, *got):
    global compared
    for one in got:
        compared += 1
        if one != wanted:
            wrong.append(f"{what}: {one} instead of {wanted}")


# "59.4 MiB" is right for what is rounded to it.
def rounded(what, wanted, text, suffix=""):
    global compared
    compared += 1
    found = re.fullmatch(r"([0-9.]+) ?([A-Za-z]*)", text or "")
    unit = UNITS.get(found[2] + suffix if found and found[2] + suffix in UNITS else found[2], 1) if found else 0
    digits = len(found[1].partition(".")[2]) if found else 0
    if not found or abs(float(found[1]) * unit - wanted) > 0.51 * unit / 10**digits:
        wrong.append(f"{what}: '{text}' instead of {wanted}")


def process(pid, said):
    program = dict(line.split() for line in open(said) if " " in line)
    ps = next(p for p in answer("ps")["processes"] if p["pid"] == int(pid))
    stats = dict(re.findall(r"^([a-z_.]+): *([0-9]+)$", ask("ctl", pid, "stats"), re.M))
    top = answer("top", pid, "--rows", "0", "--metric", "live")
    live = int(program["done"])
    same("ps", live, ps["live_bytes"])
    same("ctl stats", live, int(stats["live_bytes"]), int(stats["profile.live_bytes"]))
    same("top", live, top["total"], top["whole"], sum(row["self"] for row in top["rows"]))
    same("top has an error", 0, top["total_error"])


def capture(path, words, said):
    space = {}
    for name in "inuse peak alloc".split():
        for part in "space objects requested".split():
            metric = f"{name}_{part}"
            top = answer("top", path, "--rows", "0", "--metric", metric, "--frames", "all")
            space[metric] = top["total"]
            if part == "requested":
                same(f"top {metric}", top["total"], sum(row["self"] for row in top["rows"]))
                continue
            same(f"top {metric}", top["total"], top["whole"], sum(row["self"] for row in top["rows"]))
            same(f"top {metric}: error", 0, top["total_error"])
            table = csv.DictReader(io.StringIO(ask("top", path, "--rows", "0", "--metric", metric, "--csv")))
            same(f"top --csv {metric}", top["total"], sum(int(row["self"]) for row in table))
            head = ask("top", path, "--metric", metric).split("\n")[0]
            found = re.search(r": ([0-9.]+ ?[KMGi]*B?)(?: |,|$)", head)
            rounded(f"top {metric}, text", top["total"], found[1].strip() if found else head)
            for by in "function line file module thread size".split():
                view = answer("top", path, "--rows", "0", "--metric", metric, "--by", by)
                same(f"top --by {by} {metric}", top["total"], view["total"], sum(row["self"] for row in view["rows"]))
            nodes = answer("tree", path, "--metric", metric, "--rows", "0")["nodes"]
            same(f"tree {metric}", top["total"], sum(node["total"] for node in nodes if node["caller"] == 0))
            traces = answer("traces", path, "--metric", metric, "--rows", "0")
            same(f"traces {metric}", top["total"], sum(row["value"] for row in traces["stacks"]))
            itself = answer("diff", path, path, "--metric", metric)
            same(f"diff {metric}", top["total"], itself["total"], itself["base_total"])
            same(f"diff {metric}, noise", 0, itself["noise"], itself["change"])
    live, peak, allocated = space["inuse_space"], space["peak_space"], space["alloc_space"]
    calls, blocks = space["alloc_objects"], space["inuse_objects"]
    same("peak below the end", True, peak >= live)

    page = answer("report", path)
    same("report: allocations", calls, page["allocations"], page["lists"]["calls"]["total"])
    same("report: frees", calls - blocks, page["frees"])
    same("report: allocated", allocated, page["allocated_bytes"], page["lists"]["allocated"]["total"])
    same("report: live", live, page["live_bytes"], page["lists"]["live"]["total"])
    same("report: peak", peak, page["lists"]["peak"]["total"])
    texts = (("report", ask("report", path)), ("run", open(words).read()))
    heads = [re.search(r"   ([0-9][^ ]* ?m?s)   recorded", text.split("\n")[0]) for where, text in texts]
    same("run: duration", heads[0] and heads[0][1], heads[1] and heads[1][1])
    for where, text in texts:
        line = next(line for line in text.split("\n") if " allocated " in line)
        found = re.search(r"peak ([0-9.]+ \w+).* end ([0-9.]+ \w+).* allocated ([0-9.]+ \w+) in ([0-9.]+(?: [KMG])?) allocations?", line)
        for what, wanted, at in (("peak", peak, 1), ("end", live, 2), ("allocated", allocated, 3), ("calls", calls, 4)):
            rounded(f"{where}, {what}", wanted, found[at] if found else line)
    name = re.search(r"-peak([0-9.]+[KMG]?)\.memoir$", path)
    rounded("file name", peak, name[1] if name else path, "iB")

    same("peak", peak, answer("peak", path)["total"])
    same("leaks", live, answer("leaks", path)["total"])
    for metric, prefix in (("inuse_space", "inuse"), ("peak_space", "peak"), ("alloc_space", "alloc")):
        sizes = answer("sizes", path, "--metric", metric, "--rows", "0")
        same(f"sizes {metric}", space[metric], sizes["bytes"], sum(row["bytes"] for row in sizes["sizes"]))
        same(f"sizes {metric}, objects", space[f"{prefix}_objects"], sum(row["objects"] for row in sizes["sizes"]))
    threads = answer("threads", path, "--rows", "0")["threads"]
    for metric in "inuse_space inuse_objects alloc_space alloc_objects".split():
        same(f"threads {metric}", space[metric], sum(row[metric] for row in threads))
    same("churn", calls - blocks, answer("churn", path)["freed"])

    moments(path, said, live, peak, allocated, calls)
    limits(path, peak, live, calls)
    exports(path, space)
    pages(path, peak, live, allocated)


def moments(path, said, live, peak, allocated, calls):
    time = answer("time", path)
    points = time["points"]
    same("time: end", live, points[-1]["live_bytes"])
    same("time: peak", peak, max(point["live_bytes"] for point in points))
    same("time: allocated", (allocated, calls), (points[-1]["allocated_bytes"], points[-1]["allocated_objects"]))
    table = list(csv.DictReader(io.StringIO(ask("time", path, "--csv"))))
    same("time --csv", (live, peak), (int(table[-1]["live_bytes"]), max(int(row["live_bytes"]) for row in table)))
    found = re.search(r"peak ([0-9.]+ \w+) at .* end ([0-9.]+ \w+)", ask("time", path).split("\n")[0])
    rounded("time, peak", peak, found and found[1])
    rounded("time, end", live, found and found[2])
    program = dict(line.split() for line in open(said))
    for moment in time["moments"]:
        if moment["name"] in program and not moment["rows"]:
            same(f"mark {moment['name']}", int(program[moment["name"]]), moment["live_bytes"])
        same("a moment above the peak", True, moment["live_bytes"] <= peak)
    snapshots = [moment for moment in time["moments"] if moment["name"] not in program]
    before = None
    for number, moment in enumerate(snapshots):
        top = answer("top", path, "--at", str(number), "--metric", "inuse_space", "--rows", "0")
        same(f"--at {number}", moment["live_bytes"], top["total"], sum(row["self"] for row in top["rows"]))
        if before is not None and moment["time_ns"] > last:
            change = answer("diff", path, "--since", str(number - 1), "--until", str(number), "--metric", "inuse_space")
            same(f"--since {number - 1}", moment["live_bytes"] - before, change["total"] - change["base_total"])
        before, last = moment["live_bytes"], moment["time_ns"]
    same("--at peak", peak, answer("top", path, "--at", "peak")["total"])
    same("--at end", live, answer("top", path, "--at", "end", "--metric", "live")["total"])


# An exact total decides to the byte.
def limits(path, peak, live, calls):
    for flag, value in (("--max-peak", peak), ("--max-live", live), ("--max-allocs", calls)):
        for limit, status in ((value, 0), (value - 1, 1)):
            done = subprocess.run([memoir, "check", path, flag, str(limit)], capture_output=True, text=True)
            same(f"check {flag} {limit} of {value}", status, done.returncode)


# No site has more live, now or at the peak, than it allocated.
def bounds(what, rows):
    for part in "space objects requested".split():
        for name in "inuse", "peak":
            if rows and f"{name}_{part}" in rows[0]:
                over = [row for row in rows if int(row[f"{name}_{part}"]) > int(row[f"alloc_{part}"])]
                same(f"{what}: rows with {name}_{part} above alloc_{part}, of {len(rows)}", 0, len(over))


def exports(path, space):
    everything = "inuse_space inuse_objects alloc_space alloc_objects".split()
    peaks = everything + ["peak_space", "peak_objects"]
    for ending, metrics in (("pb.gz", peaks), ("speedscope.json", peaks), ("callgrind", peaks), ("heaptrack", peaks),
                            ("dhat.json", peaks), ("symbolized", everything), ("heap", everything),
                            ("massif", ["inuse_space", "peak_space"])):
        file = f"export.{ending}"
        ask("export", "-q", path, "-o", file, "--metric", "inuse_space")
        for metric in metrics:
            top = answer("top", file, "-q", "--metric", metric, "--rows", "0", "--frames", "all")
            same(f"{file}, {metric}", space[metric], top.get("whole"))
    for metric in everything + ["peak_space"]:
        ask("export", "-q", path, "-o", "export.folded", "--metric", metric)
        same(f"folded {metric}", space[metric], sum(int(line.split()[-1]) for line in open("export.folded")))
    ask("export", "-q", path, "-o", "export.csv")
    rows = list(csv.DictReader(open("export.csv", newline="")))
    for metric in peaks:
        same(f"export.csv {metric}", space[metric], sum(int(row[metric]) for row in rows))
    bounds("export.csv", rows)
    again = answer("top", "export.pb.gz", "-q", "--rows", "0", "--metric", "peak_space")
    same("pb.gz, rows", space["peak_space"], sum(row["self"] for row in again["rows"]))
    same("pb.gz: error of the total", 0, again["total_error"])


def pages(path, peak, live, allocated):
    ask("export", "-q", path, "-o", "time.svg", "--picture", "time")
    found = re.search(r">peak ([0-9.]+ \w+) at ", open("time.svg").read())
    rounded("time.svg", peak, found and found[1])
    for picture, metric, wanted in (("flame", "peak_space", peak), ("flame", "inuse_space", live), ("graph", "alloc_space", allocated)):
        ask("export", "-q", path, "-o", "picture.svg", "--picture", picture, "--metric", metric)
        texts = re.findall(r"([0-9.]+ [KMG]iB)", open("picture.svg").read())
        rounded(f"{picture} of {metric}", wanted, texts[0] if texts else "")
    ask("export", "-q", path, "-o", "page.html")
    text = open("page.html").read()
    for what, wanted in (("peak", peak), ("live", live), ("allocated", allocated)):
        same(f"page.html has the {what}", True, re.search(rf"\b{wanted}\b", text) is not None)


if sys.argv[2].isdigit():
    process(sys.argv[2], sys.argv[3])
elif len(sys.argv) == 3:
    ask("export", "-q", sys.argv[2], "-o", "dump.csv")
    bounds("dump", list(csv.DictReader(open("dump.csv", newline=""))))
else:
    capture(*sys.argv[2:5])
    before = len(wrong)
    same("control", 1, 2)
    rounded("control", 1 << 20, "1.02 MiB")
    if len(wrong) != before + 2:
        wrong.append("a wrong number was not noticed")
    else:
        del wrong[before:]
print(f"{compared} numbers compared, {len(wrong)} wrong")
for line in wrong[:25]:
    print("  " + line)
sys.exit(1 if wrong or compared < 4 else 0)
