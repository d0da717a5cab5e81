# SPDX-License-Identifier: MIT
"""The positive control of the gate: made-up results, one set that meets every budget and one
for each way to miss one. A gate that passes a planted miss is broken, and this says so.

`bench/run --self-test` runs it, and each mode of the small programs once with little work, in a
few seconds; only libc's allocator is involved, and no time is judged.
"""
import copy
import io
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import xml.etree.ElementTree

import allocators
import huge
import loops
import measure
import misses
import phases
import plot
import profilers
import report
import stats

ROUNDS = 5
ROWS = ("alpha", "beta", "gamma", "delta")
WALL = {"memoir": 0.90, "memoir-off": 0.90, "glibc": 1.30, "quick": 1.00, "lean": 1.20}
RSS = {"memoir": 1020, "memoir-off": 1020, "glibc": 1000, "quick": 2000, "lean": 1100}


def sample(wall, rss, output="same", **more):
    return {"ok": True, "wall": wall, "user": wall, "sys": 0.0, "rss_kib": rss, "minor_faults": 10,
            "major_faults": 0, "output": output, **more}


def made_up():
    """Results that meet every budget. Rounds differ by machine speed; ratios do not."""
    roles = {"memoir": "ours", "memoir-off": "off"}
    rows = [{"name": name, "group": "single", "what": name, "in_mean": True, "same_output": True,
             "command": "true",
             "samples": {a: [sample(WALL[a] * (1 + r), RSS[a]) for r in range(ROUNDS)]
                         for a in WALL}} for name in ROWS]
    for name, text in (("threads-live", "live 10000 before_kib 900 during_kib 100000"),
                       ("threads-ended", "churn 100000 early_kib 2000 late_kib 2100")):
        rows.append({"name": name, "group": "threads", "what": name, "in_mean": False,
                     "same_output": False, "command": "true",
                     "samples": {a: [sample(1.0, 1000, text)] for a in WALL}})
    return {"allocators": [{"name": a, "role": roles.get(a, "peer"), "path": None, "words": "",
                            "version": ""} for a in WALL],
            "machine": {}, "rounds": ROUNDS, "date": "", "live_threads": 10000, "rows": rows}


def change(results, allocator, field, factor, rows=ROWS):
    for row in results["rows"]:
        if row["name"] in rows:
            for one in row["samples"][allocator]:
                one[field] *= factor


def slow_everywhere(results):
    for name in ("memoir", "memoir-off"):
        change(results, name, "wall", 1.08)


def slow_on_one_row(results):
    for name in ("memoir", "memoir-off"):
        change(results, name, "wall", 1.30, rows=("beta",))
        change(results, name, "wall", 0.70, rows=("alpha", "gamma", "delta"))


def fat_against_leanest(results):
    change(results, "lean", "rss_kib", 0.92)


def fat_against_glibc(results):
    change(results, "glibc", "rss_kib", 0.90)


def dear_sampling(results):
    change(results, "memoir-off", "wall", 0.98)


def live_threads_fat(results):
    results["rows"][-2]["samples"]["memoir"][0]["output"] = "live 10000 during_kib 130000"


def ended_threads_leak(results):
    results["rows"][-1]["samples"]["memoir"][0]["output"] = "churn 1 early_kib 2000 late_kib 9000"


def crash(results):
    results["rows"][0]["samples"]["memoir"][2] = {"ok": False, "error": "exit 139", "output": ""}


def wrong_output(results):
    results["rows"][1]["samples"]["memoir"][0]["output"] = "different"


# A planted miss and the one verdict that must see it; no other may change.
PLANTED = [
    (slow_everywhere, "time"), (slow_on_one_row, "time-row"), (fat_against_leanest, "rss"),
    (fat_against_glibc, "rss-glibc"), (dear_sampling, "sampling"),
    (live_threads_fat, "threads-live"), (ended_threads_leak, "threads-ended"), (crash, "runs"),
    (wrong_output, "runs"),
]


PROFILE_WALL = {"glibc": 1.0, "off": 0.8, "sampled": 0.8, "exact": 1.0, "heaptrack": 3.0,
                "tcmalloc": 1.1, "heapprofile": 11.1}


