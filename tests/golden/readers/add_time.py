# SPDX-License-Identifier: MIT
"""IN OUT: a capture of the heap with samples of a clock in its last snapshot, at the stacks that it
has: 100 of 10 ms at the first, 50 at the second, 33 at the third, ... The stacks and the total are
printed. docs/FORMATS.md describes the records."""
import struct, sys, zlib


def varint(number):
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if number == 0:
            return out


def signed(number):
    return varint(2 * number if number >= 0 else -2 * number - 1)


def text(words):
    return varint(len(words)) + words.encode()


def record(kind, payload):
    head = struct.pack("<II", kind, len(payload))
    return head + struct.pack("<I", zlib.crc32(head + payload)) + payload


class Payload:
    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def more(self):
        return self.at < len(self.payload)

    def number(self):
        value = shift = 0
        while True:
            byte = self.payload[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        length = self.number()
        self.at += length
        return self.payload[self.at - length : self.at].decode()


data = open(sys.argv[1], "rb").read()
records, at = [], 16
while at < len(data):
    kind, length, _ = struct.unpack_from("<III", data, at)
    records.append((kind, data[at + 12 : at + 12 + length]))
    at += 12 + length
threads, callers, nodes = {}, set(), 2
for kind, payload in records:
    payload = Payload(payload)
    if kind == 4:
        while payload.more():
            fields = [payload.number() for _ in range(5)]
            threads[fields[2]] = payload.text()
    elif kind == 3:
        payload.number()
        while payload.more():
            callers.add(nodes - payload.number())
            payload.number()
            nodes += 1
leaves = [node for node in range(2, nodes) if node not in callers][:20]
whole = max(i for i, one in enumerate(records) if one[0] == 8)
rows, before, samples = b"", 0, 0
for place, leaf in enumerate(leaves):
    count = 100 // (place + 1)
    rows += signed(leaf - before) + varint(place % len(threads) + 1) + varint(count) + varint(count * 10**7)
    before = leaf
    samples += count
time = samples * 10**7
numbers = [1000, 5 * 10**9, samples, time, 0, 0, 0, time, 0]
added = record(14, varint(1) + varint(100) + varint(0) + text("thread timers") + b"".join(map(varint, numbers)))
added += record(
    15,
    b"".join(
        b"".join(map(varint, [number, tid, 1, 1000, 6000, 0, 0, 0])) + text(name)
        for number, (tid, name) in enumerate(threads.items())
    ),
)
added += record(16, rows)
with open(sys.argv[2], "wb") as out:
    out.write(data[:16])
    for i, one in enumerate(records):
        out.write((added if i == whole else b"") + record(*one))
print(len(leaves), time)
