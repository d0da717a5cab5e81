# SPDX-License-Identifier: MIT
"""The positive control of the gate: made-up results, one set that meets every budget and one
for each way to miss one. A gate that passes a planted miss is broken, and this says so.

`bench/run --self-test` runs it in well under a second; no allocator is involved.
"""
import copy
import io
import os
import xml.etree.ElementTree

import allocators
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


def peer_checks():
    """--peer NAME=LIB.so: this file stands for a library."""
    wanted = {"new=" + __file__: True, "jemalloc=" + __file__: True, "new=/no/such.so": False,
              __file__: False, "memoir=" + __file__: False, "a b=" + __file__: False}
    found = {text: allocators.own_peer(text) for text in wanted}
    preload = found["new=" + __file__][0].env["LD_PRELOAD"]
    return [("peers taken", {text: one is not None and why is None
                             for text, (one, why) in found.items()}, wanted),
            ("a peer is preloaded", preload, os.path.abspath(__file__))]


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
    checks += peer_checks()
    wrong = [check for check in checks if check[1] != check[2]]
    for name, got, wanted in wrong:
        print("bench self-test: %s: got %s, wanted %s" % (name, got, wanted))
    print("%d passed, %d failed" % (len(checks) - len(wrong), len(wrong)))
    return 1 if wrong else 0
