#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# The answers about profiles of time, to the letter: seconds and samples, functions as rows, error
# bars of counted samples, limits on time, and a refusal where memory is asked for. cpu.txt has the
# commands (behind "$ ") and what they answer; cpu.sh --write writes it anew. Then, on a program that is
# compiled here: a sample belongs to the instruction that was interrupted, and to its line; and a
# recording of memory and time has both in one table.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 objdump
settle
export TERM=dumb
expected=$root/tests/golden/cpu.txt

cat >make.py <<'PY'
"""Two runs of a program with two threads, as perf script prints them: 400 samples of 2.5 ms each."""
import sys

def put(file, times, thread, tid, *stack):
    for _ in range(times):
        put.time += 0.0025
        print("%s %d  %.6f:    2500000 cpu-clock: " % (thread, tid, put.time), file=file)
        for depth, name in enumerate(stack):
            print("\t%16x %s+0x4 (/opt/%s)" % (0x1000 * sum(map(ord, name)) + depth, name,
                                              "libm.so.6" if name == "exp" else "server"), file=file)
        print(file=file)

for path, more in ("a.txt", 0), ("b.txt", 60):
    with open(path, "w") as file:
        put.time = 100.0
        put(file, 200, "server", 41, "parse", "request", "main")
        put(file, 60 + more, "server", 41, "walk", "walk", "walk", "request", "main")
        put(file, 100, "render", 42, "exp", "shade", "thread")
        put(file, 30, "render", 42, "shade", "thread")
        put(file, 10, "server", 41, "main")
PY
python3 make.py
printf '^request$ 1s cpu\nshade 200ms cpu\nexp 260ms cpu\n' >budget
printf 'exp 2M cpu\n' >broken

memoir() {
    "$MEMOIR_TOOL" "$@"
}
while IFS= read -r line; do
    case $line in
    '$ '*) ;;
    *) continue ;;
    esac
    printf '%s\n' "$line"
    status=0
    (eval "${line#??}") >out 2>err || status=$?
    cat out
    sed 's/^/! /' err
    [ "$status" -eq 0 ] || echo "= $status"
done <"$expected" >answer
if [ "${1-}" = --write ]; then
    cp answer "$expected"
    exit 0
fi
diff -u "$expected" answer || fail "the answers have changed"

cat >spin.c <<'C'
__attribute__((noinline)) long spin(long many)
{
    long sum = 0;
    for (long i = 0; i < many; i++)
        sum += sum * 3 ^ i;
    return sum;
}
int main(int argc, char **argv)
{
    return spin(argc) == 7;
}
C
build spin.c -o spin
cat >place.py <<'PY'
"""A gperftools file with 7 samples at one instruction of spin, called by main."""
import json, os, re, struct, subprocess, sys

program, tool = os.path.abspath("spin"), os.environ["MEMOIR_TOOL"]
BIAS = 0x555555000000
code = {}
name = None
for line in subprocess.run(["objdump", "-d", program], capture_output=True, text=True).stdout.split("\n"):
    head = re.match(r"[0-9a-f]+ <(\w+)>:", line)
    name = head[1] if head else name
    row = re.match(r"\s*([0-9a-f]+):\t[0-9a-f ]+\t(\S+)\s*(.*)", line)
    if row:
        code.setdefault(name, []).append((int(row[1], 16), row[2], row[3]))
