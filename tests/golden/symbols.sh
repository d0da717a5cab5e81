#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Names, lines and inlined functions of real programs, against addr2line and llvm-symbolizer: many
# addresses of each as a profile of the old text format, through `memoir traces`. DWARF 4 and 5,
# compressed, split (.dwo), types on their own, LTO, dwz, without PIE, and a stripped program whose
# debug information lies elsewhere. Then what `memoir symbols` says of each.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 addr2line c++filt readelf strip objcopy "$CXX"
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { int key; char text[28]; };
static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->key - y->key;
}
static inline __attribute__((always_inline)) int mix(int value)
{
    return (value * 31 + 7) ^ value >> 3;
}
static inline __attribute__((always_inline)) int mix_twice(int value)
{
    int once = mix(value);
    return mix(once + 1);
}
__attribute__((noinline)) int fill(struct item *items, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        items[i].key = mix_twice(i);
        snprintf(items[i].text, sizeof items[i].text, "%d", items[i].key);
        sum += mix(items[i].key) + (int)strlen(items[i].text);
    }
    return sum;
}
int main(int argc, char **argv)
{
    struct item *items = calloc((size_t)argc * 100, sizeof *items);
    int sum = fill(items, argc * 100);
    qsort(items, (size_t)argc * 100, sizeof *items, compare);
    printf("%s %d %d\n", argv[0], sum, items[0].key);
    free(items);
    return 0;
}
C
cat >work.cc <<'C'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>
namespace {
struct Hidden {
    int factor;
    __attribute__((noinline)) int go(int count)
    {
        std::vector<int> values;
        for (int i = 0; i < count; i++)
            values.push_back(i * factor);
        std::sort(values.begin(), values.end());
        return (int)values.size();
    }
};
}
namespace outer {
template <class T> T work(T count)
{
    std::map<std::string, T> sums;
    for (T i = 0; i < count; i++)
        sums[std::to_string(i)] += Hidden{(int)i}.go((int)i);
    T all = 0;
    for (auto &[name, sum] : sums)
        all += sum + (T)name.size();
    return all;
}
}
extern "C" __attribute__((noinline)) int __under(int value) { return value * 3 + (value >> 2); }
extern "C" int plain(int value) __attribute__((alias("__under")));
int main(int argc, char **)
{
    argc += __under(argc);
    std::map<std::string, std::vector<double>> table;
    std::function<void()> print = [&] {
        table["a"].resize((size_t)argc);
        std::cout << table.size() << std::endl;
    };
    print();
    return (int)(outer::work<int>(argc) + outer::work<long>(argc));
}
C
cat >compare.py <<'PY'
"""PROGRAM ORACLE SYMBOLS FLAG...: each address is a stack, told apart by a caller of no file."""
import json, os, random, re, subprocess, sys

program, oracle, flags = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[4:]
symbols = sys.argv[3]  # the file with the symbols and the debug information
loose = "loose" in flags  # addr2line 2.40 mixes up the files of DWARF 5
mode = "C" if "c" in flags else "C++"
random.seed(7)
BIAS, CALLERS = 0x555555000000, 0x10000000


def run(*words, text=None):
    return subprocess.run(words, input=text, capture_output=True, text=True, errors="replace").stdout


functions = []
for line in run("readelf", "-sW", symbols).split("\n"):
    part = line.split()
    if len(part) >= 8 and part[3] == "FUNC" and part[6] != "UND" and int(part[2], 0) > 0:
        functions.append((int(part[1], 16), int(part[2], 0)))
