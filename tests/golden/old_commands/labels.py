#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles for Go's pprof with all that its reports look at:  labels.py NAME...

Writes NAME.pb.gz for each name: `labels` has labels with text and numbers, inlined functions, two
mappings, comments, times and four columns; `later` is of the same program some time on; `other` has
other values; `empty` has no samples; `cpu` is a CPU profile; `columns` has
columns of lines and frames that are not to be shown; `bare` has no mappings;
`early`, `late` and `never` differ in times and comments.
"""
import gzip
import sys


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return block(field, b"".join(varint(value) for value in values))


class Profile:
    def __init__(self, types):
        self.texts = {"": 0}
        self.body = b""
        self.functions = {}
        self.locations = 0
        for kind, unit in types:
            self.body += block(1, number(1, self.text(kind)) + number(2, self.text(unit)))

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def mapping(self, index, start, limit, path, build):
        self.body += block(3, number(1, index) + number(2, start) + number(3, limit)
                           + number(5, self.text(path)) + number(6, self.text(build))
                           + number(7, 1) + number(8, 1) + number(9, 1) + number(10, 1))

    def function(self, name, system, path, line):
        key = (name, path)
        if key not in self.functions:
            self.functions[key] = len(self.functions) + 1
            self.body += block(5, number(1, self.functions[key]) + number(2, self.text(name))
                               + number(3, self.text(system)) + number(4, self.text(path))
                               + number(5, line))
        return self.functions[key]

    def location(self, address, mapping, lines):
        """lines: (name, file, line, first line[, column]), the innermost first."""
        self.locations += 1
        data = number(1, self.locations) + number(2, mapping) + number(3, address)
        for name, path, line, start, *columns in lines:
            column = columns[0] if columns else 0
            data += block(4, number(1, self.function(name, name, path, start)) + number(2, line)
                          + number(3, column))
        self.body += block(4, data)
        return self.locations

    def sample(self, path, values, texts=(), numbers=()):
        data = packed(1, path) + packed(2, values)
        for key, text in texts:
            data += block(3, number(1, self.text(key)) + number(2, self.text(text)))
        for key, value, unit in numbers:
            data += block(3, number(1, self.text(key)) + number(3, value)
                          + (number(4, self.text(unit)) if unit else b""))
        self.body += block(2, data)

    def write(self, name):
        texts = b"".join(block(6, text.encode()) for text in self.texts)
        with gzip.GzipFile(name + ".pb.gz", "wb", mtime=0) as file:
            file.write(self.body + texts)


def places(profile):
    profile.mapping(1, 0x400000, 0x500000, "/srv/bin/server", "0123456789abcdef")
    profile.mapping(2, 0x7F0000000000, 0x7F0000100000, "/usr/lib/libstore.so.1", "fedcba98")
    spots = {
        "main": (0x401000, 1, [("main", "src/main.cc", 30, 10)]),
        "loop": (0x402000, 1, [("server::Loop::run", "src/loop.cc", 55, 40),
                               ]),
        "loop2": (0x402010, 1, [("server::Loop::run", "src/loop.cc", 57, 40)]),
        "handle": (0x403000, 1, [("parse<int>", "src/parse.h", 12, 8),
                                 ("server::handle", "src/handle.cc", 21, 20)]),
        "handle2": (0x403040, 1, [("server::handle", "src/handle.cc", 25, 20)]),
        "put": (0x7F0000001000, 2, [("store::Map::put", "/build/store/map.cc", 101, 90)]),
        "put2": (0x7F0000001080, 2, [("store::Map::grow", "/build/store/map.cc", 140, 130),
                                     ("store::Map::put", "/build/store/map.cc", 103, 90)]),
        "alloc": (0x7F0000002000, 2, [("store::(anonymous namespace)::take", "/build/store/a.cc", 7, 5)]),
        "go": (0x404000, 1, [("main.(*Pool).Get[...]", "pool.go", 9, 3)]),
        "lost": (0x7F0000003000, 2, []),
    }
    return {key: profile.location(*spot) for key, spot in spots.items()}


def heap(name, factor):
    profile = Profile([("alloc_objects", "count"), ("alloc_space", "bytes"),
                       ("inuse_objects", "count"), ("inuse_space", "bytes")])
    at = places(profile)
    rows = [
        (["alloc", "put", "handle", "loop", "main"], 40, 1024, "main", "get", 12),
        (["alloc", "put", "handle", "loop", "main"], 30, 1024, "worker", "get", 30),
        (["alloc", "put2", "handle2", "loop", "main"], 7, 65536, "worker", "put", 450),
        (["put2", "handle", "loop2", "main"], 3, 131072, "worker", "put", 5),
        (["put", "handle2", "loop2", "main"], 900, 48, "main", "list", 1),
        (["go", "loop", "main"], 11, 4096, "main", None, None),
        (["lost", "put", "handle", "loop", "main"], 5, 512, "worker", "get", 2),
        (["handle", "handle2", "handle", "loop", "main"], 2, 100000, "idle", None, 7000),
        (["loop", "main"], 1, 200, None, None, None),
    ]
    for index, (path, count, size, thread, request, wait) in enumerate(rows):
        count = count * factor + index * (factor - 1)
        live = count - count // 3
        texts = [(key, text) for key, text in (("thread", thread), ("request", request)) if text]
        numbers = [("bytes", size, "")]
        if wait:
            numbers.append(("wait", wait, "milliseconds"))
        profile.sample([at[key] for key in path], [count, count * size, live, live * size],
                       texts, numbers)
    profile.body += number(9, 1700000000 * 10**9 + factor) + number(10, 90 * 10**9)
    profile.body += block(11, number(1, profile.text("space")) + number(2, profile.text("bytes")))
    profile.body += number(12, 524288)
    for comment in ("written for a test", "#not shown above the report"):
        profile.body += packed(13, [profile.text(comment)])
    profile.body += number(14, profile.text("inuse_space"))
    profile.write(name)


def cpu(name):
    profile = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    at = places(profile)
    for count, path in ((300, ["alloc", "put", "handle", "loop", "main"]), (25, ["loop", "main"]),
                        (2, ["handle2", "loop2", "main"]), (1200, ["put2", "handle", "loop", "main"])):
        profile.sample([at[key] for key in path], [count, count * 10**7])
    profile.body += number(10, 20 * 10**9)
    profile.body += block(11, number(1, profile.text("cpu")) + number(2, profile.text("nanoseconds")))
    profile.body += number(12, 10**7)
    profile.write(name)


def columns(name):
    """Two calls in one line, and frames that the file itself wants to see dropped."""
    profile = Profile([("objects", "count"), ("space", "bytes")])
    profile.mapping(1, 0x400000, 0x500000, "/srv/bin/server", "")
    spots = [(0x401000, [("main", "src/main.cc", 30, 10, 5)]),
             (0x402000, [("fill", "src/fill.cc", 7, 3, 9), ("both", "src/fill.cc", 15, 12, 2)]),
             (0x402010, [("both", "src/fill.cc", 15, 12, 31)]),
             (0x403000, [("take_pages", "src/take.cc", 99, 90, 1)]),
             (0x403010, [("take", "src/take.cc", 20, 18)])]
    main, fill, both, pages, take = [profile.location(at, 1, lines) for at, lines in spots]
    for path, values in (([pages, take, fill, main], [3, 3000]), ([take, both, main], [5, 700]),
                         ([pages, both, main], [1, 20]), ([both, main], [2, 50])):
        profile.sample(path, values)
    profile.body += number(7, profile.text("take|take_.*")) + number(8, profile.text("take"))
    profile.write(name)


def bare(name):
    """Without mappings."""
    profile = Profile([("samples", "count")])
    named = profile.location(0x401000, 0, [("main", "m.c", 3, 1)])
    profile.sample([profile.location(0x402000, 0, []), named], [5])
    profile.write(name)


def timed(name, seconds, comments):
    profile = Profile([("samples", "count")])
    profile.mapping(1, 0x400000, 0x500000, "/srv/bin/server", "")
    profile.sample([profile.location(0x401000, 1, [("main", "m.c", 3, 1)])], [5])
    profile.body += number(9, seconds * 10**9) + number(10, seconds * 10**6)
    for comment in comments:
        profile.body += packed(13, [profile.text(comment)])
    profile.write(name)


def main():
    for name in sys.argv[1:]:
        if name in ("labels", "later"):
            heap(name, 1 if name == "labels" else 3)
        elif name in ("cpu", "columns", "bare"):
            globals()[name](name)
        elif name in ("early", "late", "never"):
            timed(name, {"early": 4000, "late": 5000, "never": 0}[name],
                  {"early": ["two", "three"], "late": ["one", "two"], "never": []}[name])
        else:
            profile = Profile([("things", "count")] if name == "other" else
                              [("inuse_objects", "count"), ("inuse_space", "bytes")])
            at = places(profile)
            if name == "other":
                profile.sample([at["loop"], at["main"]], [5])
            profile.write(name)


main()