spin = [address for address, _, _ in code["spin"]]
calls = [i for i, row in enumerate(code["main"]) if row[1] in ("call", "callq", "bl") and "<spin>" in row[2]]
back = code["main"][calls[0] + 1][0]
leaf = spin[len(spin) // 2]
words = [0, 3, 0, 10000, 0, 7, 2, leaf + BIAS, back + BIAS, 0, 1, 0]
size = 1 << 20
with open("spin.prof", "wb") as file:
    file.write(struct.pack("<%dQ" % len(words), *words))
    file.write(b"%x-%x r-xp 00000000 00:00 1 %s\n" % (BIAS, BIAS + size, program.encode()))

def ask(*words):
    out = subprocess.run([tool, *words], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout

lines = [line for line in ask("disasm", "spin.prof", "^spin$", "-v").split("\n") if "70.0 ms" in line]
assert len(lines) == 2, lines
where = [line.split() for line in lines if line.startswith(" ")]
assert where[0][:4] == ["70.0", "ms", "70.0", "ms"] and int(where[0][4].rstrip(":"), 16) == leaf, (lines, hex(leaf))
main = [line for line in ask("disasm", "spin.prof", "^main$", "-v").split("\n") if "70.0 ms" in line]
assert any(line.split()[0] == "." and "spin" in line for line in main), main
top = json.loads(ask("top", "spin.prof", "--json"))
rows = {row["name"]: row for row in top["rows"]}
assert rows["spin"]["self"] == 70000000 and rows["spin"]["self_objects"] == 7
assert rows["main"]["self"] == 0 and rows["main"]["total"] == 70000000
assert top["by"] == "function" and top["metric"] == {"name": "cpu", "unit": "nanoseconds"}
assert 0 < rows["spin"]["self_error"] < 0.5, rows["spin"]  # it is all of the time
listed = ask("list", "spin.prof", "^spin$")
assert re.search(r"70\.0 ms +70\.0 ms +\d+ ", listed), listed
PY
python3 place.py || fail "samples are not at their instruction"

cat >both.c <<'C'
#include <pthread.h>
#include <stdlib.h>
void *kept[64];
__attribute__((noinline)) void store(int many)
{
    for (int i = 0; i < many; i++)
        kept[i % 64] = malloc(1000);
}
void *worker(void *argument)
{
    store(10);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    store(20);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}
C
build both.c -o both
memoir run --exact -o heap.memoir ./both 2>err || fail "run: $(cat err)"
python3 "$root/tests/golden/readers/add_time.py" heap.memoir both.memoir >told || fail "no time was added"
cat >both.py <<'PY'
import json, os, subprocess, sys

leaves, time = map(int, open("told").read().split())
tool = os.environ["MEMOIR_TOOL"]

def ask(*words):
    out = subprocess.run([tool, *words], capture_output=True, text=True)
    assert out.returncode == 0, (words, out.stderr)
    return json.loads(out.stdout) if "--json" in words else out.stdout

before, heap = (ask("top", file, "--json", "--metric", "alloc") for file in ("heap.memoir", "both.memoir"))
assert before["total"] == heap["total"] and len(before["rows"]) <= len(heap["rows"])
assert heap["metric"]["name"] == "alloc_space" and heap["by"] == "site"
store = [row for row in heap["rows"] if row["name"] == "store" and row["self"] > 0]
assert store and all(row["cpu"] > 0 for row in store), store
assert sum(row["cpu"] for row in heap["rows"]) == time, (heap["rows"], time)
assert "cpu" not in before["rows"][0]
cpu = ask("top", "both.memoir", "--json", "--metric", "cpu")
assert cpu["total"] == time and cpu["by"] == "function" and cpu["metric"]["unit"] == "nanoseconds"
assert sum(row["self"] for row in cpu["rows"]) == time
rows = {row["name"]: row for row in cpu["rows"]}
assert rows["store"]["alloc_space"] == sum(row["self"] for row in store), rows["store"]
threads = ask("threads", "both.memoir", "--json")["threads"]
assert sum(row["cpu"] for row in threads) == time
assert sum(1 for row in threads if row["cpu"] > 0 and row["alloc_space"] > 0) == 2, threads
text = ask("top", "both.memoir")
assert text.split("\n")[1].split()[:3] == ["self", "total", "cpu"], text
page = ask("report", "both.memoir", "--json")["lists"]
assert page["cpu"]["total"] == time and page["allocated"]["total"] == heap["total"]
flame = ask("export", "both.memoir", "--metric", "cpu", "-o", "-", "--format", "folded")
assert sum(int(line.split()[-1]) for line in flame.strip().split("\n")) == time
ask("report", "both.memoir", "-o", "both.html")
assert '"key":"cpu"' in open("both.html").read()
PY
python3 both.py || fail "memory and time do not go together"
finish
