# SPDX-License-Identifier: MIT
"""Rows of one pattern each, with goals: what a pair of malloc and free costs (loops.c), what a
crowd of live threads costs (threads.c), what a statistic costs (statistic.c).

They stand beside the means: a loop is not a program. Each row says what is read of it, and its
goal as a ratio to the row's best peer, or to a named peer if that one is in the run. A pair on one
thread is always read in CPU time, which a busy machine hardly changes; on several threads by the
clock that the run is judged by, because CPU time does not see threads that wait for a lock.
"""
import collections
import re
import statistics

import stats
from rows import Row

# `metric`: a field of a sample, or "pair". `goal`: ratio to the best peer, or to `against`.
Measure = collections.namedtuple("Measure", "metric goal against", defaults=(None, None))

SLOTS = [  # min, max, slots, goal
    (16, 64, 1000, 1.05), (64, 256, 1000, 1.05), (8, 1024, 1000, 1.05), (8, 1024, 20000, 1.05),
    (1024, 8192, 1000, 1.1), (4, 32768, 1024, 1.15),
]
THREADS = (1, 2, 4)
FIRST_GOAL, FIRST_OPS = 1.2, 600000
MANY = [  # name, mode, min, max, slots, goal, against
    ("larson", "heirs", 8, 1000, 1000, 0.95, "snmalloc"),
    ("rptest", "cross", 16, 8000, 1000, None, None),
    ("glibc-thread", "batches", 4, 32768, 1024, None, None),
    ("xmalloc", "pipe", 64, 64, 256, 0.95, "snmalloc"),
]
UNITS = {"pair": "ns a pair", "rss_kib": "peak memory", "cpu": "CPU time"}
STATES = [("1", "0"), ("2", "0"), ("1000", "0"), ("1", "400")]  # threads, live MiB
QUESTIONS = ("mallinfo2_ns", "extension_ns", "mallctl_ns", "epoch_ns")


class LoopRow(Row):
    """A row of a group of its own; the numbers it prints become fields of the sample."""

    def __init__(self, name, group, what, argv, measures, threads=1, rounds_max=None):
        super().__init__(name, group, what, argv, in_mean=False, rounds_max=rounds_max)
        self.measures, self.threads = measures, threads

    def measure(self, bench, allocator):
        sample = super().measure(bench, allocator)
        if sample["ok"]:
            sample.update(numbers(sample["output"]))
        return sample

    def facts(self):
        pairs = sum(map(int, self.argv[6:8])) * self.threads if self.group == "loops" else None
        return {"measures": [list(one) for one in self.measures], "threads": self.threads,
                "pairs": pairs}


def numbers(output):
    words = output.split()
    return {name: float(value) for name, value in zip(words, words[1:])
            if re.fullmatch(r"\w+_ns", name) and re.fullmatch(r"[\d.]+", value)}


def loop(bench, name, words, goal=None, against=None):
    """`words`: mode, min, max, slots, threads, operations of each thread, and those before."""
    mode, low, high, slots, threads = words[:5]
    text = "%s of %s to %s bytes, %s slots, threads: %s" % (mode, low, high, slots, threads)
    return LoopRow(name, "loops", text, [bench.binary("loops"), *map(str, words)],
                   [Measure("pair", goal, against)], threads)


