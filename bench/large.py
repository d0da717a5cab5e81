# SPDX-License-Identifier: MIT
"""Large profiles that no program here would make: many distinct stacks, and a long capture.

Written from docs/FORMATS.md and profile.proto's field numbers, byte by byte, with nothing of the
command's own code, so that a mistake there can't hide here.
"""
import gzip
import random
import struct
import zlib


def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def field(tag, payload):
    return number(tag << 3 | 2) + number(len(payload)) + payload


def integer(tag, value):
    return number(tag << 3) + number(value)


def write_pprof(path, stacks, mixed=False):
    """`stacks` samples, no two with the same stack, 26 frames deep, of 20,000 places. `mixed`: in
    no order, so that neighbours have little in common."""
    dice, places, depth = random.Random(2), 20000, 24
    texts = ["", "inuse_objects", "count", "inuse_space", "bytes", "/opt/server"]
    texts += ["function_%d" % i for i in range(places)]
    with gzip.open(path, "wb", compresslevel=1) as file:
        for name, unit in ((1, 2), (3, 4)):
            file.write(field(1, integer(1, name) + integer(2, unit)))
        file.write(field(3, integer(1, 1) + integer(2, 0x400000) + integer(3, 0x4000000) +
                         integer(5, 5)))
        for i in range(places):
            file.write(field(5, integer(1, i + 1) + integer(2, 6 + i)))
            file.write(field(4, integer(1, i + 1) + integer(2, 1) + integer(3, 0x400000 + 64 * i) +
                             field(4, integer(1, i + 1) + integer(2, 1 + i % 900))))
        trunk = [dice.randrange(1, places) for _ in range(depth)]
        samples = []
        for i in range(stacks):
            if i % 16 == 0:
                keep = dice.randrange(1, depth)
                trunk = trunk[:keep] + [dice.randrange(1, places) for _ in range(depth - keep)]
            leaf = [1 + i % places, 1 + i // places % places]
            frames = b"".join(number(f) for f in leaf + trunk[::-1])
            values = number(1 + i % 7) + number(64 * (1 + i % 1000))
            sample = field(2, field(1, frames) + field(2, values))
            if mixed:
                samples.append(sample)
            else:
                file.write(sample)
        dice.shuffle(samples)
        file.write(b"".join(samples))
        for text in texts:
            file.write(field(6, text.encode()))


def record(kind, payload):
    return struct.pack("<III", kind, len(payload), crc(kind, payload)) + payload


def crc(kind, payload):
    return zlib.crc32(payload, zlib.crc32(struct.pack("<II", kind, len(payload))))


def text(value):
    return number(len(value)) + value


def capture_rows(nodes):
    """The rows of a snapshot; all snapshots have the same."""
    records, stack = [], 0
    for _ in range(50):
        payload, before = bytearray(), 0
        for _ in range(2000):
            stack = 2 + (stack + 3) % (nodes - 2)
            objects = 1 + stack * 7 % 500
            total = number(objects) + number(objects * 60) + number(objects * 64)
            payload += (signed(stack - before) + number(1) + number(64) + number(0) + number(1) +
                        total + total)
            before = stack
        records.append(record(7, bytes(payload)))
    return b"".join(records) + record(8, number(50 * 2000))


def write_capture(path, size):
    """A run with 100,000 stacks, and snapshots of it until the file has `size` bytes."""
    dice, nodes, start = random.Random(3), 300000, 1000
    with open(path, "wb") as file:
        file.write(b"\x89memoir\n" + struct.pack("<HHI", 1, 62, 0))
        file.write(record(1, number(4242) + number(4096) + signed(0) + number(start) +
                          number(10**18) + text(b"host") + text(b"0.1.0") + text(b"/opt/server") +
                          text(b"/opt/server\0")))
        file.write(record(2, number(1) + number(0x400000) + number(0x4000000) + number(5) +
                          number(0) + number(0) + number(7) + text(b"/opt/server") + text(b"")))
        node = 2
        while node < nodes:
            payload, before = bytearray(number(node)), 0
            for _ in range(4000):
                caller = 0 if node < 200 else dice.randrange(max(2, node - 5000), node)
                pc = 0x400000 + dice.randrange(0x3000000)
                payload += number(node - caller) + signed(pc - before)
                before, node = pc, node + 1
            file.write(record(3, bytes(payload)))
        rows = capture_rows(nodes)
        count = 0
        while file.tell() < size:
            file.write(record(6, number(count) + number(start + 1000 * count) +
                              number(10**18 + 10**9 * count) + signed(0) + text(b"")))
            file.write(rows)
            count += 1
        file.write(record(12, number(start + 1000 * count)))
