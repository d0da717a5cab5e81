# SPDX-License-Identifier: MIT
"""The tables on the terminal: time, CPU, peak memory, page faults, threads, summary, verdicts.

In the tables of time a cell is the ratio to that row's best peer, 1.00 being the best peer
itself; ours carries its quartiles over rounds. In the tables of memory and faults a cell is the
ratio to the first peer named, glibc unless told otherwise.
"""
import os
import sys

import loops
import misses
import phases
import stats

GROUPS = {"single": "one thread", "multi": "several threads", "program": "real programs"}


class Paint:
    def __init__(self, out):
        self.on = out.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, code, text):
        return "\033[%sm%s\033[0m" % (code, text) if self.on else text


def show(results, out=sys.stdout):
    paint = Paint(out)
    lines = []
    rows = stats.mean_rows(results)
    if rows:
        lines += best_table(results, rows, "wall", "Time (wall)", paint)
        lines += best_table(results, rows, "cpu", "CPU time (user + system)", paint)
        lines += base_table(results, rows, "rss_kib", "Peak memory, ratio to %s", mib, paint)
        lines += base_table(results, rows, "minor_faults", "Minor page faults, ratio to %s",
                            "{:,.0f}".format, paint)
        if stats.has_counters(results):
            lines += base_table(results, rows, "l1_misses", "First-level misses, ratio to %s",
                                "{:,.0f}".format, paint)
            lines += base_table(results, rows, "llc_misses", "Last-level misses, ratio to %s",
                                "{:,.0f}".format, paint)
    lines += loops.table(results, paint)
    lines += misses.counter_table(results, paint)
    lines += misses.table(results, paint)
    lines += loops.statistic_table(results, paint)
    lines += phases.table(results, paint)
    lines += thread_table(results, paint)
    lines += summary(results, paint)
    lines += failure_lines(results, paint)
    lines += verdict_lines(results, paint)
    lines += command_lines(results, paint)
    out.write("\n".join(lines) + "\n")


def mib(kib):
    return "%.1f MiB" % (kib / 1024)


def names_in_order(results):
    return [a["name"] for a in results["allocators"]]


def width_of(name):
    return max(8, len(name))


def header(paint, title, first, names, wide):
    cells = ["%*s" % (width_of(n) + (12 if n in wide else 0), n) for n in names]
    return ["", paint("1", title), "%-14s %22s  " % ("row", first) + "  ".join(cells)]


def best_table(results, rows, metric, title, paint):
    names, ours = names_in_order(results), stats.role(results, "ours")
    lines = header(paint, title + ", ratio to the row's best peer", "best peer", names, ours)
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines.append(paint("2", "· " + GROUPS.get(group, group)))
        peer = stats.best_peer(results, row, metric)
        best = stats.middle(row, peer, metric) if peer else None
        first = "%s %7.3f s" % (peer, best) if best else "-"
        cells = [best_cell(row, name, peer, metric, name in ours, paint) for name in names]
        lines.append("%-14s %22s  " % (row["name"], first) + "  ".join(cells))
    fastest = stats.first_peer_overall(results, metric)
    cells = []
    for name in names:
        value = stats.mean_ratio(results, name, fastest, metric)
        room = width_of(name) + (12 if name in ours else 0)
        cells.append("%*s" % (room, "%.3f" % value if value else "-"))
    lines.append(paint("1", "%-14s %22s  " % ("geometric mean", "to " + str(fastest))
                       + "  ".join(cells)))
    return lines


def best_cell(row, name, peer, metric, is_ours, paint):
    ratios = stats.round_ratios(row, name, peer, metric) if peer else []
    room = width_of(name) + (12 if is_ours else 0)
    if not ratios:
        return paint("31", "%*s" % (room, "failed" if row["samples"].get(name) else "-"))
    value = stats.ratio(row, name, peer, metric)
    text = "%.2f" % value
    if is_ours:
        text += " %.2f–%.2f" % stats.quartiles(ratios)
    text = "%*s" % (room, text)
    if is_ours and value > stats.LIMIT_TIME_ROW:
        return paint("31", text)
    if is_ours and value <= stats.LIMIT_TIME_MEAN:
        return paint("32", text)
    return paint("1", text) if name == peer else text


