# SPDX-License-Identifier: MIT
# helper: the counters in a capture against what the program knew.
#   totals_are_exact.py CAPTURE SLACK OTHERS CALLS BYTES BLOCKS LIVE PEAK
# Allocated and live are equal at the end, but for OTHERS small blocks that libc allocated; no
# snapshot is above the peak; the peak is that of the program, give or take SLACK bytes.
import struct
import sys


def number(bytes, at):
    value = shift = 0
    while True:
        byte = bytes[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def classes(path):
    """One list of sums for each snapshot: allocated, live and peak; blocks and bytes."""
    data, at, found = open(path, "rb").read(), 16, []
    while at + 12 <= len(data):
        kind, length, _ = struct.unpack_from("<III", data, at)
        payload = data[at + 12 : at + 12 + length]
        at += 12 + length
        if kind == 6:
            found.append([0] * 6)
        if kind == 13:
            here = 0
            while here < len(payload):
                entry = []
                for _ in range(7):
                    value, here = number(payload, here)
                    entry.append(value)
                found[-1] = [a + b for a, b in zip(found[-1], entry[1:])]
    return found


def main():
    path, slack, others = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    calls, bytes, blocks, live, peak = (int(word) for word in sys.argv[4:9])
    found = classes(path)
    last = found[-1]
    wrong = []
    same = last[0] == calls + others and last[2] == blocks + others
    if not same or any(not 0 <= more <= others * 1024 for more in (last[1] - bytes, last[3] - live)):
        wrong.append(f"counted {last[:4]}, the program knows {[calls, bytes, blocks, live]}")
    for snapshot in found:
        if snapshot[5] < snapshot[3] or last[5] < snapshot[3]:
            wrong.append(f"live {snapshot[3]} above the peak {snapshot[5]}, {last[5]} at the end")
    if peak and abs(last[5] - peak) > slack:
        wrong.append(f"peak {last[5]}, the program knows {peak}")
    if wrong:
        print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
