#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# CPU and wall clock profiles against programs that know their shares: 1 to 64 threads, threads that live for
# less than a tick of the kernel, system calls, page faults, blocking, more threads than CPUs. Each share within
# 5 standard errors, all of them together within what chance allows once in 100,000 runs, totals within 2 % of
# getrusage, for ended threads and live ones. MEMOIR_TRUTH_ROUNDS repeats it, and judges the sum.
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
build "$root/tests/programs/cpu_truth.c" -o "$place/truth"
settle
cat >judge.py <<'END2'
"""judge.py NAME WALL ROUNDS SPREAD ENDS: compares told.N with seen.N and samples.N, summed over rounds."""
import sys
name, wall, rounds, spread, ends = sys.argv[1], sys.argv[2] == "wall", *map(float, sys.argv[3:])
told, seen, total, samples = {}, {}, 0, 0
for i in range(int(rounds)):
    for line in open("told.%d" % i):
        key, ns = line.split()
        told[key] = told.get(key, 0) + int(ns)
    for line in open("seen.%d" % i):
        stack, ns = line.rsplit(" ", 1)
        if wall and "burn" not in stack.split(";") and "wait_in_sleep" not in stack.split(";"):
            continue  # the thread that waits for all others
        total += int(ns)
        for function in set(stack.split(";")):
            seen[function] = seen.get(function, 0) + int(ns)
    samples += sum(int(line.rsplit(" ", 1)[1]) for line in open("samples.%d" % i))
cpu = told.pop("user") + told.pop("system")
if wall:
    cpu = sum(told.values())
wrong, chi = [], 0
for key, ns in told.items():
    share, found = ns / cpu, seen.get(key, 0) / total
    error = (share * (1 - share) / samples * spread) ** 0.5
    chi += ((found - share) / error) ** 2
    if abs(found - share) > 5 * error:
        wrong.append("%s: %.2f %%, not %.2f (+- %.2f)" % (key, 100 * found, 100 * share, 100 * error))
limit = len(told) + 4.3 * (2 * len(told)) ** 0.5 + 12  # chi squared, one in 100,000
if chi > limit:
    wrong.append("all shares: %.1f, not below %.1f" % (chi, limit))
if abs(total - cpu) > 0.02 * cpu + ends * rounds:
    wrong.append("%.3f s sampled, %.3f s used" % (total / 1e9, cpu / 1e9))
print("%s: %d samples, %.3f of %.3f s, chi squared %.1f of %d" %
      (name, samples, total / 1e9, cpu / 1e9, chi, len(told)))
sys.exit("%s: %s" % (name, "; ".join(wrong)) if wrong else 0)
END2
rounds=${MEMOIR_TRUTH_ROUNDS:-1}

# By the clock that the kernel gave: equal weights, one sample a tick, or one a tick of system time only.
spread_of() {
    "$MEMOIR_TOOL" report run.memoir >report 2>&1
    case $(grep -o 'samples a second, by .*' report) in
    *'by perf events') echo 1.5 ;;
    *'by thread timers') echo 2.5 ;;
    *) echo "$((rate / 250 + 3))" ;;
    esac
}

# agrees CLOCK RATE SPREAD ENDS ARGUMENTS... SPREAD: samples of unequal weight are worth less; source: as spread_of
# says. ENDS: nanoseconds before the profile begins, and since the last period and tick of each thread.
agrees() {
    clock=$1 rate=$2 spread=$3 ends=$4
    shift 4
    round=0
    while [ "$round" -lt "$rounds" ]; do
        rm -f run.memoir
        MEMOIR=cpu:on,cpu.clock:$clock,cpu.rate:$rate,heap:off,capture:$place/run.memoir preload ./truth "$@" \
            >told.$round 2>errors || fail "$*: exit code $?: $(cat errors)"
        ! grep 'cut short' told.$round || fail "$*: a wait"
        "$MEMOIR_TOOL" export run.memoir --metric "$clock" --format folded -o seen.$round 2>message &&
            "$MEMOIR_TOOL" export run.memoir --metric samples --format folded -o samples.$round 2>message ||
            fail "$*: $(cat message)"
        round=$((round + 1))
    done
    [ "$spread" != source ] || spread=$(spread_of)
    python3 judge.py "$clock $rate $*" "$clock" "$rounds" "$spread" "$ends" 2>message || fail "$(cat message)"
}

agrees cpu 200 1.5 40e6 shares 64 40
agrees cpu 200 1.5 20e6 mixed 4 600
agrees cpu 1000 source 20e6 mixed 2 900
agrees cpu 1000 source 20e6 mixed 0 900
agrees cpu 10000 source 20e6 mixed 2 500
agrees cpu 1000 source 20e6 blocks 8 120
agrees cpu 200 4 20e6 short 4 300
agrees wall 100 4 100e6 waits 8 1500
agrees wall 1000 2 40e6 waits 3 1200
finish
