#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# `memoir disasm` names what is called and jumped to as objdump does, on x86-64 and aarch64; has the
# numbers of a base beside its own; and shows functions of stripped libraries, by their place.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 objdump readelf strip
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >work.c <<'C'
#include <stdlib.h>
#include <string.h>
void *kept[64];
static __attribute__((noinline)) void *helper(int number) { return malloc(100 + (size_t)number); }
__attribute__((noinline)) int choose(int number)
{
    switch (number & 3) {
    case 0: kept[0] = helper(number); return 1;
    case 1: free(kept[1]); kept[1] = strdup("text"); return number > 4 ? 2 : 3;
    default: break;
    }
    for (int i = 0; i < number; i++)
        if (kept[i & 63] && !kept[(i + 1) & 63])
            kept[i & 63] = helper(i);
    return 0;
}
int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < argc * 8; i++)
        sum += choose(i);
    return sum == 0;
}
C
cat >check.py <<'PY'
"""PROGRAM OBJDUMP: the targets of calls and jumps, ours and objdump's."""
import json, os, re, subprocess, sys

program, objdump = os.path.abspath(sys.argv[1]), sys.argv[2]
BIAS = 0x555555000000


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


theirs = {}
for line in run(objdump, "-d", "--no-show-raw-insn", program).split("\n"):
    row = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s.*<([^>]*)>", line)
    if row and "#" not in line and "adrp" not in line:
        theirs[int(row[1], 16)] = re.sub("@@?[A-Z].*?(?=@plt|$)", "", row[3])
names, places = {}, []
for line in run("readelf", "-sW", program).split("\n"):
    part = line.split()
    if len(part) == 8 and part[3] == "FUNC" and part[7] in ("helper", "choose", "main"):
        places.append(int(part[1], 16) + BIAS)
with open("x.heap", "w") as file:
    file.write("heap profile: 1: 1 [1: 1] @ heapprofile\n")
    file.writelines("1: 1 [1: 1] @ %#x\n" % (at + 1) for at in places)
    file.write("\nMAPPED_LIBRARIES:\n")
    for line in run("readelf", "-lW", program).split("\n"):
        part = line.split()
        if part[:1] == ["LOAD"] and "E" in "".join(part[6:-1]):
            offset, first, length = int(part[1], 16), int(part[2], 16), int(part[5], 16)
            file.write("%x-%x r-xp %08x 00:00 1 %s\n" % ((first & ~4095) + BIAS,
                       ((first + length + 4095) & ~4095) + BIAS, offset & ~4095, program))
said = json.loads(run(os.environ["MEMOIR_TOOL"], "disasm", "x.heap", "^(helper|choose|main)$", "--json"))
seen = wrong = 0
for function in said["functions"]:
    for one in function["instructions"]:
        target = theirs.get(int(one["address"], 16))
        if target is None:
            continue
        seen += 1
        if one["text"].split()[-1] != target:
            wrong += 1
            print("%s: '%s', not %s" % (one["address"], one["text"], target))
print("%s: %d targets, %d wrong" % (os.path.basename(program), seen, wrong))
sys.exit(len(said["functions"]) != 3 or seen < 8 or wrong > 0)
PY
try() { # NAME COMPILER OBJDUMP
    command -v "$2" >/dev/null && command -v "$3" >/dev/null || {
        echo "not here: $2"
        return
    }
    "$2" -O1 -g -fno-inline work.c -o "$1" 2>err || fail "$2: $(cat err)"
    MEMOIR_TOOL="$MEMOIR_TOOL" python3 check.py "$1" "$3" || fail "$1: see above"
}
try x86 "$CC" objdump
try arm aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump

"$MEMOIR_TOOL" run --exact -o one.memoir ./x86 >/dev/null 2>&1 || fail "run: $?"
"$MEMOIR_TOOL" run --exact -o two.memoir ./x86 more >/dev/null 2>&1 || fail "run: $?"
"$MEMOIR_TOOL" disasm two.memoir --base one.memoir '^helper$' --metric alloc --json >said || fail "disasm --base: $?"
python3 - <<'PY' || fail "the base: $(cat said)"
import json
calls = [i for f in json.load(open("said"))["functions"] for i in f["instructions"] if i["total"]]
assert len(calls) == 1 and calls[0]["text"].endswith("malloc@plt")
assert 0 < calls[0]["base_total"] < calls[0]["total"] and calls[0]["base_self"] > 0
PY
for verb in disasm 'list --asm'; do
    # shellcheck disable=SC2086 # words
    "$MEMOIR_TOOL" $verb two.memoir '^helper$' >"asm.${verb%% *}" || fail "$verb: $?"
done
[ -s asm.list ] && cmp -s asm.list asm.disasm || fail "list --asm: $(cat asm.list)"
"$MEMOIR_TOOL" disasm two.memoir --base one.memoir '^helper$' | grep -q 'self  *was  *total  *was' || fail "no columns"

# A stripped library: the name that traces shows is the one to ask for.
sed 's/^int main/int entry/' work.c >library.c
"$CC" -O1 -fno-inline -fPIC -shared -Wl,--version-script=/dev/stdin library.c -o libwork.so <<'V'
{ global: entry; local: *; };
V
strip libwork.so
echo 'int entry(int, char **); int main(int argc, char **argv) { return entry(argc, argv); }' >main.c
build main.c -L. -lwork -Wl,-rpath,"$place" -o main
"$MEMOIR_TOOL" run --exact -o stripped.memoir ./main >/dev/null 2>&1 || fail "run: $?"
name=$("$MEMOIR_TOOL" traces stripped.memoir --frames all --csv | tr ',' '\n' | grep -m 1 '^libwork.so+0x')
[ -n "$name" ] || fail "no nameless function: $("$MEMOIR_TOOL" traces stripped.memoir --frames all)"
"$MEMOIR_TOOL" disasm stripped.memoir "$name" >said 2>err || fail "disasm $name: $(cat err)"
grep -q 'call  *malloc@plt' said || fail "disasm $name: $(cat said)"
finish