addresses = sorted({a + random.randrange(size) for a, size in functions for _ in range(1 + size // 8)})
fixed = "EXEC" in run("readelf", "-hW", program)
bias = 0 if fixed else BIAS
with open("x.heap", "w") as file:
    file.write("heap profile: 1: 1 [1: 1] @ heapprofile\n")
    for number, address in enumerate(addresses, 1):
        file.write("1: 1 [1: 1] @ %#x %#x\n" % (address + bias + 1, CALLERS + 16 * number))
    file.write("\nMAPPED_LIBRARIES:\n")
    for line in run("readelf", "-lW", program).split("\n"):
        part = line.split()
        if part[:1] == ["LOAD"] and "E" in "".join(part[6:-1]):
            offset, start, size = int(part[1], 16), int(part[2], 16), int(part[5], 16)
            file.write("%x-%x r-xp %08x 00:00 1 %s\n" % ((start & ~4095) + bias,
                       ((start + size + 4095) & ~4095) + bias, offset & ~4095, program))
said = json.loads(run(os.environ["MEMOIR_TOOL"], "traces", "x.heap", "--json", "--frames", "all", "-v",
                      "--rows", "0", *os.environ.get("MORE", "").split()))
ours = {}
for stack in said["stacks"]:
    caller = int(re.search("[0-9a-f]+$", stack["frames"][-1]["name"])[0], 16)
    ours[(caller - CALLERS + 1) // 16] = [
        (f["name"], os.path.basename(f.get("file", "")), f.get("line", 0)) for f in stack["frames"][:-1]]
text = "".join("%#x\n" % address for address in addresses)
if oracle == "llvm":
    answer = run("llvm-symbolizer", "--output-style=GNU", "-f", "-i", "-a", "--no-demangle", "-e", symbols, text=text)
else:
    answer = run("addr2line", "-aif", "-e", symbols, text=text)
theirs, current = {}, None
lines = answer.split("\n")
at = 0
while at < len(lines) - 1:
    if re.fullmatch("0x[0-9a-f]+", lines[at]):
        current = theirs[int(lines[at], 16)] = []
        at += 1
        continue
    if lines[at] == "":
        at += 1
        continue
    place = re.sub(r" \(discriminator .*", "", lines[at + 1])
    file, number = re.match(r"(.*?):(\d+|\?)", place).groups()
    current.append((lines[at], os.path.basename(file), 0 if number == "?" else int(number)))
    at += 2
names = sorted({f[0] for stack in theirs.values() for f in stack})
plain = dict(zip(names, run("c++filt", "-p", "-i", text="\n".join(names)).split("\n")))


def same(own, other):
    if own[2] != other[2] or (own[2] != 0 and not loose and own[1] != other[1]):
        return False
    if mode == "C":
        return own[0] == re.sub(r"\..*", "", other[0]) or own[0] == other[0]
    if not other[0].startswith("_Z"):
        return True  # a name without its class: the line has to do
    return own[0] == re.sub(r" \[clone.*", "", plain[other[0]]).replace("> >", ">>").replace("> >", ">>") \
        or "lambda" in own[0] + plain[other[0]]


right = whole = shown = 0
for number, address in enumerate(addresses, 1):
    own, other = ours.get(number, []), theirs[address]
    if not own or own[0][2] == 0 and len(own) == 1:
        continue  # code without DWARF
    whole += max(len(own), len(other))
    pairs = list(zip(own, other))
    if len(own) == len(other):
        right += sum(same(*pair) for pair in pairs)
    wrong = [pair for pair in pairs if not same(*pair)]
    if (wrong or len(own) != len(other)) and shown < 3:
        print("  %#x: %d frames, not %d; %s" % (address, len(own), len(other), wrong[:1]))
        shown += 1
print("%s: %d of %d frames as %s" % (os.path.basename(program), right, whole, oracle))
sys.exit(whole < 20 or right < 0.999 * whole)
PY

check() { # NAME ORACLE SYMBOLS WORDS...
    MEMOIR_TOOL="$MEMOIR_TOOL" python3 compare.py "$@" || fail "$1: names differ from $2's"
}

try() { # NAME ORACLE WORDS -- FLAGS SOURCE
    name=$1 oracle=$2 words=$3
    shift 3
    case $name in cc*) compiler=$CXX ;; *) compiler=$CC ;; esac
    "$compiler" "$@" -o "$name" 2>err || {
        echo "not compiled: $name ($*)"
        return
    }
    # shellcheck disable=SC2086
    check "$name" "$oracle" "$name" $words
}

try c4 addr2line c -O2 -gdwarf-4 work.c
try c5 addr2line 'c loose' -O2 -gdwarf-5 work.c
try c0 addr2line 'c loose' -O0 -g work.c
try cz addr2line 'c loose' -O2 -g -gz work.c
try cfixed addr2line 'c loose' -O2 -g -no-pie -fno-pie work.c
try cc4 addr2line cc -std=c++17 -O2 -gdwarf-4 work.cc
try cc5 addr2line loose -std=c++17 -O2 -gdwarf-5 work.cc
"$MEMOIR_TOOL" traces x.heap --frames all --rows 0 >said
grep -q '__under' said || fail "a function of two names has not the one that it was written with"
grep -q 'plain' said && fail "a function has the name of its alias"
try cclto addr2line loose -std=c++17 -O2 -g -flto work.cc
if command -v llvm-symbolizer >/dev/null; then
    try ccsplit llvm cc -std=c++17 -O2 -g -gsplit-dwarf work.cc
    try cctypes llvm cc -std=c++17 -O2 -g -fdebug-types-section work.cc
fi
if command -v clang++ >/dev/null && command -v llvm-symbolizer >/dev/null; then
    CXX=clang++ try ccclang llvm cc -std=c++17 -O2 -g work.cc
fi
if command -v dwz >/dev/null; then
    cp cc5 ccdwz1 && cp cc5 ccdwz2 && dwz -m shared.dwz ccdwz1 ccdwz2 2>err &&
        check ccdwz1 addr2line cc5 loose
fi

# Functions of assembler, one without a size and one that is not even said to be a function.
cat >bare.S <<'S'
        .text
        .globl bare, naked
        .type bare, @function
bare:   nop
        nop
        ret
naked:  nop
        ret
        .section .note.GNU-stack,"",@progbits
S
echo 'int main(void) { return 0; }' >main.c
"$CC" -g -no-pie -fno-pie main.c bare.S -o assembled || exit 2
python3 - <<'PY' >assembled.heap
import os, subprocess
symbols = [line.split() for line in subprocess.run(["nm", "assembled"], capture_output=True, text=True).stdout.split("\n")]
places = {symbol[2]: int(symbol[0], 16) for symbol in symbols if len(symbol) == 3}
print("heap profile: 1: 1 [1: 1] @ heapprofile")
for name in "bare", "naked":
    print("1: 1 [1: 1] @ %#x" % (places[name] + 2))  # behind the second byte: it is of the next line
print("\nMAPPED_LIBRARIES:\n%x-%x r-xp 00001000 00:00 1 %s" %
      (places["main"] & ~4095, (places["main"] & ~4095) + 4096, os.path.abspath("assembled")))
PY
"$MEMOIR_TOOL" traces assembled.heap --frames all >said
grep -q 'bare .*bare.S:5' said || fail "assembler: $(cat said)"
grep -q 'naked .*bare.S:8' said || fail "assembler without a type: $(cat said)"

# Debug information elsewhere: by .gnu_debuglink, by build id, and by its checksum.
objcopy --only-keep-debug c4 c4.debug
cp c4 linked && strip linked && objcopy --add-gnu-debuglink=c4.debug linked
check linked addr2line c4 c
"$MEMOIR_TOOL" symbols x.heap --json >said || fail "symbols: status $?"
grep -q '"debug_file": ".*c4.debug"' said || fail "the debug file was not named"
grep -q '"by_path_only": true' said || fail "a file without build id was taken silently"
id=$(readelf -nW c4 | sed -n 's/.*Build ID: //p')
rest=${id#??}
mkdir away && cp c4.debug away && mv c4.debug c4.kept
MORE="--debug-path $place/away" check linked addr2line c4 c
mv c4.kept c4.debug
mkdir -p "by-id/.build-id/${id%"$rest"}" hidden && mv c4.debug "by-id/.build-id/${id%"$rest"}/$rest.debug"
MORE="--debug-path $place/none:$place/by-id" check linked addr2line c4 c
"$CC" -O2 -gdwarf-4 -Wl,--build-id=none work.c -o bare && cp bare bare.full
objcopy --only-keep-debug bare bare.debug && strip bare && objcopy --add-gnu-debuglink=bare.debug bare
check bare addr2line bare.full c
mkdir links && mv bare.debug links
MORE="--debug-path $place/links" check bare addr2line bare.full c
mv links/bare.debug .
echo x >>bare.debug
if MEMOIR_TOOL="$MEMOIR_TOOL" python3 compare.py bare addr2line bare.full c >/dev/null; then
    fail "a debug file with a wrong checksum was used"
fi

# What is said of a stripped program, and of a capture's program that was built anew since.
cp c4 stripped && strip stripped
sed "s|$place/bare|$place/stripped|" x.heap >y.heap
"$MEMOIR_TOOL" symbols y.heap --no-cache >said || fail "symbols: status $?"
grep -Eq '^ +0/[0-9]+ +no file|^ +[0-9]+/[0-9]+ +exports' said || fail "a stripped program: $(cat said)"
build work.c -o prog
"$MEMOIR_TOOL" run --exact -o prog.memoir ./prog >/dev/null 2>&1 || fail "run: status $?"
"$MEMOIR_TOOL" symbols prog.memoir | grep -Eq '^ +[0-9]+/[0-9]+ +lines +[0-9a-f]{8} +prog ' ||
    fail "no lines: $("$MEMOIR_TOOL" symbols prog.memoir)"
mv prog right && build -DOTHER -O2 work.c -o prog
"$MEMOIR_TOOL" symbols prog.memoir >said
grep -Eq '^ +0/[0-9]+ +another build' said || fail "another build was used: $(cat said)"
"$MEMOIR_TOOL" symbols prog.memoir --program right | grep -Eq '[0-9]+/[0-9]+ +lines' ||
    fail "the program that was named was not used"
# All names in one file, for where the programs are not.
"$MEMOIR_TOOL" symbols prog.memoir --program right --embed -o named.pb.gz >/dev/null || fail "embed: $?"
rm right prog
"$MEMOIR_TOOL" symbols named.pb.gz | grep -q 'in the profile' || fail "names were not embedded"
"$MEMOIR_TOOL" traces named.pb.gz | grep -q 'main.*work.c:' || fail "no main in the embedded names"

# The control: the comparison notices a wrong line.
sed -i 's/own\[2\] != other\[2\]/own[2] + 1 != other[2]/' compare.py
if MEMOIR_TOOL="$MEMOIR_TOOL" python3 compare.py c5 addr2line c5 c loose >/dev/null; then
    fail "control: a wrong line was not noticed"
fi
finish
