# SPDX-License-Identifier: MIT
"""From raw samples to ratios, means and verdicts. Pure: no files, no processes, no printing.

`results` is what bench/run writes as JSON. A ratio of two allocators on a row is the median over
rounds of (a in round r / b in round r): the two ran within seconds of each other, so what the
machine did in that round cancels. A mean over rows is geometric. A row where either failed has no
ratio with it; if ours failed anywhere, no budget is met.
"""
import math
import random
import statistics

LIMIT_TIME_MEAN = 0.95
LIMIT_TIME_ROW = 1.15
LIMIT_RSS_LEANEST = 1.0
LIMIT_RSS_GLIBC = 1.1
LIMIT_SAMPLING = 1.005
LIMIT_LIVE_THREADS_KIB = 120 * 1024
LIMIT_ENDED_GROWTH_KIB = 1024


def metric(sample, name):
    if name == "cpu":
        return sample["user"] + sample["sys"]
    return sample[name]


def has_counters(results):
    """The machine let launch.c count cache misses."""
    return all("l1_misses" in one for row in mean_rows(results)
               for samples in row["samples"].values() for one in samples if one["ok"])


def round_ratios(row, a, b, name):
    pairs = zip(row["samples"].get(a, []), row["samples"].get(b, []))
    return [metric(x, name) / max(metric(y, name), 1e-9) for x, y in pairs if x["ok"] and y["ok"]]


def ratio(row, a, b, name="wall"):
    ratios = round_ratios(row, a, b, name)
    return middle_ratio(ratios) if ratios else None


def middle_ratio(ratios):
    """The median on a logarithmic scale: for an even count, a/b is the inverse of b/a as well."""
    return math.exp(statistics.median(map(math.log, (max(r, 1e-9) for r in ratios))))


def quartiles(values):
    if len(values) < 2:
        return (values[0], values[0]) if values else (None, None)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def middle(row, allocator, name):
    values = [metric(s, name) for s in row["samples"].get(allocator, []) if s["ok"]]
    return statistics.median(values) if values else None


