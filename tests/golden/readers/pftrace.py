# SPDX-License-Identifier: MIT
"""helper: opens a trace in Perfetto's own format by the public definitions of its messages, as
trace_processor does: numbers of heap profiles count up from 0, sums never shrink, whatever is meant
by a number was said before, times are those of a clock that was compared with others, no two frames
have the same name and place in a file, no file ends before it starts. And as the flame graph does:
what is live but has no object is not there.

    pftrace.py FILE     a line for each heap profile: its time in ns since the first clock, live bytes,
                        live objects, all bytes, the function at whose leaf most is live, its bytes
                        then: counter NAME POINTS LAST
                        then: file PATH BUILD-ID
                        then: heap NAME DATE
                        then: moment NAME
"""
import sys


def fields(data):
    """(number, value) of a message, in order; a value is a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, "a wire type that no field here has: %d" % (key & 7)
            length = varint()
            assert at + length <= len(data), "a message ends beyond its end"
            yield key >> 3, data[at:at + length]
            at += length


def message(data, repeated=()):
    made = {number: [] for number in repeated}
    for number, value in fields(data):
        if number in repeated:
            made[number].append(value)
        else:
            assert number not in made, "field %d twice" % number
            made[number] = value
    return made


FUNCTIONS, FRAMES, STACKS, BUILD_IDS, PATHS, SOURCES, MAPPINGS = 5, 6, 7, 16, 17, 18, 19
known = {table: {} for table in (FUNCTIONS, FRAMES, STACKS, BUILD_IDS, PATHS, SOURCES, MAPPINGS)}
clocks, tracks, points, sums, pending = {}, {}, {}, {}, []
places, heaps, moments = set(), set(), []
index = 0


def intern(data):
    for table, entry in fields(data):
        repeated = {STACKS: (2,), MAPPINGS: (7,)}.get(table, ())
        entry = message(entry, repeated)
        assert entry[1] > 0 and entry[1] not in known[table], "a number is given twice"
        known[table][entry[1]] = entry
        if table in (FUNCTIONS, PATHS, SOURCES):
            entry[2].decode()
        elif table == FRAMES:
            assert entry[2] in known[FUNCTIONS] and entry[3] in known[MAPPINGS] and entry[4] > 0
            place = (file_of(known[MAPPINGS][entry[3]]), entry[4], known[FUNCTIONS][entry[2]][2])
            assert place not in places, "two frames are the same: %s" % (place,)
            places.add(place)
            assert 5 not in entry or entry[5] in known[SOURCES]
        elif table == STACKS:
            assert entry[2] and all(frame in known[FRAMES] for frame in entry[2])
        elif table == MAPPINGS:
            assert all(path in known[PATHS] for path in entry[7]) and entry[2] in known[BUILD_IDS]
            assert entry.get(4, 0) <= entry.get(5, 0), "a file ends before it starts"


def file_of(mapping):
    return (known[PATHS][mapping[7][0]][2].decode(), known[BUILD_IDS][mapping[2]].get(2, b"").hex(),
            *(mapping.get(field, 0) for field in (4, 5, 8)))


def dump(samples, time):
    live, objects, leaves = 0, 0, {}
    for sample in samples:
        new = [sample.get(field, 0) for field in (2, 3, 5, 6)]
        old = sums.get(sample[1], [0, 0, 0, 0])
        assert all(a >= b for a, b in zip(new, old)), "a sum shrinks: %s to %s" % (old, new)
        assert new[0] >= new[1] and new[2] >= new[3], "more is freed than was allocated"
        sums[sample[1]] = new
    for stack, (allocated, freed, count, gone) in sums.items():
        leaf = known[FRAMES][known[STACKS][stack][2][-1]]
        name = known[FUNCTIONS][leaf[2]][2].decode()
        leaves[name] = leaves.get(name, 0) + (allocated - freed if count > gone else 0)
        if count > gone:
            live += allocated - freed
        objects += count - gone
    best = max(leaves, key=lambda name: leaves[name]) if leaves else "-"
    total = sum(numbers[0] for numbers in sums.values())
    print(time - clocks[6], live, objects, total, best, leaves.get(best, 0))


for number, packet in fields(open(sys.argv[1], "rb").read()):
    assert number == 1
    packet = message(packet)
    assert packet[10] == 1
    if 6 in packet:
        for clock in message(packet[6], (1,))[1]:
            clock = message(clock)
            clocks[clock[1]] = clock[2]
        assert packet[13] & 1
    elif 12 in packet:
        intern(packet[12])
    elif 60 in packet:
        track = message(packet[60])
        assert track[1] not in tracks
        tracks[track[1]] = track
        assert track[1] == 1 and message(track[3])[1] > 0 or track[5] in tracks
    elif 11 in packet:
        event = message(packet[11])
        if event[9] == 3:
            moments.append(event[23].decode())
            assert 8 not in tracks[event[11]]
            continue
        assert event[9] == 4 and 8 in tracks[event[11]]
        points.setdefault(event[11], []).append((packet[8], event[30]))
    elif 37 in packet:
        profile = message(packet[37], (5,))
        assert profile.get(7, 0) == index, "heap profile %d is missing" % index
        index += 1
        for process in profile[5]:
            process = message(process, (2,))
            pending += [message(sample) for sample in process[2]]
            assert process[1] > 0 and 4 in clocks and process[12] > 0
            heaps.add(process[11].decode())
        if not profile.get(6):
            dump(pending, process[9] - clocks[4] + clocks[6])
            pending = []
assert not pending
for track, values in points.items():
    assert [time for time, _ in values] == sorted(time for time, _ in values)
    print("counter", tracks[track][2].decode(), len(values), values[-1][1])
for mapping in known[MAPPINGS].values():
    print("file", *file_of(mapping)[:2])
print("heap", *heaps, clocks[1] // 10**9)
for moment in moments:
    print("moment", moment)
