# SPDX-License-Identifier: MIT
"""What huge pages bring: the library with thp:off, on and auto under programs with a large heap.

    ./dev bench huge [--rounds N] [--quick] [--rows REGEX] [--lib PATH]

Within a round each program runs once with each value, in an order drawn anew; a ratio is that of
a round, to thp:off, and the median of rounds counts. Time is CPU time of the program (of servers:
the server), so that a busy machine matters less. The kernel's own settings are printed with the
figures, as they decide what advice does: nothing if enabled is `never`.
"""
import argparse
import os
import random
import re
import shutil
import statistics
import sys

import allocators
import measure
import rows

MODES = ("off", "on", "auto")
SETTINGS = "/sys/kernel/mm/transparent_hugepage/"


class LargeRedisRow(rows.RedisRow):
    """A server that is filled with keys, and asked for keys at random."""

    def __init__(self, keys):
        super().__init__(keys)
        self.name, self.what = "redis", "redis-server: %d keys set, and got at random" % keys

    def client(self, bench):
        return ["redis-benchmark", "-s", self.socket(bench), "-q", "-P", "32", "-d", "100",
                "-n", str(self.requests), "-r", str(self.requests), "-t", "set,get"]


def large_rows(quick):
    python = rows.find_program("python3") or "python3"
    share = 4 if quick else 1
    yield rows.Row("python", "huge", "python3: a dictionary, built and looked up at random",
                   [python, "bench/programs/dictionary.py", str(1000000 // share)],
                   env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, needs=("python3",))
    yield rows.Row("sqlite", "huge", "sqlite3: a table and an index in memory",
                   ["sqlite3", "-cmd", ".parameter set :rows %d" % (1500000 // share), ":memory:"],
                   stdin="bench/programs/table.sql", needs=("sqlite3",))
    yield LargeRedisRow(2000000 // share)
    yield rows.Row("g++", "huge", "g++: most of its heap is not malloc's",
                   ["g++", "-std=c++17", "-S", "-o", "/dev/null", "bench/programs/templates.cc"],
                   needs=("g++",))


def options(words):
    parser = argparse.ArgumentParser(prog="bench/run huge", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", metavar="REGEX", default="")
    parser.add_argument("--quick", action="store_true", help="a quarter of the work")
    parser.add_argument("--lib", metavar="PATH", help="the library (default build/libmemoir.so)")
    return parser.parse_args(words)


def cpu(sample):
    return sample["user"] + sample["sys"]


FIGURES = (("CPU", cpu), ("faults", lambda sample: sample["minor_faults"]),
           ("peak", lambda sample: sample["rss_kib"]))


def row_text(row, samples):
    """A line a mode: CPU seconds, page faults and peak MiB, each with its ratio to thp:off."""
    for mode in MODES:
        text = "%-8s %-5s" % (row.name, mode)
        for name, figure in FIGURES:
            middle = statistics.median(figure(sample) for sample in samples[mode])
            ratio = statistics.median(figure(sample) / max(figure(base), 1e-9)
                                      for sample, base in zip(samples[mode], samples["off"]))
            shown = {"CPU": "%8.2f s", "faults": "%9.0f faults"}.get(name, "%8.1f MiB")
            middle = middle / 1024 if name == "peak" else middle
            text += (shown + " (%.3f)") % (middle, ratio)
        yield text


def setting(name):
    try:
        with open(SETTINGS + name, encoding="ascii") as file:
            text = file.read().strip()
    except OSError:
        return "not visible"
    chosen = re.search(r"\[(.*)\]", text)
    return chosen.group(1) if chosen else text


def measure_row(bench, row, modes, rounds):
    samples = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for mode in random.sample(MODES, len(MODES)):
            sample = row.measure(bench, modes[mode])
            if not sample["ok"]:
                sys.exit("bench: %s, thp:%s: %s" % (row.name, mode, sample["error"]))
            samples[mode].append(sample)
    return samples


def main(root, words):
    args = options(words)
    bench = measure.Bench(root, os.path.join(root, "build"))
    library = os.path.abspath(args.lib or os.path.join(bench.build, "libmemoir.so"))
    modes = {mode: allocators.Allocator(mode, library, {"MEMOIR": "thp:" + mode}) for mode in MODES}
    try:
        measure.compile_all(bench, ("launch",))
        print("enabled %s, defrag %s, max_ptes_none %s; medians of %d rounds, (to thp:off)"
              % (setting("enabled"), setting("defrag"), setting("khugepaged/max_ptes_none"),
                 args.rounds))
        for row in large_rows(args.quick):
            if not re.search(args.rows, row.name):
                continue
            if row.missing():
                print("%-8s not here: %s" % (row.name, ", ".join(row.missing())))
                continue
            for line in row_text(row, measure_row(bench, row, modes, args.rounds)):
                print(line, flush=True)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    return 0
