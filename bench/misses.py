# SPDX-License-Identifier: MIT
"""Cache misses of a pair in the loops: by hardware counters (launch.c), or simulated.

`--cachegrind` counts instructions and first-level misses of loops on one thread, the same on every
machine and at every load. A loop runs twice, with different numbers of operations; the difference
is free of start-up and warm-up. The cache is fixed: figures of two machines can be compared.

valgrind does not know the instruction by which memoir asks for its memory node, so here memoir
keeps to one node; snmalloc reserves more addresses than valgrind has, and fails.
"""
import re
import subprocess

import measure
import stats

CACHE = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]
WARM, SHORT, LONG = 100000, 100000, 300000
COUNTS = {"instructions": rb"I\s+refs:\s+([\d,]+)", "d1_misses": rb"D1\s+misses:\s+([\d,]+)"}


def run(bench, argv, env):
    """The counts of one run, or None."""
    command = ["valgrind", "--tool=cachegrind", *CACHE, "--cachegrind-out-file=/dev/null", *argv]
    done = subprocess.run(command, cwd=bench.root, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**measure.clean_environment(), **env})
    found = {name: re.search(text, done.stderr) for name, text in COUNTS.items()}
    if done.returncode != 0 or not all(found.values()):
        return None
    return {name: int(match.group(1).replace(b",", b"")) for name, match in found.items()}


def environment(allocator):
    if not allocator.name.startswith("memoir"):
        return allocator.env
    options = [allocator.env["MEMOIR"]] if "MEMOIR" in allocator.env else []
    return {**allocator.env, "MEMOIR": ",".join([*options, "numa.nodes:1"])}


def per_pair(short, long):
    if short is None or long is None:
        return None
    return {name: (long[name] - short[name]) / (LONG - SHORT) for name in COUNTS}


def is_counted(row):
    return row.group == "loops" and row.threads == 1 and len(row.argv) == 8


def count(bench, chosen, every, step):
    """row name -> allocator name -> counts of a pair."""
    found = {}
    for row in filter(is_counted, chosen):
        found[row.name] = {}
        for allocator in every:
            step("cachegrind, %s under %s" % (row.name, allocator.name))
            words = row.argv[:6]
            runs = [run(bench, [*words, str(ops), str(WARM)], environment(allocator))
                    for ops in (SHORT, LONG)]
            found[row.name][allocator.name] = per_pair(*runs)
    return found


def counter_table(results, paint):
    """Start-up is in these numbers; with millions of pairs it does not show."""
    names = [a["name"] for a in results["allocators"]]
    lines = []
    for row in filter(has_counters, results["rows"]):
        cells = []
        for name in names:
            found = [stats.middle(row, name, field) for field in ("l1_misses", "llc_misses")]
            text = "-" if None in found else "%.2f / %.2f" % tuple(n / row["pairs"] for n in found)
            cells.append("%*s" % (max(11, len(name)), text))
        lines.append("%-21s %s" % (row["name"], " ".join(cells)))
    if not lines:
        return []
    return ["", paint("1", "Counted: first-level / last-level misses of a pair"), heading(names),
            *lines]


def has_counters(row):
    samples = [one for many in row["samples"].values() for one in many if one["ok"]]
    return bool(row.get("pairs") and samples) and all("l1_misses" in one for one in samples)


def heading(names):
    return "%-21s %s" % ("row", " ".join("%*s" % (max(11, len(name)), name) for name in names))


def table(results, paint):
    found, names = results.get("cachegrind"), [a["name"] for a in results["allocators"]]
    if not found:
        return []
    lines = ["", paint("1", "cachegrind, one thread: instructions / first-level misses of a pair"),
             heading(names)]
    for row, by_name in found.items():
        cells = []
        for name in names:
            one = by_name.get(name)
            text = "%.0f / %.2f" % (one["instructions"], one["d1_misses"]) if one else "failed"
            cells.append("%*s" % (max(11, len(name)), text))
        lines.append("%-21s %s" % (row, " ".join(cells)))
        if row in results.get("aarch64", {}):
            lines.append(emulated_line(results["aarch64"][row], names))
    return lines


def emulated_line(by_name, names):
    """The same loop on aarch64 (emulated.py); `-` where there is no library for that machine."""
    cells = []
    for name in names:
        text = "failed" if by_name.get(name) is None else "%.0f" % by_name[name]
        cells.append("%*s" % (max(11, len(name)), text if name in by_name else "-"))
    return "%-21s %s" % ("  on aarch64 (qemu)", " ".join(cells))