def geometric(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def role(results, wanted):
    return [a["name"] for a in results["allocators"] if a["role"] == wanted]


def mean_rows(results):
    return [row for row in results["rows"] if row["in_mean"]]


def mean_ratio(results, a, b, name="wall", rows=None):
    return geometric([ratio(row, a, b, name) for row in rows or mean_rows(results)])


def best_peer(results, row, name="wall", without=()):
    """The peer with the lowest median on this row, compared by rounds to the first peer."""
    peers = [p for p in role(results, "peer") if p not in without]
    ranked = [(ratio(row, peer, peers[0], name), peer) for peer in peers]
    ranked = [pair for pair in ranked if pair[0] is not None]
    return min(ranked)[1] if ranked else None


def first_peer_overall(results, name="wall", without=()):
    peers = [p for p in role(results, "peer") if p not in without]
    ranked = [(mean_ratio(results, peer, peers[0], name), peer) for peer in peers]
    ranked = [pair for pair in ranked if pair[0] is not None]
    return min(ranked)[1] if ranked else None


def worst_row(results, ours, name="wall"):
    """(ratio, row name, peer): the row where ours is furthest behind that row's best peer."""
    found = []
    for row in mean_rows(results):
        peer = best_peer(results, row, name)
        value = ratio(row, ours, peer, name) if peer else None
        if value is not None:
            found.append((value, row["name"], peer))
    return max(found) if found else None


def interval(results, a, b, name="wall", draws=400):
    """95 % interval of mean_ratio by drawing rounds again, the same seed each time."""
    dice = random.Random(1)
    ratios = [r for r in (round_ratios(row, a, b, name) for row in mean_rows(results)) if r]
    if not ratios:
        return None
    means = sorted(geometric([middle_ratio(dice.choices(r, k=len(r))) for r in ratios])
                   for _ in range(draws))
    return means[int(draws * 0.025)], means[int(draws * 0.975) - 1]


def numbers_in(sample):
    """`name value` pairs of a thread row's output."""
    words = sample["output"].split()
    return {k: int(v) for k, v in zip(words, words[1:]) if k.endswith("_kib") and v.isdigit()}


def thread_numbers(results, row_name, allocator):
    for row in results["rows"]:
        if row["name"] == row_name:
            for sample in row["samples"].get(allocator, []):
                if sample["ok"]:
                    return numbers_in(sample)
    return {}


def failures(results):
    """(row, allocator, reason) for each run that failed or printed something else than others."""
    found = []
    for row in results["rows"]:
        outputs = {}
        for name, samples in row["samples"].items():
            for sample in samples:
                if not sample["ok"]:
                    found.append((row["name"], name, sample.get("error", "failed").strip()))
                elif row.get("same_output"):
                    outputs.setdefault(sample["output"], set()).add(name)
        if len(outputs) > 1:
            odd = min(outputs.values(), key=len)
            found.append((row["name"], ",".join(sorted(odd)), "printed something else"))
    return found


def judged(results):
    """The clock the budgets read: wall, or cpu if the run asked for it (a busy machine)."""
    return results.get("judge", "wall")


def verdict(what, value, limit, text, met=None):
    met = value is not None and value <= limit if met is None else met
    return {"what": what, "value": value, "limit": limit, "met": met, "text": text}


def verdicts(results):
    """Every budget with its verdict; empty where there is nothing of ours to judge."""
    ours = role(results, "ours")
    if not ours or not mean_rows(results) or not role(results, "peer"):
        return []
    ours = ours[0]
    return [*time_verdicts(results, ours), *memory_verdicts(results, ours),
            *sampling_verdicts(results, ours), *thread_verdicts(results, ours),
            *run_verdicts(results, ours)]


def time_verdicts(results, ours):
    clock = judged(results)
    fastest = first_peer_overall(results, clock)
    worst = worst_row(results, ours, clock)
    yield verdict("time", mean_ratio(results, ours, fastest, clock), LIMIT_TIME_MEAN,
                  "%s time, geometric mean against the fastest peer (%s)" % (clock, fastest))
    yield verdict("time-row", worst and worst[0], LIMIT_TIME_ROW,
                  "%s time, worst row against that row's best peer (%s)"
                  % (clock, "%s, %s" % worst[1:] if worst else "no row"))


def memory_verdicts(results, ours):
    if [p for p in role(results, "peer") if p != "glibc"]:
        leanest = first_peer_overall(results, "rss_kib", without=("glibc",))
        yield verdict("rss", mean_ratio(results, ours, leanest, "rss_kib"), LIMIT_RSS_LEANEST,
                      "peak memory, geometric mean against the leanest peer but glibc (%s)"
                      % leanest)
    if "glibc" in role(results, "peer"):
        yield verdict("rss-glibc", mean_ratio(results, ours, "glibc", "rss_kib"), LIMIT_RSS_GLIBC,
                      "peak memory, geometric mean against glibc")


def sampling_verdicts(results, ours):
    """Missed only if the whole interval lies above the limit: noise alone fails no build."""
    for off in role(results, "off"):
        clock = judged(results)
        words = clock + " time, sampling on against off"
        value, span = mean_ratio(results, ours, off, clock), interval(results, ours, off, clock)
        if value is None or span is None:
            yield verdict("sampling", None, LIMIT_SAMPLING, words)
            continue
        yield verdict("sampling", value, LIMIT_SAMPLING,
                      words + " (95 %% within %.3f to %.3f)" % span,
                      met=span[0] <= LIMIT_SAMPLING)


def thread_verdicts(results, ours):
    names = [row["name"] for row in results["rows"]]
    if "threads-live" in names:
        now = thread_numbers(results, "threads-live", ours).get("during_kib")
        count = max(1, results.get("live_threads", 10000))
        fixed = 2048 if count < 10000 else 0  # what the process has without threads
        yield verdict("threads-live", now, LIMIT_LIVE_THREADS_KIB * count / 10000 + fixed,
                      "resident KiB with %d live threads" % count)
    if "threads-ended" in names:
        found = thread_numbers(results, "threads-ended", ours)
        grown = found["late_kib"] - found["early_kib"] if "late_kib" in found else None
        yield verdict("threads-ended", grown, LIMIT_ENDED_GROWTH_KIB,
                      "KiB grown between the first 1,000 threads ended and the last")


def run_verdicts(results, ours):
    wrong = [f for f in failures(results) if ours in f[1].split(",")]
    yield verdict("runs", len(wrong), 0, "runs of %s that failed or printed something else" % ours)