def made_up_profile():
    """Costs of profilers that meet every budget: exact adds 0.2 s, heaptrack 2, the other 10."""
    rows = [{"name": name, "in_mean": True,
             "samples": {mode: [sample(wall * (1 + r), 1000) for r in range(ROUNDS)]
                         for mode, wall in PROFILE_WALL.items()}} for name in ROWS]
    return {"judge": "cpu", "rows": rows, "memory": (30.0, 24.0), "sample_ns": 800.0,
            "instructions": {name: {"off": 1000000, "sampled": 1004000} for name in ROWS}}


def exact_slow_on_one_row(results):
    change(results, "heaptrack", "user", 0.5, rows=("gamma",))


def exact_slow_everywhere(results):
    change(results, "heapprofile", "user", 0.4)


def sampling_counted(results):
    results["instructions"]["alpha"]["sampled"] = 1014000


def sampling_clocked(results):
    change(results, "sampled", "user", 1.02)


def records_fat(results):
    results["memory"] = (44.0, 24.0)


def sample_slow(results):
    results["sample_ns"] = 1100.0


def exact_crash(results):
    results["rows"][0]["samples"]["exact"][2] = {"ok": False, "error": "exit 139", "output": ""}


def nothing_measured(results):
    results.update(rows=[], instructions={}, memory=None, sample_ns=None)


PLANTED_PROFILE = [
    (exact_slow_on_one_row, ["heaptrack"]), (exact_slow_everywhere, ["heapprofile"]),
    (sampling_counted, ["instructions"]), (sampling_clocked, ["time"]),
    (records_fat, ["memory"]), (sample_slow, ["sample"]), (exact_crash, ["runs"]),
    (nothing_measured, ["heaptrack", "heapprofile", "instructions", "time", "memory", "sample"]),
]


PAIR = {"memoir": 20.0, "memoir-off": 20.0, "glibc": 26.0, "quick": 20.0, "lean": 24.0}


def made_up_loops():
    """Loops that meet their goals; `together` waits for a lock, which CPU time does not see."""
    results = made_up()
    for name, threads, measures in (("alone", 1, [["pair", 1.05, None]]),
                                    ("together", 2, [["pair", 1.05, None]]),
                                    ("named", 1, [["pair", 1.05, "lean"]]),
                                    ("peak", 1, [["rss_kib", 1.05, None], ["pair", None, None]])):
        samples = {a: [sample(1.0, RSS[a], cpu_ns=pair * (1 + r), wall_ns=pair * (2 + r))
                       for r in range(ROUNDS)] for a, pair in PAIR.items()}
        results["rows"].append({"name": name, "group": "loops", "what": name, "in_mean": False,
                                "same_output": False, "command": "true", "threads": threads,
                                "measures": measures, "samples": samples})
    results["rows"].append({"name": "asked", "group": "statistic", "what": "asked",
                            "in_mean": False, "same_output": False, "command": "true",
                            "threads": 1, "measures": [],
                            "samples": {a: [sample(1.0, 1, epoch_ns=2500.0)] for a in PAIR}})
    results["cachegrind"] = {"alone": {"memoir": {"instructions": 75.0, "d1_misses": 1.25}}}
    results["aarch64"] = {"alone": {"memoir": 91.0, "memoir-off": None}}
    return results


def loop_slow(results):
    change(results, "memoir", "cpu_ns", 1.10, rows=("alone",))


def loop_waits(results):
    change(results, "memoir", "wall_ns", 1.10, rows=("together",))


def loop_slower_than_named(results):
    change(results, "memoir", "cpu_ns", 1.30, rows=("named",))


def loop_fat(results):
    change(results, "memoir", "rss_kib", 1.10, rows=("peak",))


def loop_fails(results):
    for row in results["rows"]:
        if row["name"] == "alone":
            row["samples"]["memoir"] = [measure.failed("exit status 139")] * ROUNDS


PLANTED_LOOPS = [(loop_slow, "alone"), (loop_waits, "together"),
                 (loop_slower_than_named, "named"), (loop_fat, "peak"), (loop_fails, "alone")]


