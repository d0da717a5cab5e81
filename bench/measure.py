# SPDX-License-Identifier: MIT
"""Running one command under one allocator and taking its measure.

The stop-watch is build/bench/launch (bench/launch.c says why it is not this interpreter). What is
compiled here is compiled by the plain `cc`, with the flags below, so that it can be repeated by
hand. The environment of a measured program is made here from nothing: no variable of the caller
reaches an allocator by accident.
"""
import os
import subprocess
import tempfile

FLAGS = ["-std=gnu11", "-O2", "-g", "-fno-builtin", "-pthread", "-I."]
BINARIES = {
    "micro": ["micro.c", "blocks.c", "single.c", "shapes.c", "multi.c"],
    "deep": ["deep.c", "blocks.c"],
    "loops": ["loops.c", "blocks.c"],
    "phases": ["phases.c", "blocks.c"],
    "statistic": ["statistic.c", "blocks.c"],
    "threads": ["threads.c"],
    "launch": ["launch.c"],
}
TIME_LIMIT_S = 180


class Bench:
    """Where things are: the repository, the build directory, a scratch directory for sockets."""

    def __init__(self, root, build):
        self.root = root
        self.build = build
        self.out = os.path.join(build, "bench")
        os.makedirs(self.out, exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="bench-")

    def binary(self, name):
        return os.path.relpath(os.path.join(self.out, name), self.root)


def compile_all(bench, names=tuple(BINARIES)):
    compiler = os.environ.get("CC", "cc")
    for name in names:
        paths = [os.path.join("bench", source) for source in BINARIES[name]]
        target = os.path.join(bench.out, name)
        if not is_older(bench, target, paths + ["bench/micro.h"]):
            continue
        command = [compiler, *FLAGS, *paths, "-o", target]
        if name == "launch" and subprocess.run([*command, "-static"], cwd=bench.root,
                                               stderr=subprocess.DEVNULL).returncode == 0:
            continue
        subprocess.run(command, cwd=bench.root, check=True)


def is_older(bench, target, sources):
    if not os.path.exists(target):
        return True
    made = os.path.getmtime(target)
    return any(os.path.getmtime(os.path.join(bench.root, source)) > made for source in sources)


def clean_environment():
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**keep, "LC_ALL": "C"}


def launch_start(bench, env, argv, stdin=None, stdout=None):
    """Starts argv under launch; launch_end gives the sample."""
    handle, report = tempfile.mkstemp(dir=bench.scratch)
    os.close(handle)
    assignments = ["%s=%s" % pair for pair in env.items()]
    process = subprocess.Popen(
        [os.path.join(bench.out, "launch"), report, *assignments, *argv],
        cwd=bench.root, env=clean_environment(), stdin=stdin or subprocess.DEVNULL,
        stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE)
    process.report = report
    return process


def launch_end(process, limit=TIME_LIMIT_S):
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        return failed("no end after %d s" % limit)
    with open(process.report, encoding="ascii") as file:
        fields = file.read().split()
    os.unlink(process.report)
    if len(fields) != 9:
        return failed("launch: " + errors.decode(errors="replace")[-200:])
    status, wall_ns, user_us, sys_us, rss_kib, minor, major, l1, llc = map(int, fields)
    sample = {
        "ok": status == 0, "status": status, "wall": wall_ns / 1e9,
        "user": user_us / 1e6, "sys": sys_us / 1e6, "rss_kib": rss_kib,
        "minor_faults": minor, "major_faults": major,
        "output": (output or b"").decode(errors="replace").strip()[-400:],
    }
    if l1 >= 0 and llc >= 0:
        sample.update(l1_misses=l1, llc_misses=llc)
    if status != 0:
        sample["error"] = "exit status %d: %s" % (status, errors.decode(errors="replace")[-300:])
    return sample


def failed(why):
    return {"ok": False, "error": why, "output": ""}


def run_command(bench, env, argv, stdin_path=None):
    stdin = open(os.path.join(bench.root, stdin_path), "rb") if stdin_path else None
    try:
        return launch_end(launch_start(bench, env, argv, stdin))
    finally:
        if stdin:
            stdin.close()
