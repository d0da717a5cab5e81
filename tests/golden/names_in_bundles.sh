#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# Split DWARF whose .dwo files were put together in one .dwp, by binutils' dwp, by llvm-dwp and
# here: the same names, lines and inlined functions as from the .dwo files, and as from the same
# program with its debug information in itself. DWARF 4 and 5, GCC and clang, types on their own,
# several units, functions in sections of their own, compressed; beside it and by --debug-path.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3 readelf objcopy strip "$CXX"
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >part.h <<'C'
#include <algorithm>
#include <string>
#include <vector>
struct Item {
    int key;
    std::string text;
    int weight() const { return key * 31 ^ (int)text.size(); }
    bool operator<(const Item &other) const { return weight() < other.weight(); }
};
inline int best(std::vector<Item> &items)
{
    std::sort(items.begin(), items.end());
    return items.empty() ? 0 : items.front().weight();
}
int one(int count);
int two(int count);
C
cat >one.cc <<'C'
#include "part.h"
static inline int mix(int value) { return (value * 31 + 7) ^ value >> 3; }
int one(int count)
{
    std::vector<Item> items;
    for (int i = 0; i < count; i++)
        items.push_back({mix(i), std::to_string(mix(i + count))});
    return best(items);
}
C
cat >two.cc <<'C'
#include <map>
#include "part.h"
namespace {
struct Hidden {
    std::map<std::string, int> sums;
    int add(const std::string &name, int value) { return sums[name] += value; }
};
}
__attribute__((cold)) int two(int count)
{
    Hidden hidden;
    auto take = [&](int value) { return hidden.add(std::to_string(value), value); };
    std::vector<Item> items;
    for (int i = 0; i < count; i++)
        items.push_back({take(i), "two"});
    return best(items) + (int)hidden.sums.size();
}
C
cat >main.cc <<'C'
#include "part.h"
#include <cstdio>
int main(int argc, char **argv)
{
    std::printf("%s %d %d\n", argv[0], one(argc), two(argc));
    return 0;
}
C
cat >frames.py <<'PY'
"""PROGRAM OUTPUT OPTION... ["" SYMBOLS]: the frames of every fourth byte of its functions."""
import json, os, re, subprocess, sys

program, options, symbols = os.path.abspath(sys.argv[1]), sys.argv[3:], sys.argv[1]
if "" in options:
    symbols = options.pop()
    options.pop()
BIAS, CALLERS = 0x555555000000, 0x10000000


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


addresses, maps = set(), []
for line in run("readelf", "-sW", symbols).split("\n"):
    part = line.split()
    if len(part) >= 8 and part[3] == "FUNC" and part[6] != "UND":
        start, size = int(part[1], 16), int(part[2], 0)
        addresses.update(range(start, start + size, 4))
for line in run("readelf", "-lW", program).split("\n"):
    part = line.split()
    if part[:1] == ["LOAD"] and "E" in "".join(part[6:-1]):
        offset, start, size = int(part[1], 16), int(part[2], 16), int(part[5], 16)
        maps.append("%x-%x r-xp %08x 00:00 1 %s\n" % ((start & ~4095) + BIAS,
                    ((start + size + 4095) & ~4095) + BIAS, offset & ~4095, program))
with open("x.heap", "w") as file:
    file.write("heap profile: 1: 1 [1: 1] @ heapprofile\n")
    for address in sorted(addresses):
        file.write("1: 1 [1: 1] @ %#x %#x\n" % (address + BIAS + 1, CALLERS + 16 * address))
    file.write("\nMAPPED_LIBRARIES:\n" + "".join(maps))
said = json.loads(run(os.environ["MEMOIR_TOOL"], "traces", "x.heap", "--json", "--frames", "all", "-v",
                      "--rows", "0", *options))
lines = []
for stack in said["stacks"]:
    address = int(re.search("[0-9a-f]+$", stack["frames"][-1]["name"])[0], 16) - CALLERS
    frames = ["%s %s:%d" % (f["name"], f.get("file", ""), f.get("line", 0)) for f in stack["frames"][:-1]]
    lines.append("%012x %s\n" % (address, "; ".join(frames)))
with open(sys.argv[2], "w") as file:
    file.writelines(sorted(lines))
PY
# Of Debian 12's, dwp knows DWARF 4 only and llvm-dwp never ends with GCC's DWARF 5.
cat >pack.py <<'PY'
"""PROGRAM.dwp DWO...: a bundle of DWARF 5, made by the letter of the standard."""
import os, struct, subprocess, sys, tempfile

NUMBERS = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_line.dwo": 4,
           ".debug_str_offsets.dwo": 6, ".debug_rnglists.dwo": 8}
place = tempfile.mkdtemp(dir=".")
whole, texts, rows, ids = {name: b"" for name in NUMBERS}, b"", [], []


def path(name):
    return os.path.join(place, name)


for file in sys.argv[2:]:
    parts = {}
    for name in [*NUMBERS, ".debug_str.dwo"]:
        subprocess.run(["objcopy", "--dump-section", "%s=%s" % (name, path("part")), file, path("scratch")],
                       capture_output=True)
        parts[name] = open(path("part"), "rb").read() if os.path.exists(path("part")) else b""
        if os.path.exists(path("part")):
            os.remove(path("part"))
    info, offsets = parts[".debug_info.dwo"], parts[".debug_str_offsets.dwo"]
    version, kind = struct.unpack_from("<HB", info, 4)
    assert (version, kind) == (5, 5), (file, version, kind)
    ids.append(struct.unpack_from("<Q", info, 12)[0])
    parts[".debug_str_offsets.dwo"] = offsets[:8] + b"".join(
        struct.pack("<I", word[0] + len(texts)) for word in struct.iter_unpack("<I", offsets[8:]))
    texts += parts[".debug_str.dwo"]
    rows.append([(len(whole[name]), len(parts[name])) for name in NUMBERS])
    for name in NUMBERS:
        whole[name] += parts[name]
