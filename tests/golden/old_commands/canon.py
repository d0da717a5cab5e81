#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the old commands print in no order, in one:  canon.py KIND <OUTPUT

Functions that are not the program's own are left out: where libc and others have no symbols, the
real commands guess. KIND is dot, tree, callgrind, stacks, collapsed, raw, disasm or cum.
"""
import re
import struct
import sys

OWN = re.compile(
    r"(keep|main\b|in_thread|forget|shared_|burn|twice|helper|work\b|outer|store::)")


def own(name):
    return OWN.match(name) is not None and "libc" not in name


def short(name):
    """Without the address that the real ones put behind a name, or the version."""
    return re.sub(r"<[0-9a-f]{16}>|@@?[A-Z_0-9.]+$", "", name)


def dot(text):
    names, nodes, edges = {}, [], []
    for line in text.splitlines():
        node = re.match(r'(N\d+) \[label="(.*?)\\n(-?[\d.]+ \(.*)', line)
        edge = re.match(r"(N\d+) -> (N\d+) (.*)", line)
        if node:
            name = names[node.group(1)] = node.group(2)
            if own(name.replace("\\n", "::")):
                nodes.append(f"node {name} {node.group(3)}")
        elif edge:
            ends = [names[edge.group(1)], names[edge.group(2)]]
            if all(own(end.replace("\\n", "::")) for end in ends):
                edges.append(f"edge {ends[0]} -> {ends[1]} {edge.group(3)}")
        elif line.startswith(("digraph", "Legend", "node", "}", "size")):
            nodes.append(line)
    return sorted(nodes) + sorted(edges)


def tree(text):
    """A tree of Go's, each node by the way that leads to it instead of by its number."""
    labels, above = {}, {}
    for line in text.splitlines():
        node = re.match(r'N(\d+) \[label="(.*?)" id=', line)
        edge = re.match(r"N(\d+) -> N(\d+) \[", line)
        if node:
            labels[node.group(1)] = node.group(2)
        elif edge:
            above[edge.group(2)] = edge.group(1)

    def way(number):
        caller = above.get(number)
        return (way(caller) + "/" if caller else "") + labels[number]

    text = re.sub(r'id="node\d+" ', "", text)
    return sorted(re.sub(r"(?<![\w.])(N+)(\d+)(?=[ _])", lambda at: way(at.group(2)), line)
                  for line in text.splitlines())


def callgrind(text):
    names, found, call = {}, [], []
    for line in text.splitlines():
        word = re.match(r"(c?f[ln])=(?:\((\d+)\))? ?(.*)", line)
        if word:
            key = (word.group(1)[-1], word.group(2))
            if word.group(3):
                names[key] = word.group(3)
            call.append((word.group(1), short(names.get(key, word.group(3)))))
        elif line:
            call.append(("", re.sub(r"^calls=", "calls ", line)))
        else:
            functions = [name for kind, name in call if kind in ("fn", "cfn")]
            if functions and all(own(name) for name in functions):
                found.append(" ".join(name for _, name in call))
            call = []
    return sorted(found)


def stacks(text):
    """Stacks with their values, and the list of leaks that follows."""
    found, stack = [], None
    for line in text.splitlines():
        start = re.match(r"(-?\d+) +\(([0-9a-f]+)\) (.*)", line)
        more = re.match(r" {9}\(([0-9a-f]+)\) (.*)", line)
        leak = re.match(r"Leak of (.*) allocated from:", line)
        frame = re.match(r"\t@ ([0-9a-f]+) (.*)", line)
        if start or leak:
            stack = [start.group(1) if start else "leak " + leak.group(1)]
            found.append(stack)
            if start and own(start.group(3).rsplit(":", 1)[-1]):
                stack.append(start.group(2).lstrip("0"))
        elif more and own(more.group(2).rsplit(":", 1)[-1]):
            stack.append(f"{more.group(1)} {more.group(2)}")
        elif frame and stack and (len(stack) == 1 or own(frame.group(2))):
            # The leaf has no name there.
            first = len(stack) == 1
            stack.append(frame.group(1).lstrip("0") + ("" if first else " " + frame.group(2)))
    return sorted(" | ".join(stack) for stack in found if len(stack) > 2)


def collapsed(text):
    found = {}
    for line in text.splitlines():
        names, value = line.rsplit(" ", 1)
        key = ";".join(short(name) for name in names.split(";") if own(short(name)))
        if key and all(own(short(name)) for name in names.split(";")[-1:]):
            found[key] = found.get(key, 0) + int(value)
    return sorted(f"{key} {value}" for key, value in found.items())


def raw(data):
    """Names, and the stacks of those that are all the program's below main."""
    head, _, body = data.partition(b"--- profile\n")
    names = {}
    for line in head.decode(errors="replace").splitlines():
        entry = re.match(r"0x([0-9a-f]+) (.*)", line)
        if entry:
            names[int(entry.group(1), 16)] = short(entry.group(2))
    words = [word for (word,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])]
    if words[:5] != [0, 3, 0, 1, 0]:
        return ["no header: %s" % words[:5]]
    found, at = [], 5
    while at < len(words):
        value, depth = words[at], words[at + 1]
        path = words[at + 2 : at + 2 + depth]
        at += 2 + depth
        mine = [f"{address:x} {names[address]}" for address in path if own(names.get(address, ""))]
        if mine and own(names.get(path[0], "")):
            found.append(f"{value} {depth} " + " ".join(mine))
    return sorted(found)


def disasm(text):
    """Without the names of targets, which are objdump's own."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r" *# [0-9a-f]+ <.*| <[^>]*>$", "", line)
        lines.append(line.rstrip())
    return lines


def cum(text):
    """Whole functions with what they stand for; what is inlined has other names there."""
    found = []
    for line in text.splitlines():
        row = re.match(r" *\S+ +\S+% +\S+% +(\S+) +(\S+%) (.*)", line)
        if row and own(row.group(3)) and not row.group(3).endswith("(inline)"):
            found.append(f"{row.group(3)} {row.group(1)} {row.group(2)}")
    return sorted(found)


def main():
    kind = sys.argv[1]
    data = sys.stdin.buffer.read()
    lines = raw(data) if kind == "raw" else globals()[kind](data.decode(errors="replace"))
    print("\n".join(lines))


main()