def base_table(results, rows, metric, title, unit, paint):
    names, base = names_in_order(results), stats.role(results, "peer")[0]
    lines = header(paint, title % base, base, names, ())
    for row in rows:
        middle = stats.middle(row, base, metric)
        cells = []
        for name in names:
            value = stats.ratio(row, name, base, metric)
            cells.append("%*s" % (width_of(name), "%.2f" % value if value is not None else "-"))
        lines.append("%-14s %22s  " % (row["name"], unit(middle) if middle is not None else "-")
                     + "  ".join(cells))
    cells = []
    for name in names:
        value = stats.mean_ratio(results, name, base, metric)
        cells.append("%*s" % (width_of(name), "%.3f" % value if value else "-"))
    lines.append(paint("1", "%-14s %22s  " % ("geometric mean", "to " + base) + "  ".join(cells)))
    return lines


def thread_table(results, paint):
    rows = [row for row in results["rows"] if row["group"] == "threads"]
    if not rows:
        return []
    lines = ["", paint("1", "Threads: resident memory in MiB, and time"),
             "%-14s %14s %14s %14s %14s %14s" % ("allocator", "live, during", "live, after",
                                                 "ended, 1,000", "ended, all", "time, ended")]
    for name in names_in_order(results):
        live = stats.thread_numbers(results, "threads-live", name)
        ended = stats.thread_numbers(results, "threads-ended", name)
        found = [live.get("during_kib"), live.get("after_kib"), ended.get("early_kib"),
                 ended.get("late_kib")]
        cells = ["%14s" % ("%.1f" % (kib / 1024) if kib else "-") for kib in found]
        wall = [stats.middle(row, name, "wall") for row in rows if row["name"] == "threads-ended"]
        cells.append("%14s" % ("%.2f s" % wall[0] if wall and wall[0] else "-"))
        lines.append("%-14s %s" % (name, " ".join(cells)))
    lines += [paint("2", "%s: %s" % (row["name"], row["what"])) for row in rows]
    return lines


def summary(results, paint):
    rows = stats.mean_rows(results)
    if not rows:
        return []
    base = stats.role(results, "peer")[0]
    big = [row for row in rows if (stats.middle(row, base, "rss_kib") or 0) >= 16 * 1024]
    lines = ["", paint("1", "Geometric means over %d rows, ratio to %s" % (len(rows), base)),
             "%-14s %9s %9s %9s %9s %16s" % ("allocator", "time", "CPU", "peak", "faults",
                                             "peak, ≥ 16 MiB")]
    for name in names_in_order(results):
        values = [stats.mean_ratio(results, name, base, m)
                  for m in ("wall", "cpu", "rss_kib", "minor_faults")]
        values.append(stats.mean_ratio(results, name, base, "rss_kib", big) if big else None)
        cells = ["%*s" % (16 if i == 4 else 9, "%.3f" % v if v else "-")
                 for i, v in enumerate(values)]
        lines.append("%-14s %s" % (name, " ".join(cells)))
    lines.append("fastest peer: %s; leanest peer: %s; leanest but glibc: %s" % (
        stats.first_peer_overall(results), stats.first_peer_overall(results, "rss_kib"),
        stats.first_peer_overall(results, "rss_kib", without=("glibc",))))
    return lines


def failure_lines(results, paint):
    found = {}
    for row, name, why in stats.failures(results):
        found[row, name] = why
    return [paint("31", "failed: %s under %s: %s" % (*key, why.replace("\n", " ")))
            for key, why in found.items()]


def verdicts(results):
    return [*stats.verdicts(results), *loops.verdicts(results)]


def verdict_lines(results, paint):
    found = verdicts(results)
    if not found:
        why = "these rows have none" if stats.role(results, "ours") else (
            "there is no library of ours in this run")
        return ["", "No budget is judged: %s." % why]
    return budget_lines(found, paint)


def budget_lines(found, paint):
    lines = ["", paint("1", "Budgets")]
    for one in found:
        is_count = isinstance(one["value"], int)
        value = "-" if one["value"] is None else ("%d" if is_count else "%.3f") % one["value"]
        limit = "%g" % one["limit"] if one["limit"] < 100 else "%.0f" % one["limit"]
        word = paint("32", "met   ") if one["met"] else paint("31", "missed")
        lines.append("%s  %10s  limit %-7s %s" % (word, value, limit, one["text"]))
    return lines


def command_lines(results, paint):
    lines = ["", paint("1", "Commands, from the top of the repository; $LIB is the library "
                       "(no LD_PRELOAD for glibc)")]
    lines += ["%-14s %s" % (row["name"], row["command"]) for row in results["rows"]]
    lines += ["%-14s %s" % (a["name"], a["words"] or "(no variable)")
              for a in results["allocators"]]
    return lines
