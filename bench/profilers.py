# SPDX-License-Identifier: MIT
"""What a heap profile costs: `bench/run profile`. Ours and the peers' on the same programs.

    ./dev bench profile [--gate] [--quick] [--rounds N] [--rows REGEX] [--judge wall|cpu]

A profiler's cost is its time less that of the same program on the same allocator without it:
heaptrack's stands on glibc, HEAPPROFILE's on tcmalloc, ours on ours with MEMOIR=heap:off. A ratio
of two costs is the median over rounds of the ratios within a round (stats.py). heaptrack runs twice:
as users run it, with the process that interprets what is recorded, against which the budget stands;
and its recorder alone, writing to a file that nobody reads. HEAPPROFILE writes at exit only.

Sampling is too cheap for a clock on a busy machine, so it is also counted, in instructions, by
valgrind; the budget is for programs that do some work, not for the tree of calls that does nothing
but allocate. What one sample costs comes from a run with many (a rate of 4 KiB); the memory of exact
recording from a run that holds a million blocks.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

import measure
import report
import rows as rows_module
import stats
from allocators import Allocator, find_library
from rows import Row, find_program

LIMIT_HEAPTRACK = 1 / 5  # the aim is half of these two
LIMIT_HEAPPROFILE = 1 / 25
LIMIT_RECORD_BYTES = 40
LIMIT_SAMPLE_NS = 1000
BARE = {"sampled": "off", "exact": "off", "heaptrack": "glibc", "recorder": "glibc",
        "heapprofile": "tcmalloc"}
PEERS = {"heaptrack": "heaptrack", "recorder": "its recorder alone", "heapprofile": "HEAPPROFILE"}
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
COUNTED = ("tree", "python", "perl")  # valgrind is slow
HELD, PAIRS, FRAMES, SAMPLE_RATE = 1000000, 10000000, 30, 4096


def options(argv):
    parser = argparse.ArgumentParser(prog="bench/run profile", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, help="rounds (default 5; 2 with --quick)")
    parser.add_argument("--rows", metavar="REGEX", default="", help="only programs that match")
    parser.add_argument("--quick", action="store_true", help="less work a program")
    parser.add_argument("--judge", choices=("wall", "cpu"), default="cpu",
                        help="the clock that budgets read (default cpu)")
    parser.add_argument("--gate", action="store_true", help="exit 1 if a budget is missed")
    return parser.parse_args(argv)


def modes(bench):
    """Every way to run a program, by name; those that are not installed are named and left out."""
    library = os.path.abspath(os.path.join(bench.build, "libmemoir.so"))
    heap = os.path.join(bench.scratch, "heap")
    tcmalloc = find_library("libtcmalloc.so.4")
    found = [Allocator("glibc"), Allocator("off", library, {"MEMOIR": "heap:off"}),
             Allocator("sampled", library), Allocator("exact", library, {"MEMOIR": "heap.rate:0"})]
    if os.path.exists(HEAPTRACK):
        found += [Allocator("recorder", HEAPTRACK, {"DUMP_HEAPTRACK_OUTPUT": heap}),
                  Allocator("heaptrack")]
    if tcmalloc:
        found += [Allocator("tcmalloc", tcmalloc),
                  Allocator("heapprofile", tcmalloc,
                            {"HEAPPROFILE": heap, "HEAP_PROFILE_ALLOCATION_INTERVAL": "0",
                             "HEAP_PROFILE_INUSE_INTERVAL": "0"})]
    for name in set(BARE) - {mode.name for mode in found}:
        print("bench: left out, not installed: " + name, file=sys.stderr)
    return found


def programs(bench, quick):
    count, deep = "200000" if quick else "1000000", bench.binary("deep")
    yield Row("tree", "single", "calls 10 to 30 deep", [deep, "tree", "1", count])
    yield Row("tree-4", "multi", "the same in four threads", [deep, "tree", "4", count])
    for row in rows_module.program_rows(True):
        if row.name == "g++" and not row.missing():
            yield compiler_row(bench, row)
        elif row.same_output:  # no servers
            yield row


def compiler_row(bench, row):
    """The compiler proper on preprocessed text: heaptrack does not follow children."""
    text = os.path.relpath(os.path.join(bench.out, "templates.ii"), bench.root)
    subprocess.run(["g++", "-std=c++17", "-E", "-o", text, row.argv[-1]], cwd=bench.root, check=True)
    proper = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True)
    return Row("cc1plus", "program", "the C++ compiler on many templates",
               [proper.stdout.strip(), "-fpreprocessed", "-quiet", "-std=c++17", "-o", "/dev/null",
                text])


def run_rounds(bench, chosen, every, rounds, quick):
    """HEAPPROFILE may take a hundred times as long as all others together: two rounds of it."""
    dice, found = random.Random(1), []
    for row in chosen:
        found.append({"name": row.name, "in_mean": True, "command": row.command(bench),
                      "samples": {mode.name: [] for mode in every}})
    for number in range(rounds):
        for row, result in zip(chosen, found):
            for mode in dice.sample(every, len(every)):
                if mode.name in ("tcmalloc", "heapprofile") and number >= (1 if quick else 2):
                    continue
                print("bench: round %d of %d, %s, %s" % (number + 1, rounds, row.name, mode.name),
                      file=sys.stderr)
                before = ["heaptrack", "-o", os.path.join(bench.scratch, "heaptrack")]
                argv = before + row.argv if mode.name == "heaptrack" else row.argv
                result["samples"][mode.name].append(
                    measure.run_command(bench, {**row.env, **mode.env}, argv, row.stdin))
    return found


def instructions(bench, row, mode):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no",
               "--cachegrind-out-file=/dev/null", *row.argv]
    stdin = open(os.path.join(bench.root, row.stdin), "rb") if row.stdin else subprocess.DEVNULL
    done = subprocess.run(command, cwd=bench.root, stdin=stdin, capture_output=True,
                          env={**measure.clean_environment(), **row.env, **mode.env})
    counted = re.search(rb"I\s+refs:\s+([\d,]+)", done.stderr)
    return int(counted.group(1).replace(b",", b"")) if counted and done.returncode == 0 else None


def numbers(sample):
    words = sample["output"].split()
    return {k: int(v) for k, v in zip(words, words[1:]) if v.isdigit()}


def record_bytes(bench, every):
    """(by peak memory, by the library's own account) for one live block, exact against off."""
    row = Row("hold", "", "", [bench.binary("deep"), "hold", str(HELD)])
    exact, off = row.measure(bench, every["exact"]), row.measure(bench, every["off"])
    if not (exact["ok"] and off["ok"]):
        return None
    return ((exact["rss_kib"] - off["rss_kib"]) * 1024 / HELD,
            (numbers(exact)["metadata"] - numbers(off)["metadata"]) / HELD)


def cpu(sample):
    return stats.metric(sample, "cpu")


def sample_ns(bench, every, rounds):
    """One sampled block at 30 frames, its end included, by the quickest runs."""
    row = Row("pairs", "", "", [bench.binary("deep"), "pairs", str(FRAMES), str(PAIRS)])
    often = Allocator("often", every["off"].path, {"MEMOIR": "heap.rate:%d" % SAMPLE_RATE})
    best = {}
    for _ in range(rounds):
        for mode in (often, every["off"]):
            sample = row.measure(bench, mode)
            if not sample["ok"]:
                return None
            if mode.name not in best or cpu(sample) < cpu(best[mode.name]):
                best[mode.name] = sample
    taken = numbers(best["often"])["samples"]
    return (cpu(best["often"]) - cpu(best["off"])) * 1e9 / max(1, taken)


def added(row, mode, clock):
    """Seconds that the profiler adds, one for each round; None for a run that failed."""
    pairs = zip(row["samples"].get(mode, []), row["samples"].get(BARE[mode], []))
    return [stats.metric(a, clock) - stats.metric(b, clock) if a["ok"] and b["ok"] else None
            for a, b in pairs]


def added_ratio(row, mode, other, clock):
    pairs = [(a, b) for a, b in zip(added(row, mode, clock), added(row, other, clock))
             if a is not None and b]
    return stats.middle_ratio([max(a, 0) / max(b, 1e-9) for a, b in pairs]) if pairs else None


def verdicts(results):
    clock = results["judge"]
    for peer, limit in (("heaptrack", LIMIT_HEAPTRACK), ("heapprofile", LIMIT_HEAPPROFILE)):
        ratios = {row["name"]: added_ratio(row, "exact", peer, clock) for row in results["rows"]}
        ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        worst = max(ratios, key=ratios.get) if ratios else None
        yield stats.verdict(peer, ratios.get(worst), limit,
                            "added %s time, exact to %s, worst program (%s); mean %.3f, aim %g"
                            % (clock, PEERS[peer], worst, stats.geometric(ratios.values()) or 0,
                               limit / 2))
    counts = [c["sampled"] / c["off"] for name, c in results["instructions"].items()
              if c["sampled"] and c["off"] and name != "tree"]
    yield stats.verdict("instructions", stats.geometric(counts), stats.LIMIT_SAMPLING,
                        "instructions, sampled to off, mean (worst %.4f)" % max(counts, default=0))
    value, span = (f(results, "sampled", "off", clock) for f in (stats.mean_ratio, stats.interval))
    yield stats.verdict("time", value, stats.LIMIT_SAMPLING,
                        "%s time, sampled to off (95 %% within %.3f to %.3f)"
                        % (clock, *(span or (0, 0))),
                        met=span is not None and span[0] <= stats.LIMIT_SAMPLING)
    memory = results["memory"] or (None, 0)
    yield stats.verdict("memory", memory[0], LIMIT_RECORD_BYTES,
                        "bytes a live block in exact mode (%.1f by memoir_stats)" % memory[1])
    yield stats.verdict("sample", results["sample_ns"], LIMIT_SAMPLE_NS,
                        "ns for one sampled block at %d frames, malloc and free" % FRAMES)
    wrong = [f for f in stats.failures(results) if f[1] in ("off", "sampled", "exact")]
    yield stats.verdict("runs", len(wrong), 0, "runs of ours that failed")


def show(results):
    clock = results["judge"]
    print("\nSeconds: glibc's, and what each profiler adds (%s time, median over rounds)" % clock)
    print("%-10s %9s %9s %9s %9s %9s %11s   exact to: %s"
          % ("program", "glibc", *BARE, ", ".join(PEERS.values())))
    for row in results["rows"]:
        bare = stats.middle(row, "glibc", clock)
        cells = ["%9.3f" % bare if bare else "%9s" % "-"]
        for mode in BARE:
            found = sorted(seconds for seconds in added(row, mode, clock) if seconds is not None)
            width = 11 if mode == "heapprofile" else 9
            cells.append("%*s" % (width, "%.3f" % found[len(found) // 2] if found else "-"))
        for peer in PEERS:
            ratio = added_ratio(row, "exact", peer, clock)
            cells.append("%9s" % ("%.4f" % ratio if ratio is not None else "-"))
        print("%-10s %s" % (row["name"], " ".join(cells)))
    print("\nInstructions, sampled to off")
    for name, c in results["instructions"].items():
        print("%-10s %s" % (name, "%.5f (%d to %d)" % (c["sampled"] / c["off"], c["sampled"],
                                                      c["off"]) if all(c.values()) else "-"))


def run(bench, args):
    measure.compile_all(bench)
    every = modes(bench)
    named = {mode.name: mode for mode in every}
    chosen = [row for row in programs(bench, args.quick)
              if re.search(args.rows, row.name) and not row.missing()]
    rounds = args.rounds or (2 if args.quick else 5)
    results = {"judge": args.judge, "rows": run_rounds(bench, chosen, every, rounds, args.quick)}
    counted = [row for row in chosen if row.name in COUNTED] if find_program("valgrind") else []
    results["instructions"] = {}
    for row in counted:
        print("bench: counting instructions of " + row.name, file=sys.stderr)
        results["instructions"][row.name] = {name: instructions(bench, row, named[name])
                                             for name in ("off", "sampled")}
    results["memory"] = record_bytes(bench, named)
    results["sample_ns"] = sample_ns(bench, named, rounds)
    return results


def main(root, argv):
    args = options(argv)
    bench = measure.Bench(root, os.environ.get("MEMOIR_BUILD", os.path.join(root, "build")))
    try:
        results = run(bench, args)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    show(results)
    found = list(verdicts(results))
    paint = report.Paint(sys.stdout)
    print("\n".join([*report.failure_lines(results, paint), *report.budget_lines(found, paint)]))
    return 0 if not args.gate or all(one["met"] for one in found) else 1
