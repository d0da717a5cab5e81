#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# python3 gives the same answers under the library, with its own allocator on top and with malloc
# for everything, with threads and child processes.
. "$(dirname "$0")/same.sh"
need python3
export PYTHONHASHSEED=1 PYTHONDONTWRITEBYTECODE=1

cat >"$place/work.py" <<'END'
import collections, hashlib, json, os, re, subprocess, sys, threading, zlib
data = [{"id": i, "name": "n%d" % i, "tags": ["t%d" % (i % k) for k in range(1, 8)]} for i in range(20000)]
text = json.dumps(data)
print(len(text), hashlib.sha256(text.encode()).hexdigest())
back = json.loads(text)
count = collections.Counter(t for d in back for t in d["tags"])
print(count.most_common(5), back == data)
print(hashlib.md5(zlib.compress(text.encode(), 6)).hexdigest(), len(re.findall(r"n\d+7", text)))
big = bytearray()
for i in range(300):
    big += bytes([i % 256]) * 20000
print(len(big), zlib.crc32(big), 3 ** 20000 % (10 ** 30))
results = {}
def work(k):
    s = {}
    for i in range(20000):
        s[str(i * k)] = [i] * (i % 5)
    results[k] = sum(len(v) for v in s.values())
threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results.items()))
pid = os.fork()
if pid == 0:
    work(3); os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(subprocess.run([sys.executable, "-c", "print(sum(range(100000)))"], capture_output=True).stdout)
class Node:
    def __init__(self, left, right): self.left, self.right, self.me = left, right, self
def tree(depth): return Node(tree(depth - 1), tree(depth - 1)) if depth else None
import gc
for i in range(5): tree(13)
print(gc.collect() >= 0, sys.getsizeof([0] * 1000))
END
plain() {
    python3 "$place/work.py"
}
all_malloc() {
    PYTHONMALLOC=malloc python3 "$place/work.py"
}

same "python3" plain
same "python3 with PYTHONMALLOC=malloc" all_malloc
finish
