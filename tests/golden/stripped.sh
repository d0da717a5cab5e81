#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# Functions of a stripped library are told apart by its unwind tables: all addresses of one are one
# row, by the place where it begins, against the symbol table that was taken away. An exported name
# stands for what follows it closely, and for nothing else. x86-64 and aarch64.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 readelf strip
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

python3 - >work.c <<'PY'
print("int printf(const char *, ...);")
for number in range(40):
    static = "" if number in (0, 20, 30) else "static "
    print(f"{static}__attribute__((noinline, used)) int work{number:02}(int a)")
    print("{ printf(\"%d\", a * " + str(number + 3) + "); return printf(\"%d\", a) + a; }")
PY
cat >check.py <<'PY'
"""LIBRARY SYMBOLS: every address of every function, through the tool."""
import json, os, re, subprocess, sys

library, symbols = os.path.abspath(sys.argv[1]), sys.argv[2]
BIAS, CALLERS = 0x555555000000, 0x10000000
flags = sys.argv[3:]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


functions = []
for line in run("readelf", "-sW", symbols).split("\n"):
    part = line.split()
    if len(part) >= 8 and part[3] == "FUNC" and part[7].startswith("work") and int(part[2], 0) > 0:
        functions.append((int(part[1], 16), int(part[2], 0), part[7], part[4] == "GLOBAL"))
functions = sorted(set(functions))
assert len(functions) == 40
with open("x.heap", "w") as file:
    file.write("heap profile: 1: 1 [1: 1] @ heapprofile\n")
    for start, size, name, _ in functions:
        # Not the last byte: what follows a `ret` is no return address, but the next function.
        for address in range(start, start + size - 1, 4):
            file.write("1: 1 [1: 1] @ %#x %#x\n" % (address + BIAS + 1, CALLERS + address))
    file.write("\nMAPPED_LIBRARIES:\n")
    for line in run("readelf", "-lW", library).split("\n"):
        part = line.split()
        if part[:1] == ["LOAD"] and "E" in "".join(part[6:-1]):
            offset, first, length = int(part[1], 16), int(part[2], 16), int(part[5], 16)
            file.write("%x-%x r-xp %08x 00:00 1 %s\n" % ((first & ~4095) + BIAS,
                       ((first + length + 4095) & ~4095) + BIAS, offset & ~4095, library))
            moved = first - offset
tool = os.environ["MEMOIR_TOOL"]
said = json.loads(run(tool, "traces", "x.heap", "--json", "--frames", "all", "-v", "--rows", "0", *flags))
rows = {}
for stack in said["stacks"]:
    leaf = stack["frames"][0]
    address = int(re.search("[0-9a-f]+$", stack["frames"][-1]["name"])[0], 16) + 1 - CALLERS
    number = max(i for i, function in enumerate(functions) if function[0] <= address)
    rows.setdefault(number, set()).add((leaf["name"], leaf.get("guess", False), leaf.get("unnamed", False)))
wrong = 0
for number, (start, size, name, exported) in enumerate(functions):
    found = rows[number]
    last = max((i for i in range(number + 1) if functions[i][3]), default=None)
    near = last is not None and number - last <= 2
    if exported:
        right = {(name, False, False)}
    elif near:
        right = {("~%s+%#x" % (functions[last][2], start - functions[last][0]), True, False)}
    else:
        right = {("%s+%#x" % (os.path.basename(library), start - moved), False, True)}
    if found != right:
        wrong += 1
        print("%s at %#x: %s, not %s" % (name, start, sorted(found)[:4], right))
# The exact addresses are there for whom wants them.
lines = json.loads(run(tool, "traces", "x.heap", "--json", "--frames", "all", "--by", "line", "-v", "--rows", "0"))
names = {stack["frames"][0]["name"] for stack in lines["stacks"]}
if len(names) < 3 * len(functions):
    wrong += 1
    print("--by line: %d places" % len(names))
# One frame a function for other tools as well.
folded = {line.split(" ")[0].split(";")[-1] for line in run(tool, "export", "x.heap", "--format", "folded", "-o", "-").split("\n") if line}
if len(folded) != len(functions):
    wrong += 1
    print("folded: %d functions, not %d" % (len(folded), len(functions)))
sys.exit(wrong > 0)
PY
try() { # NAME COMPILER STRIP
    name=$1 compiler=$2 stripper=$3
    command -v "$compiler" >/dev/null && command -v "$stripper" >/dev/null || {
        echo "not here: $compiler"
        return
    }
    "$compiler" -O1 -fPIC -shared -nostdlib work.c -o "$name.full" 2>err || fail "$compiler: $(cat err)"
    "$stripper" "$name.full" -o "$name.so"
    MEMOIR_TOOL="$MEMOIR_TOOL" python3 check.py "$name.so" "$name.full" || fail "$name: see above"
    # What was kept on the disk says the same.
    MEMOIR_TOOL="$MEMOIR_TOOL" python3 check.py "$name.so" "$name.full" || fail "$name: see above, kept"
}
try x86 "$CC" strip
try arm aarch64-linux-gnu-gcc aarch64-linux-gnu-strip
# The control: without its tables nothing tells the functions apart.
if command -v objcopy >/dev/null; then
    objcopy --remove-section .eh_frame_hdr x86.so bare.so
    ! MEMOIR_TOOL="$MEMOIR_TOOL" python3 check.py bare.so x86.full >/dev/null 2>&1 ||
        fail "control: it makes no difference"
fi
finish
