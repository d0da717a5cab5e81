# SPDX-License-Identifier: MIT
"""What it costs to open a profile: `memoir` and its peers on the same files, in one run.

    ./dev bench tool [--rounds N] [--quick] [--gate]

Profiles come from real programs under the library, one in each format that a peer reads: jemalloc's
for jeprof, gperftools' for google-pprof, pprof's for `go tool pprof`, heaptrack's own. Every tool
prints its table of all functions to a file. Within a round the tools of a row run in an order drawn
anew; the ratio of a round is peer to ours, and the median of rounds counts. `memoir` runs with an
empty cache of names; the second table has it with a full one.

The large files are made up (large.py): a million distinct stacks as pprof's, and a capture of
1 GB (100 MB with --quick). Their budget is memory: at most twice the unpacked bytes.
"""
import argparse
import gzip
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import large

FASTER_THAN_JEPROF, FASTER_THAN_GO, MEMORY_MAX = 20, 2, 2
LARGE = 20 << 20  # bytes of a binary, for the first of them


class Case:
    def __init__(self, name, peer, theirs, ours, least=None):
        self.name, self.peer, self.theirs, self.ours, self.least = name, peer, theirs, ours, least
        self.seconds = {"theirs": [], "cold": [], "warm": []}


def tool(root, build):
    return os.path.join(root, build, "memoir")


def run(argv, place, cache):
    """Seconds and peak KiB of one command whose output goes to a file."""
    env = {"PATH": os.environ["PATH"], "HOME": place, "LC_ALL": "C", "XDG_CACHE_HOME": cache}
    with open(os.path.join(place, "out"), "w") as out, open(os.path.join(place, "err"), "w") as err:
        start = time.perf_counter()
        child = subprocess.Popen(argv, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env,
                                 cwd=place)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    if status != 0:
        sys.exit("bench: %s failed:\n%s" % (" ".join(argv), open(os.path.join(place, "err")).read()))
    return seconds, usage.ru_maxrss


def record(root, build, place, name, argv, stdin=None):
    """The program once in each format; the paths by format."""
    library = os.path.join(root, build, "libmemoir.so")
    paths = {}
    for form in ("jemalloc", "gperftools", "pprof"):
        path = os.path.join(place, "%s.%s" % (name, form))
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "LD_PRELOAD": library,
               "MEMOIR": "heap.rate:64K,dump.growth:256K,dump.keep:1,dump.format:%s,dump.prefix:%s"
                         % (form, path)}
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        subprocess.run(argv, env=env, cwd=root, stdin=source, stdout=subprocess.DEVNULL, check=True)
        made = sorted(f for f in os.listdir(place) if f.startswith(os.path.basename(path) + "-"))
        if made:
            os.rename(os.path.join(place, made[-1]), path)
            paths[form] = path
    return paths


def program_of(argv):
    return os.path.realpath(shutil.which(argv[0]) or argv[0])


def cases_of(root, build, place, name, argv, stdin=None):
    memoir, program = tool(root, build), program_of(argv)
    least = FASTER_THAN_JEPROF if os.path.getsize(program) > LARGE else None
    paths = record(root, build, place, name, argv, stdin)
    if "jemalloc" in paths and shutil.which("jeprof"):
        rest = ["--text", program, paths["jemalloc"]]
        yield Case(name, "jeprof", ["jeprof", *rest], [memoir, "jeprof", *rest], least)
    if "gperftools" in paths and shutil.which("google-pprof"):
        rest = ["--text", program, paths["gperftools"]]
        yield Case(name, "google-pprof", ["google-pprof", *rest], [memoir, "pprof", *rest])
    if "pprof" in paths and shutil.which("go"):
        rest = ["-top", "-nodecount=100000", program, paths["pprof"]]
        yield Case(name, "go tool pprof", ["go", "tool", "pprof", *rest],
                   [memoir, "pprof", *rest], FASTER_THAN_GO)