def slot_rows(bench, ops):
    for low, high, slots, goal in SLOTS:
        size = "%d-%d" % (low, high) + ("x%dk" % (slots // 1000) if slots > 2000 else "")
        for threads in THREADS:
            words = ["slots", low, high, slots, threads]
            yield loop(bench, "slots-%s/%d" % (size, threads), [*words, ops, ops // 2], goal)
            yield loop(bench, "first-%s/%d" % (size, threads), [*words, FIRST_OPS], FIRST_GOAL)


def many_rows(bench, ops):
    for name, mode, low, high, slots, goal, against in MANY:
        for threads in THREADS[1:]:
            yield loop(bench, "%s/%d" % (name, threads), [mode, low, high, slots, threads, ops],
                       goal, against)


def order_rows(bench, ops):
    for mode in ("forward", "reverse", "shuffle"):
        for size in (64, 1024):
            yield loop(bench, "%s-%d" % (mode, size), [mode, size, size, 1000, 1, ops, ops // 2])


def partial_rows(bench, ops):
    """Peak memory has the goal; the time shows what it was bought with."""
    for name, what, words in (
            ("partial-16k", "1,000 blocks of 1 to 16 KiB, 256 bytes of each written",
             ("partial", 1024, 16384, 1000, 1, ops // 2)),
            ("partial-1m", "200 blocks of 64 KiB to 1 MiB, a word of each written",
             ("slots", 65536, 1 << 20, 200, 1, ops // 40))):
        yield LoopRow(name, "loops", what, [bench.binary("loops"), *map(str, words)],
                      [Measure("rss_kib", 1.2), Measure("pair")])


def crowd_rows(bench, quick):
    """Once a run, as rows.thread_rows."""
    count = 2000 if quick else 10000
    for name, work in (("light", (20, 256, 100)), ("heavy", (32, 1024, 1000))):
        yield LoopRow("crowd-%s" % name, "crowd", "%d live threads, %d blocks of up to %d bytes "
                      "each, replaced %d times" % (count, *work),
                      [bench.binary("threads"), "crowd", str(count), *map(str, work)],
                      [Measure("cpu", 1.0, "glibc"), Measure("rss_kib")], count, rounds_max=1)


def statistic_rows(bench):
    for threads, mib in STATES:
        yield LoopRow("statistic-%s-%s" % (threads, mib), "statistic",
                      "live bytes asked with %s threads and %s MiB live" % (threads, mib),
                      [bench.binary("statistic"), threads, mib], [], int(threads))


def all_rows(bench, scale, quick):
    ops = max(int(2000000 * scale), 1000)
    return [*slot_rows(bench, ops), *many_rows(bench, ops), *order_rows(bench, ops),
            *partial_rows(bench, ops), *crowd_rows(bench, quick), *statistic_rows(bench)]


def field_of(results, row, metric):
    if metric != "pair":
        return metric
    return "cpu_ns" if row["threads"] == 1 or stats.judged(results) == "cpu" else "wall_ns"


def measured(results):
    """(row, field, goal, peer to compare with) for each line of the table that has samples."""
    for row in results["rows"]:
        for metric, goal, against in row.get("measures", []):
            field = field_of(results, row, metric)
            if against not in stats.role(results, "peer") or not stats.middle(row, against, field):
                against = stats.best_peer(results, row, field)
            if against is not None:
                yield row, metric, field, goal, against


def missed(results):
    """(ratio to the goal, ratio, goal, row, peer) where ours misses one; the worst first."""
    found = []
    for ours in stats.role(results, "ours")[:1]:
        for row, _, field, goal, peer in measured(results):
            value = stats.ratio(row, ours, peer, field)
            if goal and (value is None or value > goal):
                found.append(((value or 99) / goal, value, goal, row["name"], peer))
    return sorted(found, reverse=True)


def verdicts(results):
    """One for all goals: their number, with the worst named."""
    with_goal = [goal for _, _, _, goal, _ in measured(results) if goal]
    if not with_goal or not stats.role(results, "ours"):
        return []
    found = missed(results)
    worst = " (worst: %s, %s of %s's)" % (found[0][3], "%.2f" % found[0][1] if found[0][1] else
                                          "failed", found[0][4]) if found else ""
    return [stats.verdict("loops", len(found), 0, "loops that miss their goal, of %d%s"
                          % (len(with_goal), worst))]


def value_text(field, value):
    if field == "rss_kib":
        return "%.1f MiB" % (value / 1024)
    return "%.2f s" % value if field == "cpu" else "%.1f ns" % value


def cell(row, name, peer, field, goal, is_ours, paint):
    width = max(8, len(name))
    value = stats.ratio(row, name, peer, field)
    if value is None:
        return paint("31", "%*s" % (width, "failed" if row["samples"].get(name) else "-"))
    text = "%*s" % (width, "%.2f" % value)
    if is_ours and goal:
        return paint("32" if value <= goal else "31", text)
    return text


def table(results, paint):
    lines, names = [], [a["name"] for a in results["allocators"]]
    ours = stats.role(results, "ours")
    for row, metric, field, goal, peer in measured(results):
        cells = [cell(row, name, peer, field, goal, name in ours, paint) for name in names]
        first = "%s %s" % (peer, value_text(field, stats.middle(row, peer, field)))
        lines.append("%-21s %-12s %24s %5s  %s" % (row["name"], UNITS[metric], first,
                                                   "%.2f" % goal if goal else "", " ".join(cells)))
    if not lines:
        return []
    clock = "CPU" if stats.judged(results) == "cpu" else "elapsed"
    return ["", paint("1", "Loops: ratio to the peer named, the row's best unless the goal says "
                      "otherwise"),
            paint("2", "ns a pair: CPU time on one thread (/1), %s time on several" % clock),
            "%-21s %-12s %24s %5s  %s" % ("row", "what", "compared with", "goal", " ".join(
                "%*s" % (max(8, len(name)), name) for name in names)), *lines]


def statistic_table(results, paint):
    rows = [row for row in results["rows"] if row["group"] == "statistic"]
    lines, names = [], [a["name"] for a in results["allocators"]]
    for question in QUESTIONS:
        for row in rows:
            cells = []
            for name in names:
                found = [s[question] for s in row["samples"][name] if question in s]
                value = statistics.median(found) / 1000 if found else None
                cells.append("%*s" % (max(8, len(name)), "%.2f" % value if found else "-"))
            lines.append("%-14s %-14s %s" % (question[:-3], row["name"], " ".join(cells)))
    if not rows:
        return []
    return ["", paint("1", "Live bytes asked: us of CPU time a call"),
            "%-14s %-14s %s" % ("interface", "threads, live", " ".join(
                "%*s" % (max(8, len(name)), name) for name in names)), *lines]
