# SPDX-License-Identifier: MIT
"""A dictionary of small lists and dictionaries: built, looked up in random order, half deleted."""
import random
import sys

count = int(sys.argv[1])
table = {"key%d" % i: [i, str(i * 7), {"value": i}] for i in range(count)}
keys = list(table)
random.Random(1).shuffle(keys)
total = 0
for _ in range(2):
    for key in keys:
        total += table[key][2]["value"]
for key in keys[:count // 2]:
    del table[key]
print(total, len(table))
