# SPDX-License-Identifier: MIT
"""Instructions of a pair on aarch64, counted under qemu: lines beside those of cachegrind.

Ours is build/aarch64/libmemoir.so (`./dev build aarch64`), with sampling and without, and glibc is
Debian's for that machine; other peers are not packaged in a way that a cross compiler finds. A
plugin of ours (qemu_count.c) counts. There is no cache to count misses of.
"""
import os
import re
import shutil
import subprocess

import measure
import misses

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
# An address space of 32 GiB, as in cmake/aarch64.cmake, which says why.
COMMAND = [EMULATOR, "-R", "0x800000000", "-L", "/usr/aarch64-linux-gnu"]
INTERFACES = range(1, 7)  # of qemu's plugins, by its version


def library(bench):
    return os.path.join(bench.build, "aarch64", "libmemoir.so")


def prepare(bench):
    """Compiles what is run. Returns what keeps us from counting, or None."""
    for name in (COMPILER, EMULATOR):
        if not shutil.which(name):
            return "%s is not installed" % name
    if not os.path.exists(library(bench)):
        return "%s is not there; ./dev build aarch64 makes it" % os.path.relpath(library(bench))
    sources = [os.path.join("bench", name) for name in measure.BINARIES["loops"]]
    subprocess.run([COMPILER, *measure.FLAGS, *sources, "-o", program(bench)], cwd=bench.root,
                   check=True)
    return None if compile_plugin(bench) else "%s takes no plugin of ours" % EMULATOR


def compile_plugin(bench):
    """For the interface that this qemu has. False if it has none."""
    for interface in INTERFACES:
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC",
                        "-DINTERFACE=%d" % interface, "bench/qemu_count.c", "-o", plugin(bench)],
                       cwd=bench.root, check=True)
        if run(bench, ["slots", "16", "16", "1", "1", "1"], {}):
            return True
    return False


def program(bench):
    return os.path.join(bench.out, "loops_aarch64")


def plugin(bench):
    return os.path.join(bench.out, "qemu_count.so")


def run(bench, words, env):
    """Instructions of one run, or None."""
    variables = [word for pair in env.items() for word in ("-E", "%s=%s" % pair)]
    done = subprocess.run([*COMMAND, "-plugin", plugin(bench), *variables, program(bench), *words],
                          cwd=bench.root, stdin=subprocess.DEVNULL, capture_output=True,
                          env=measure.clean_environment())
    found = re.search(rb"^instructions: (\d+)$", done.stderr, re.M)
    return int(found.group(1)) if done.returncode == 0 and found else None


def environments(bench, every):
    """allocator name -> its variables, for those that we have on that machine."""
    ours = {"LD_PRELOAD": library(bench)}
    known = {"memoir": ours, "memoir-off": {**ours, "MEMOIR": "heap:off"}, "glibc": {}}
    return {one.name: known[one.name] for one in every if one.name in known}


def count(bench, chosen, every, step):
    """row name -> allocator name -> instructions of a pair."""
    found = {}
    for row in filter(misses.is_counted, chosen):
        found[row.name] = {}
        for name, env in environments(bench, every).items():
            step("qemu, %s under %s" % (row.name, name))
            short, long = (run(bench, [*row.argv[1:6], str(ops), str(misses.WARM)], env)
                           for ops in (misses.SHORT, misses.LONG))
            pairs = misses.LONG - misses.SHORT
            found[row.name][name] = None if None in (short, long) else (long - short) / pairs
    return found
