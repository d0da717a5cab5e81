# SPDX-License-Identifier: MIT
"""Rows that tell what is resident at the end of each phase of a program (phases.c).

A peak says what a program needed once; what it keeps after its busy hour is what it costs from
then on. No goal, and no place in the means: an allocator that returns memory at once pays in time.
"""
import statistics

import stats
from rows import Row

# The words of phases.c, and what the table calls them.
PHASES = {"built": "built up", "thinned": "9 of 10 freed", "moved": "other sizes",
          "freed": "all freed", "rested": "a third idle", "idle": "idle"}

ROWS = [("phases/1", "1", "1"), ("phases/4", "4", "1"), ("phases-light/4", "4", "200")]


def all_rows(bench, quick):
    """Once a run: most of their time is waiting, and memory hardly varies. memoir waits 5 s before
    it returns memory and jemalloc 10 s: one pause is shorter than that, the other longer."""
    mib, idle_s = ("16", "9") if quick else ("64", "12")
    for name, threads, pairs in ROWS[:1] if quick else ROWS:
        yield Row(name, "phases",
                  "%s MiB of 8-512 bytes, 9 in 10 freed, 1-8 KiB, all freed, %s s with %s "
                  "each 50 ms" % (mib, idle_s, "a pair" if pairs == "1" else pairs + " pairs"),
                  [bench.binary("phases"), threads, mib, idle_s, pairs], in_mean=False,
                  rounds_max=1)


def numbers(row, allocator, word):
    found = [stats.numbers_in(one).get(word) for one in row["samples"].get(allocator, [])
             if one["ok"]]
    found = [one for one in found if one is not None]
    return statistics.median(found) if found else None


def live(row, phase):
    """What the program holds: the same under every allocator."""
    found = [numbers(row, name, phase + "_live_kib") for name in row["samples"]]
    return next((one for one in found if one is not None), None)


def resident(row, allocator, phase):
    """Beyond what the program has before its first phase."""
    if phase != "peak":
        return numbers(row, allocator, phase + "_kib")
    found = [stats.middle(row, allocator, "rss_kib"), numbers(row, allocator, "before_kib")]
    return None if None in found else found[0] - found[1]


def cell(kib):
    return "-" if kib is None else "%.1f" % (kib / 1024)


def table(results, paint):
    rows = [row for row in results["rows"] if row["group"] == "phases"]
    lines = []
    for row in rows:
        lines += row_lines(results, row, paint)
    return lines


def row_lines(results, row, paint):
    names = [a["name"] for a in results["allocators"]]
    peers, ours = stats.role(results, "peer"), stats.role(results, "ours")
    lines = ["", paint("1", "%s: MiB resident at the end of each phase" % row["name"]),
             "%-14s %8s %20s  " % ("phase", "live", "leanest peer")
             + "  ".join("%*s" % (max(8, len(name)), name) for name in names)]
    for phase, words in [*PHASES.items(), ("peak", "peak")]:
        kib = {name: resident(row, name, phase) for name in names}
        ranked = [(kib[name], name) for name in peers if kib[name] is not None]
        lean, best = min(ranked) if ranked else (None, "-")
        cells = []
        for name in names:
            text = "%*s" % (max(8, len(name)), cell(kib[name]))
            fatter = name in ours and None not in (lean, kib[name]) and kib[name] > lean
            cells.append(paint("31", text) if fatter else text)
        lines.append("%-14s %8s %20s  " % (words, cell(live(row, phase)),
                                           "%s %7s" % (best, cell(lean))) + "  ".join(cells))
    return [*lines, paint("2", row["what"])]