def loop_checks():
    def names(results):
        return [row for _, _, _, row, _ in loops.missed(results)]

    checks = [("all goals of loops met", names(made_up_loops()), [])]
    for plant, row in PLANTED_LOOPS:
        results = made_up_loops()
        plant(results)
        checks.append((plant.__name__, names(results), [row]))
        checks.append((plant.__name__ + " fails the gate",
                       [one["met"] for one in loops.verdicts(results)], [False]))
    results = made_up_loops()
    loop_waits(results)
    results["judge"] = "cpu"
    checks.append(("judged by CPU time", names(results), []))
    text = io.StringIO()
    report.show(made_up_loops(), text)
    for words in ("together              ns a pair", "lean 72.0 ns", "glibc 1.0 MiB", "75 / 1.25",
                  "2.50", "on aarch64 (qemu)            91      failed           -",
                  "limit 0       loops that miss their goal, of 4"):
        checks.append(("report says " + words, words in text.getvalue(), True))
    for row in results["rows"]:
        row["pairs"] = 1000 if row["name"] == "alone" else None
        for one in (one for samples in row["samples"].values() for one in samples):
            one.update(l1_misses=2500, llc_misses=10)
    report.show(results, text)
    for words in ("First-level misses, ratio to glibc", "2.50 / 0.01"):
        checks.append(("report counts " + words, words in text.getvalue(), True))
    checks.append(("counts of a pair", misses.per_pair(
        {"instructions": 1000, "d1_misses": 0}, {"instructions": 1000 + 80 * misses.WARM * 2,
                                                 "d1_misses": misses.WARM}),
        {"instructions": 80.0, "d1_misses": 0.5}))
    checks.append(("a failed count", misses.per_pair(None, {}), None))
    return checks


def peer_checks():
    """--peer NAME=LIB.so: this file stands for a library."""
    wanted = {"new=" + __file__: True, "jemalloc=" + __file__: True, "new=/no/such.so": False,
              __file__: False, "memoir=" + __file__: False, "a b=" + __file__: False}
    found = {text: allocators.own_peer(text) for text in wanted}
    preload = found["new=" + __file__][0].env["LD_PRELOAD"]
    return [("peers taken", {text: one is not None and why is None
                             for text, (one, why) in found.items()}, wanted),
            ("a peer is preloaded", preload, os.path.abspath(__file__))]


def huge_checks():
    """Ratios of huge.py are those of a round: a slow round cancels."""
    def one(cpu, faults, rss):
        return {"user": cpu / 2, "sys": cpu / 2, "minor_faults": faults, "rss_kib": rss}
    samples = {"off": [one(1, 1000, 1024), one(4, 1000, 1024), one(1, 1000, 1024)],
               "on": [one(0.5, 100, 2048), one(2, 100, 2048), one(0.5, 100, 2048)],
               "auto": [one(1, 500, 1024), one(4, 500, 1024), one(9, 500, 1024)]}
    lines = list(huge.row_text(list(huge.large_rows(True))[0], samples))
    ratios = [re.findall(r"\(([\d.]+)\)", line) for line in lines]
    return [("ratios of huge pages", ratios, [["1.000"] * 3, ["0.500", "0.100", "2.000"],
                                              ["1.000", "0.500", "1.000"]])]


PHASE_KIB = {"memoir": 20480, "memoir-off": 20480, "glibc": 30720, "quick": 10240, "lean": 10240}


def phase_checks():
    """The table of phases: medians, the leanest peer, and a peak without the program itself."""
    text = "before_kib 1024 " + " ".join("%s_kib %%d %s_live_kib 2048" % (phase, phase)
                                         for phase in phases.PHASES)
    results = made_up()
    samples = {a: [sample(1.0, kib + 2048, text % ((kib,) * len(phases.PHASES)))]
               for a, kib in PHASE_KIB.items()}
    samples["quick"] = [measure.failed("exit status 139")]
    results["rows"].append({"name": "phases/1", "group": "phases", "what": "", "in_mean": False,
                            "same_output": False, "command": "true", "samples": samples})
    lines = [" ".join(line.split()) for line in phases.table(results, lambda code, text: text)]
    return [("phase lines", len(lines), 3 + len(phases.PHASES) + 2),
            ("a phase", lines[3], "built up 2.0 lean 10.0 20.0 20.0 30.0 - 10.0"),
            ("the peak", lines[-2], "peak - lean 11.0 21.0 21.0 31.0 - 11.0")]


