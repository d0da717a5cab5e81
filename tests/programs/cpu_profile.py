#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""helper: reads gperftools' CPU profile of a program linked with -no-pie.

    cpu_profile.py shares PROGRAM FILE TOLD N every function of TOLD (lines "NAME NS") has its share of all
                                              CPU time, within 4 standard errors of N samples; so has the sum
    cpu_profile.py total FILE LOW HIGH        the time of all samples in nanoseconds is within bounds
    cpu_profile.py has PROGRAM FILE NAME      prints the share of stacks that hold NAME, in percent
"""
import bisect
import struct
import subprocess
import sys


def read(path):
    """The period in nanoseconds and the stacks, each with its count."""
    data = open(path, "rb").read()
    words = struct.unpack("<5Q", data[:40])
    assert words[:3] == (0, 3, 0) and words[4] == 0, words
    at, stacks = 40, []
    while True:
        count, depth = struct.unpack_from("<2Q", data, at)
        pcs = struct.unpack_from("<%dQ" % depth, data, at + 16)
        at += 16 + 8 * depth
        if count == 0:
            assert depth == 1 and pcs == (0,), (depth, pcs)
            break
        assert 1 <= depth <= 254
        stacks.append((count, pcs))
    maps = data[at:].decode()
    assert maps.count("\n") > 3 and " r-xp " in maps, maps[:200]
    return words[3] * 1000, stacks


def functions(program):
    names = []
    for line in subprocess.run(["nm", "-n", program], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tT":
            names.append((int(fields[0], 16), fields[2]))
    return names


def name_of(names, starts, address):
    at = bisect.bisect_right(starts, address) - 1
    return names[at][1] if at >= 0 else ""


def by_function(program, path):
    """Nanoseconds by function, itself and what it calls."""
    period, stacks = read(path)
    names = functions(program)
    starts = [start for start, _ in names]
    sums = {}
    for count, pcs in stacks:
        seen = {name_of(names, starts, pc - (i > 0)) for i, pc in enumerate(pcs) if pc < 1 << 32}
        for name in seen:
            sums[name] = sums.get(name, 0) + count * period
    return period, sum(count for count, _ in stacks) * period, sums


def shares(program, path, told, samples):
    period, total, sums = by_function(program, path)
    lines = [line.split() for line in open(told)]
    real = {name: int(ns) for name, ns in lines if name.startswith("part_") or name == "in_calls"}
    cpu = sum(int(ns) for name, ns in lines if name in ("user", "system"))
    wrong = []
    for name, ns in real.items():
        share = ns / cpu
        error = (share * (1 - share) / int(samples)) ** 0.5
        seen = sums.get(name, 0) / total
        if abs(seen - share) > 4 * error + 0.01:
            wrong.append("%s: %.2f %%, not %.2f %% (+- %.2f)" %
                         (name, 100 * seen, 100 * share, 400 * error))
    # the kernel's work at the end of a thread, some 30 us, is in no thread's profile
    if abs(total - cpu) > 0.05 * cpu + 6 * period:
        wrong.append("%.3f s sampled, %.3f s used" % (total / 1e9, cpu / 1e9))
    for line in wrong:
        print(line)
    return bool(wrong)


def main():
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "shares":
        return shares(*arguments)
    if what == "total":
        period, stacks = read(arguments[0])
        total = sum(count for count, _ in stacks) * period
        print("%.3f s" % (total / 1e9))
        return not float(arguments[1]) <= total <= float(arguments[2])
    _, total, sums = by_function(arguments[0], arguments[1])
    print(int(100 * sums.get(arguments[2], 0) / max(total, 1)))
    return 0


sys.exit(main())