def heaptrack_case(root, build, place):
    if not shutil.which("heaptrack_print"):
        return
    path = os.path.join(place, "words")
    subprocess.run(["heaptrack", "-o", path, "perl", "bench/programs/words.pl", "1"], cwd=root,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    made = [f for f in os.listdir(place) if f.startswith("words.")]
    if made:
        file = os.path.join(place, made[0])
        yield Case("perl", "heaptrack_print", ["heaptrack_print", file],
                   [tool(root, build), "report", file])


def programs():
    """A small profile of a large binary, and one of an interpreter with many libraries."""
    if shutil.which("node"):
        yield "node", ["node", "-e", "let a=[];for(let i=0;i<2e5;i++)a.push({i,s:'x'+i})"], None
    yield "python3", ["python3", "bench/programs/documents.py", "1"], None


def measure(cases, place, rounds):
    dice = random.Random(1)
    for number in range(rounds):
        for case in cases:
            print("bench: round %d of %d, %s, %s" % (number + 1, rounds, case.name, case.peer),
                  file=sys.stderr)
            for who in dice.sample(["theirs", "ours"], 2):
                if who == "theirs":
                    case.seconds[who].append(run(case.theirs, place, place)[0])
                    continue
                with tempfile.TemporaryDirectory(dir=place) as cache:
                    case.seconds["cold"].append(run(case.ours, place, cache)[0])
                    case.seconds["warm"].append(run(case.ours, place, cache)[0])


def ratio(case, ours):
    return statistics.median(t / o for t, o in zip(case.seconds["theirs"], case.seconds[ours]))


def print_cases(cases):
    print("\nSeconds for the table of all functions (median), and how many times faster")
    print("%-10s %-16s %9s %9s %9s %9s %9s" % ("profile of", "peer", "peer", "memoir", "cached",
                                              "faster", "cached"))
    for case in cases:
        median = {k: statistics.median(v) for k, v in case.seconds.items()}
        print("%-10s %-16s %9.3f %9.3f %9.3f %9.1f %9.1f" %
              (case.name, case.peer, median["theirs"], median["cold"], median["warm"],
               ratio(case, "cold"), ratio(case, "warm")))


def large_files(root, build, place, quick):
    """Name, seconds, peak MiB, unpacked MiB and the peer's seconds and MiB of each large file."""
    pprof = os.path.join(place, "large.pb.gz")
    capture = os.path.join(place, "large.memoir")
    large.write_pprof(pprof, 100000 if quick else 1000000)
    large.write_capture(capture, (100 if quick else 1000) << 20)
    for name, path in (("pprof, distinct stacks", pprof), ("capture", capture)):
        unpacked = os.path.getsize(path)
        if path.endswith(".gz"):
            with gzip.open(path) as file:
                unpacked = sum(len(chunk) for chunk in iter(lambda: file.read(1 << 20), b""))
        seconds, peak = run([tool(root, build), "top", path], place, place)
        peer = None
        if path == pprof and shutil.which("go"):
            peer = run(["go", "tool", "pprof", "-top", path], place, place)
        yield name, seconds, peak / 1024, unpacked / (1 << 20), peer


def print_large(found):
    print("\nLarge files")
    print("%-24s %9s %9s %9s %9s   %s" % ("file", "MiB", "seconds", "peak MiB", "ratio", "peer"))
    for name, seconds, peak, unpacked, peer in found:
        text = "go: %.2f s, %.0f MiB" % (peer[0], peer[1] / 1024) if peer else ""
        print("%-24s %9.0f %9.2f %9.0f %9.2f   %s" % (name, unpacked, seconds, peak, peak / unpacked,
                                                     text))


def judge(cases, found):
    print("\nBudgets")
    missed = False
    rows = [(ratio(c, "cold"), c.least, "times faster than %s, %s" % (c.peer, c.name))
            for c in cases if c.least]
    for value, least, what in rows:
        missed |= value < least
        print("%-8s %8.2f  at least %-4d %s" % ("met" if value >= least else "missed", value, least,
                                               what))
    for name, _, peak, unpacked, _ in found:
        value = peak / unpacked
        missed |= value > MEMORY_MAX
        print("%-8s %8.2f  at most  %-4d memory to the unpacked bytes, %s" %
              ("met" if value <= MEMORY_MAX else "missed", value, MEMORY_MAX, name))
    return missed


def main(root, words):
    parser = argparse.ArgumentParser(prog="bench/run tool", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two rounds, smaller large files")
    parser.add_argument("--build", default="build", help="where the command was built")
    parser.add_argument("--gate", action="store_true", help="exit 1 if a budget is missed")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        cases = []
        for name, argv, stdin in programs():
            cases.extend(cases_of(root, asked.build, place, name, argv, stdin))
        cases.extend(heaptrack_case(root, asked.build, place))
        measure(cases, place, 2 if asked.quick else asked.rounds)
        found = list(large_files(root, asked.build, place, asked.quick))
        print_cases(cases)
        print_large(found)
        missed = judge(cases, found)
    return 1 if missed and asked.gate else 0