slots = 1 << len(ids).bit_length()
table = [0] * slots
for number, id in enumerate(ids, 1):
    slot = id & (slots - 1)
    while table[slot]:
        slot = (slot + ((id >> 32) & (slots - 1) | 1)) & (slots - 1)
    table[slot] = number
index = struct.pack("<HHIII", 5, 0, len(NUMBERS), len(ids), slots)
index += b"".join(struct.pack("<Q", ids[number - 1] if number else 0) for number in table)
index += b"".join(struct.pack("<I", word) for word in table + list(NUMBERS.values()))
for place_or_size in 0, 1:
    index += b"".join(struct.pack("<I", cell[place_or_size]) for row in rows for cell in row)
words = []
for name, data in {**whole, ".debug_str.dwo": texts, ".debug_cu_index": index}.items():
    with open(path(name[1:]), "wb") as file:
        file.write(data)
    words += ["--add-section", "%s=%s" % (name, path(name[1:]))]
subprocess.run(["objcopy", *words, "empty.o", sys.argv[1]], check=True)
PY
: >empty.c && "$CC" -c empty.c -o empty.o || exit 2

frames() { python3 frames.py "$@" || fail "no frames of $1"; }

equal() { # WHAT FILE FILE
    cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | grep -c '^<') of $(wc -l <"$2") differ, as
$(diff "$2" "$3" | head -4)"
}

try() { # NAME COMPILER PACKER FLAGS...
    name=$1 compiler=$2 packer=$3
    shift 3
    if ! command -v "$compiler" >/dev/null || ! command -v "$packer" >/dev/null; then
        echo "not here: $compiler or $packer"
        return
    fi
    rm -rf "$name" && mkdir "$name"
    for unit in one two main; do
        "$compiler" -std=c++17 "$@" -c "$unit.cc" -o "$name/$unit.o" || exit 2
    done
    "$compiler" "$@" "$name"/*.o -o "$name/work" || exit 2
    frames "$name/work" "$name/whole"
    rm "$name"/*.o
    for unit in one two main; do
        "$compiler" -std=c++17 "$@" -gsplit-dwarf -c "$unit.cc" -o "$name/$unit.o" || exit 2
    done
    "$compiler" "$@" -gsplit-dwarf "$name"/*.o -o "$name/work" || exit 2
    frames "$name/work" "$name/parts"
    if [ "$packer" = python3 ]; then
        python3 pack.py "$name/work.dwp" "$name"/*.dwo || fail "$name: not packed"
    elif ! timeout 60 "$packer" -e "$name/work" -o "$name/work.dwp" 2>"$name/err"; then
        echo "$packer can't: $name"
        return
    fi
    mkdir "$name/away" && mv "$name"/*.dwo "$name/away"
    frames "$name/work" "$name/bundle"
    equal "$name, .dwo files" "$name/whole" "$name/parts"
    equal "$name, a .dwp" "$name/whole" "$name/bundle"
    tried="$tried $name"
}

tried=
try gcc4 "$CXX" dwp -O2 -gdwarf-4
try gcc5 "$CXX" python3 -O2 -gdwarf-5
try gccsections "$CXX" python3 -O1 -gdwarf-5 -ffunction-sections
try gcctypes "$CXX" dwp -O2 -gdwarf-4 -fdebug-types-section
try clang5 clang++ llvm-dwp -O2 -gdwarf-5
try clangtypes clang++ llvm-dwp -O2 -gdwarf-5 -fdebug-types-section
[ -n "$tried" ] || fail "nothing was tried"
echo "as without -gsplit-dwarf:$tried"
# shellcheck disable=SC2086
set -- $tried
cd "$1" || exit 2
cp ../frames.py .
grep -q '; .*; ' whole || fail "control: nothing is inlined"

# Elsewhere, compressed, and of another build.
mkdir bundles && mv work.dwp bundles
frames work none
cmp -s whole none && fail "control: nothing is missed without the bundle"
"$MEMOIR_TOOL" symbols x.heap >said
grep -q 'its [.]dwo files, which name inlined functions, are missing' said || fail "nothing is said: $(cat said)"
frames work found --debug-path "$PWD/bundles"
equal "by --debug-path" whole found
"$MEMOIR_TOOL" symbols x.heap --debug-path "$PWD/bundles" --json >said
grep -q '"bundle_file": ".*bundles/work.dwp"' said || fail "the bundle is not named: $(cat said)"
if objcopy --compress-debug-sections bundles/work.dwp work.dwp 2>err; then
    frames work packed --no-cache
    equal "compressed" whole packed
fi
# With the rest of the debug information in a file of its own.
cp work work.whole && cp bundles/work.dwp work.dwp
objcopy --only-keep-debug work work.debug && strip work && objcopy --add-gnu-debuglink=work.debug work
python3 frames.py work stripped --no-cache "" work.whole || fail "no frames of a stripped program"
equal "stripped" whole stripped
mv work.whole work && rm work.debug

cp ../gccsections/work.dwp work.dwp # which is never the first
frames work wrong --no-cache
equal "a bundle of another build" none wrong
"$MEMOIR_TOOL" symbols x.heap --no-cache >said
grep -q 'work.dwp is of another build' said || fail "nothing is said of the other: $(cat said)"
for size in 64 1000 5000 20000; do
    head -c "$size" bundles/work.dwp >work.dwp
    frames work torn --no-cache
    equal "a bundle of $size bytes" none torn
done
finish
