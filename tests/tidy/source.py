# SPDX-License-Identifier: MIT
"""What the checkers of this folder share: walking the tree and reporting findings.

A checker is called as `tests/tidy/NAME ROOT`. It prints one `file:line: message` a finding and
exits 1 if there were any. `planted` folders are skipped below ROOT: they hold the samples that
each checker must catch, and `tests/tidy/control NAME` runs it with such a sample as ROOT.
"""
import os
import sys

ROOMS = ("base", "lib", "include", "tool", "bpf", "bench", "tests")
SKIPPED = {".git", "build", "planted", "node_modules", "__pycache__"}
C_NAMES = (".c", ".h", ".cc", ".def")


def files(root, places=(".",)):
    """Paths of all files below the places, relative to root, in order."""
    found = []
    for place in places:
        for folder, folders, names in os.walk(os.path.join(root, place)):
            folders[:] = sorted(set(folders) - SKIPPED)
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def c_files(root, places=ROOMS):
    return [path for path in files(root, places) if path.endswith(C_NAMES)]


def lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")


def run(check):
    """Calls check(root), a generator of (path, line, message); prints them and exits."""
    if len(sys.argv) != 2:
        sys.exit("usage: %s ROOT" % sys.argv[0])
    findings = ["%s:%d: %s" % finding for finding in check(sys.argv[1])]
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
