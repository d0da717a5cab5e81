# SPDX-License-Identifier: MIT
"""A python program with fixed work: objects, dicts, strings, json; prints a checksum.

Run with PYTHONMALLOC=malloc, so that every object is a block of the allocator under test and not
a cell of python's own pools. No hash order, time or address enters the checksum.
"""
import json
import random
import sys
import zlib


class Item:
    def __init__(self, number, name, tags):
        self.number = number
        self.name = name
        self.tags = tags
        self.links = []

    def to_dict(self):
        return {
            "number": self.number,
            "name": self.name,
            "tags": self.tags,
            "links": [link.number for link in self.links],
            "price": self.number * 1.25,
        }


def make_items(rng, count):
    words = ["%s%d" % (chr(97 + i % 26) * (1 + i % 7), i) for i in range(400)]
    items = []
    for number in range(count):
        name = " ".join(rng.choice(words) for _ in range(3))
        items.append(Item(number, name, rng.sample(words, 4)))
    for item in items:
        item.links = rng.sample(items, 3)
    return items


def count_words(items):
    counts = {}
    for item in items:
        for word in item.name.split() + item.tags:
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items())


def rewrite(text):
    parts = text.split(",")
    return ",".join(part.strip().upper()[::-1] for part in parts if part)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rng = random.Random(7)
    check = 0
    kept = []
    for _ in range(rounds):
        items = make_items(rng, 6000)
        text = json.dumps([item.to_dict() for item in items])
        back = json.loads(text)
        index = {entry["name"]: entry for entry in back}
        words = count_words(items)
        text = rewrite(text)
        check = zlib.crc32(text.encode(), check)
        check = zlib.crc32(repr((len(index), words[:50])).encode(), check)
        kept.append([entry for entry in back if entry["number"] % 10 == 0])
        kept = kept[-3:]
    print("documents %08x" % check)


main()
