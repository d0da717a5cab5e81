#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a profile with many distinct stacks takes in memory: whatever is asked of it, at most twice
# its unpacked bytes, in whatever order its stacks are. What the command takes for a profile of the
# same functions with fewer stacks is left out of the account. And a recursion 60,000 frames deep.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
unset MEMOIR
PYTHONPATH=$MEMOIR_ROOT/bench PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY' || fail "no profiles"
import gzip, large
large.write_pprof("few.pb.gz", 20000)  # as many as have all functions
large.write_pprof("many.pb.gz", 100000)
large.write_pprof("mixed.pb.gz", 100000, mixed=True)
with open("bytes", "w") as file:
    for name in ("few", "many", "mixed"):
        with gzip.open(name + ".pb.gz") as profile:
            print(len(profile.read()), file=file)
with open("deep.folded", "w") as file:
    for depth in (60000, 59999, 30000):
        file.write("main" + ";f" * (depth - 2) + ";leaf 10\n")
PY
# This one stays small: a child counts as large as its parent was.
python3 - "$MEMOIR_TOOL" <<'PY' || fail "too much memory"
import os, sys

def peak(words):
    """The most bytes that a command had in memory."""
    child = os.posix_spawn(sys.argv[1], [sys.argv[1]] + words + ["--quiet"], os.environ,
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, words
    return usage.ru_maxrss * 1024

CONSTANT = 4 << 20  # the boxes of a picture: there are only so many
failed = False
few, *sizes = [int(line) for line in open("bytes")]
mixed = [["tree"], ["export", "-o", "out.folded"]]
many = mixed + [["traces"], ["export", "-o", "out.svg"], ["export", "-o", "out.callgrind"],
                ["export", "-o", "out.dot"],
                ["export", "-o", "out.pb.gz", "--hide", "function_17$"]]
base = {str(command): peak([command[0], "few.pb.gz"] + command[1:]) for command in many}
for name, size, commands in (("many", sizes[0], many), ("mixed", sizes[1], mixed)):
    for command in commands:
        words = [command[0], name + ".pb.gz"] + command[1:]
        more = peak(words) - base[str(command)]
        ratio = (more - CONSTANT) / (size - few)
        if more < (size - few) / 2 or ratio > 2:
            print("memoir %s takes %.2f times the unpacked bytes" % (" ".join(words), ratio))
            failed = True
for command in (["top"], ["tree"], ["tree", "--json"], ["export", "-o", "deep.svg"]):
    if peak([command[0], "deep.folded"] + command[1:]) > 32 << 20:
        print("memoir %s takes too much of deep stacks" % " ".join(command))
        failed = True
sys.exit(failed)
PY
