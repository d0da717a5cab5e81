# SPDX-License-Identifier: MIT
"""What it costs to look for heap errors: guard, debug and hardened, and what others have for it.

    ./dev bench guard [--rounds N] [--scale S] [--rows REGEX] [--instructions] [--lib PATH]

Within a round each program runs once in each mode, in an order drawn anew. A ratio is that of a
round, to the same allocator as it comes: memoir's default, glibc (for scudo and valgrind's
memcheck), tcmalloc (for its two debug libraries); the median of rounds counts, and means over programs are
geometric. Time is CPU time, so that a busy machine matters less. With --instructions the sampled
guard is counted by callgrind instead, as its cost is below what a clock can tell.
"""
import argparse
import collections
import math
import os
import random
import re
import shutil
import statistics
import subprocess

import allocators
import measure
import rows

# `base`: the mode that it is compared with. `before`: words before the program's own.
Mode = collections.namedtuple("Mode", "name base env before", defaults=((),))


def modes(lib):
    def ours(name, options):
        return Mode(name, "default", {"LD_PRELOAD": lib, "MEMOIR": options})

    yield Mode("default", None, {"LD_PRELOAD": lib})
    yield ours("sampled", "guard:sampled")
    yield ours("hardened", "harden:on")
    yield ours("debug", "debug:on")
    yield ours("full", "guard:full")
    yield Mode("glibc", None, {})
    for name, library, base in (
            ("scudo", allocators.PEERS["scudo"][0], "glibc"),
            ("tcmalloc", "libtcmalloc_minimal.so.4", None),
            ("minimal_debug", "libtcmalloc_minimal_debug.so.4", "tcmalloc"),  # takes no stacks
            ("tcmalloc_debug", "libtcmalloc_debug.so.4", "tcmalloc")):
        path = allocators.find_library(library)
        if path:
            yield Mode(name, base, {"LD_PRELOAD": path})
    if rows.find_program("valgrind"):
        yield Mode("memcheck", "glibc", {}, ("valgrind", "-q", "--tool=memcheck"))


def options(words):
    parser = argparse.ArgumentParser(prog="bench/run guard", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=0.2, help="work of micro rows (default 0.2)")
    parser.add_argument("--rows", metavar="REGEX", default="")
    parser.add_argument("--instructions", action="store_true", help="the sampled guard, counted")
    parser.add_argument("--lib", metavar="PATH", help="the library (default build/libmemoir.so)")
    return parser.parse_args(words)


def chosen_rows(bench, args):
    for row in [*rows.micro_rows(bench, args.scale), *rows.program_rows(True)]:
        plain = not isinstance(row, rows.ServerRow) and row.group != "multi"
        if plain and not row.missing() and re.search(args.rows, row.name):
            yield row


def cpu_of(bench, row, mode):
    sample = measure.run_command(bench, {**row.env, **mode.env}, [*mode.before, *row.argv],
                                 row.stdin)
    return sample["user"] + sample["sys"] if sample["ok"] else None


def count_of(bench, row, mode):
    """Instructions of a whole run."""
    stdin = open(os.path.join(bench.root, row.stdin), "rb") if row.stdin else subprocess.DEVNULL
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *row.argv],
        cwd=bench.root, env={**measure.clean_environment(), **row.env, **mode.env}, stdin=stdin,
        capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def mean(ratios):
    return math.exp(statistics.mean(map(math.log, ratios)))


def row_ratios(bench, row, chosen, args):
    """By mode: the median over rounds of the ratio to its base; absent if a run failed."""
    figure, found = (count_of if args.instructions else cpu_of), collections.defaultdict(list)
    for _ in range(1 if args.instructions else args.rounds):
        costs = {mode.name: figure(bench, row, mode)
                 for mode in random.sample(chosen, len(chosen))}
        for mode in chosen:
            if mode.base and costs[mode.name] and costs.get(mode.base):
                found[mode.name].append(costs[mode.name] / costs[mode.base])
    return {name: statistics.median(ratios) for name, ratios in found.items()}


def main(root, words):
    args = options(words)
    bench = measure.Bench(root, os.path.join(root, "build"))
    measure.compile_all(bench, ("launch", "micro"))
    chosen = list(modes(os.path.abspath(args.lib or os.path.join(root, "build/libmemoir.so"))))
    if args.instructions:
        chosen = [mode for mode in chosen if mode.name in ("default", "sampled")]
    shown = [mode.name for mode in chosen if mode.base]
    text, sums = "%-14s" + " %14s" * len(shown), collections.defaultdict(list)
    digits = "%.4f" if args.instructions else "%.2f"
    print(text % ("", *shown))
    try:
        for row in chosen_rows(bench, args):
            ratios = row_ratios(bench, row, chosen, args)
            for name, ratio in ratios.items():
                sums[name].append(ratio)
            print(text % (row.name, *(digits % ratios[name] if name in ratios else "failed"
                                      for name in shown)), flush=True)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    print(text % ("mean", *(digits % mean(sums[name]) if sums[name] else "-" for name in shown)))
    return 0
