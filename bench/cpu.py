# SPDX-License-Identifier: MIT
"""What a CPU profile costs: the same work with and without one, ours and libprofiler's beside it.

    ./dev bench cpu [--rounds N] [--millions N] [--lib PATH]

Within a round each variant runs once, in an order drawn anew; a figure is the CPU time of a round
over that without a profile, and the median of rounds counts. Above the kernel's tick ours has as
many samples as were asked for where the kernel allows perf events; libprofiler has one a tick. On a
busy machine what 100 and 1,000 a second add is below the noise; the column "by samples" is what
10,000 a second add, divided by as many times more. "events alone" are as many signals of a perf event
of the program's own, to a handler that does nothing: what the kernel and the machine below it take.

Libprofiler has no such rate. Its cost of one sample is taken from profiles of all time (4,000 a second, the most that libprofiler
takes), whose timers are exact: what they add, divided by the number of signals, less what the same
number of signals costs that a program's own timer sends to a handler that does nothing: in a
virtual machine that is most of it. Walks are 30 frames deep.
"""
import argparse
import glob
import os
import random
import statistics
import subprocess
import tempfile

FAST, FASTEST = 4000, 10000
# Percent of run time, and a sample's own cost in us; it should be at most 60 % of libprofiler's.
BUDGET = {"memoir 1000": 1, "memoir 10000": 8}
SAMPLE_US = 3


def variants(lib, other):
    yield "none", lib, {}
    yield "signals alone", lib, {}
    yield "events alone", lib, {}
    for rate in (100, 1000, 10000):
        yield "memoir %d" % rate, lib, {"MEMOIR": "cpu:on,cpu.rate:%d" % rate}
    yield "memoir wall", lib, {"MEMOIR": "cpu:on,cpu.clock:wall,cpu.rate:%d" % FAST}
    if other:
        yield "other none", other, {}
        for rate in (100, 1000, FAST):
            yield "libprofiler %d" % rate, other, {"CPUPROFILE": "p",
                                                   "CPUPROFILE_FREQUENCY": str(rate)}
        yield "libprofiler wall", other, {"CPUPROFILE": "p", "CPUPROFILE_FREQUENCY": str(FAST),
                                          "CPUPROFILE_REALTIME": "1"}


def run_once(command, preload, extra, place):
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("MEMOIR", "CPUPROFILE"))}
    env.update(extra, LD_PRELOAD=preload)
    done = subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, check=True)
    return int(done.stdout)


def main(root, words):
    parser = argparse.ArgumentParser(prog="bench/run cpu", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--millions", type=int, default=1000, help="steps of work (default 1000)")
    parser.add_argument("--lib", metavar="PATH", default=os.path.join(root, "build/libmemoir.so"))
    options = parser.parse_args(words)
    other = next(iter(glob.glob("/usr/lib/*/libprofiler.so.0")), None)
    chosen = list(variants(os.path.abspath(options.lib), other))
    times = {name: [] for name, _, _ in chosen}
    with tempfile.TemporaryDirectory() as place:
        program = os.path.join(place, "sampled")
        subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-o", program,
                        os.path.join(root, "bench/sampled.c"), "-lrt"], check=True)
        for _ in range(options.rounds):
            for name, preload, extra in random.sample(chosen, len(chosen)):
                command = [program, str(options.millions)]
                command += {"signals alone": [str(FAST)],
                            "events alone": [str(FASTEST), "events"]}.get(name, [])
                try:
                    times[name].append(run_once(command, preload, extra, place))
                except subprocess.CalledProcessError:
                    chosen = [variant for variant in chosen if variant[0] != name]
    report(times, options)
    return 0


def each_us(values, base, rate):
    """What one of the signals costs, by round."""
    return [(value - without) / (rate * value / 1e6) for value, without in zip(values, base)]


def own_us(times, name, base, signals, rate):
    """What a sample costs beyond its signal."""
    return statistics.median(each - signal for each, signal in
                             zip(each_us(times[name], base, rate),
                                 each_us(times[signals], base, rate)))


def report(times, options):
    none = times["none"]
    print("%d rounds, %.2f s of CPU time each; without a profile they differ by %.1f %%" %
          (options.rounds, statistics.median(none) / 1e9, 100 * (max(none) / min(none) - 1)))
    added = {}
    for name, values in times.items():
        if not values or name in ("none", "other none"):
            continue
        base = times["other none"] if name.startswith("libprofiler") else none
        added[name] = 100 * (statistics.median(v / b for v, b in zip(values, base)) - 1)
        line = "%-18s %+6.2f %%" % (name, added[name])
        if name in BUDGET:
            line += ", budget %g" % BUDGET[name]
        if name in ("signals alone", "events alone"):
            rate = FAST if name == "signals alone" else FASTEST
            line += "   %.2f us a signal" % statistics.median(each_us(values, base, rate))
        if name == "memoir 10000":
            line += "; by samples %.2f %% at 1,000, %.2f %% at 100 a second" % (
                added[name] / 10, added[name] / 100)
            if times["events alone"]:
                line += "; %.2f us a sample without its signal, budget %g" % (
                    own_us(times, name, none, "events alone", FASTEST), SAMPLE_US)
        if name.endswith("wall"):
            line += "   %.2f us a sample without its signal" % own_us(
                times, name, base, "signals alone", FAST)
        print(line)