def phase_program_checks(bench):
    """What it says is live is what the phases say, and memory that lives is seen as resident."""
    got = measure.run_command(bench, {}, [bench.binary("phases"), "2", "8", "0", "1"])
    found = stats.numbers_in(got)
    shares = [round(found[phase + "_live_kib"] / 8192, 1) for phase in phases.PHASES]
    return [("phases, live", shares, [1.0, 0.1, 0.6, 0.0, 0.0, 0.0]),
            ("phases, resident", found["built_kib"] >= found["built_live_kib"] * 0.95, True)]


def program_checks():
    """Every loop, crowd and question once, with little work, and what they refuse."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = tempfile.mkdtemp(prefix="bench-self-test-")
    bench = measure.Bench(root, build)
    try:
        measure.compile_all(bench, ("loops", "phases", "statistic", "threads", "launch"))
        rows = loops.all_rows(bench, 0.0, True)
        checks = phase_program_checks(bench)
        for row in rows:
            argv = small(row.argv)
            got = measure.run_command(bench, {}, argv)
            wanted = {"loops": "cpu_ns", "crowd": "during_kib", "statistic": "statistic"}
            checks.append((" ".join(argv[1:]), got["ok"] and wanted[row.group] in got["output"],
                           True))
        checks.append(("a loop counts all of its CPU time", share_of_loop(bench) > 0.7, True))
        for words in ("slots 64 16 10 1 10", "pipe 8 8 10 3 10", "cross 4 64 10 1 10", "none 1 1"):
            done = subprocess.run([os.path.join(root, bench.binary("loops")), *words.split()],
                                  capture_output=True)
            checks.append(("refused: " + words, done.returncode, 2))
        return checks
    finally:
        shutil.rmtree(build)
        shutil.rmtree(bench.scratch)


def share_of_loop(bench):
    """CPU time that a loop says it took, to what the kernel says of the process: nearly all of it,
    also where a thread that wakes up has to wait for the processor (one CPU, SCHED_BATCH)."""
    ops, cpus, shares = 400000, os.sched_getaffinity(0), []
    argv = [bench.binary("loops"), "slots", "16", "64", "1000", "2", str(ops)]
    try:
        os.sched_setaffinity(0, {min(cpus)})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        for _ in range(3):
            one = measure.run_command(bench, {}, argv)
            counted = loops.numbers(one["output"])["cpu_ns"] * 2 * ops / 1e9
            shares.append(counted / stats.metric(one, "cpu"))
    finally:
        os.sched_setaffinity(0, cpus)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return statistics.median(shares)


def small(argv):
    """The same command with at most 20 threads, 2,000 operations and 1 MiB."""
    place = {"loops": {6: 2000, 7: 2000}, "threads": {2: 20, 5: 200}, "statistic": {1: 20, 2: 1}}
    limits = place[os.path.basename(argv[0])]
    return [str(min(int(word), limits[i])) if i in limits else word for i, word in enumerate(argv)]


def missed(results):
    judge = profilers.verdicts if "instructions" in results else stats.verdicts
    return [one["what"] for one in judge(results) if not one["met"]]


def main():
    checks = [("all budgets met", missed(made_up()), [])]
    for plant, seen_by in PLANTED:
        results = copy.deepcopy(made_up())
        plant(results)
        checks.append((plant.__name__, missed(results), [seen_by]))
    checks.append(("all budgets of profilers met", missed(made_up_profile()), []))
    for plant, seen_by in PLANTED_PROFILE:
        results = made_up_profile()
        plant(results)
        checks.append((plant.__name__, missed(results), seen_by))
    peers_only = made_up()
    peers_only["allocators"] = [a for a in peers_only["allocators"] if a["role"] == "peer"]
    checks.append(("nothing of ours", stats.verdicts(peers_only), []))
    by_rounds = stats.ratio(made_up()["rows"][0], "memoir", "quick")
    checks.append(("ratio is by rounds", round(by_rounds, 6), 0.9))
    text = io.StringIO()
    report.show(made_up(), text)
    checks.append(("report names all verdicts", text.getvalue().count("met  "), 8))
    xml.etree.ElementTree.fromstring(plot.svg(made_up()))
    checks += [*loop_checks(), *peer_checks(), *huge_checks(), *phase_checks(),
               *program_checks()]
    wrong = [check for check in checks if check[1] != check[2]]
    for name, got, wanted in wrong:
        print("bench self-test: %s: got %s, wanted %s" % (name, got, wanted))
    print("%d passed, %d failed" % (len(checks) - len(wrong), len(wrong)))
    return 1 if wrong else 0
