#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A return address that no call left is the first byte of a function: of the code that a signal
# handler returns to, of what makecontext prepares, of what a coroutine's own start pushed. It has
# the name of that function, not of the one before; and so has a function that a signal interrupted
# at its first byte. In all formats; also in those of other allocators, which write the bare address.
. "$(dirname "$0")/common.sh"

need python3 nm
[ "$(uname -m)" = x86_64 ] || skip "its program is written for x86-64"
settle

build "$root/tests/programs/return_addresses_without_calls.c" -o dynamic
build -static "$root/tests/programs/return_addresses_without_calls.c" "$MEMOIR_STATIC" -o static
build -static-pie "$root/tests/programs/return_addresses_without_calls.c" "$MEMOIR_STATIC" \
    -o static_pie

# The frames that a stack has, in this order and without others between; the way is known by
# the function that only it has.
cat >judge.py <<'END'
import json, sys
wanted = {
    "raise": ["allocate", "handler", "__restore_rt", None],
    "interrupted": ["allocate", "trap_handler", "__restore_rt", "interrupted_at_start", "main"],
    "one byte": ["allocate", "trap_handler", "__restore_rt", "one_byte", "main"],
    "makecontext": ["allocate", "run_coroutine", "__start_context"],
    "bare": ["allocate", "run_coroutine", "finish_bare"],
    "last call": ["allocate", "leave_bare", "ends_in_call", "main"],
}
libc_names = sys.argv[2] == "names"
if sys.argv[3] in ("jemalloc", "gperftools"):  # they can't tell it from the start of the next one
    del wanted["one byte"]
answer = json.load(open(sys.argv[1]))
stacks = []
for trace in answer["stacks"]:
    names = [frame["name"].split("(")[0] for frame in trace["frames"]]
    if "allocate" in names:
        stacks.append(names[names.index("allocate"):])
bad = 0
for way, frames in wanted.items():
    def fits(names):
        if "main" not in frames and None not in frames and len(names) != len(frames):
            return False
        return len(names) >= len(frames) and all(
            want is None or got == want or (want.startswith("__") and not libc_names)
            for got, want in zip(names, frames))
    if not any(fits(names) for names in stacks):
        print("no stack of the way", way, frames)
        bad = 1
if bad or len(stacks) < len(wanted):
    print("there are:", *stacks, sep="\n  ")
    sys.exit(1)
END

judge() { # FORMAT FILE PROGRAM HOW
    "$MEMOIR_TOOL" traces "$2" --program "./$3" --json -v -n 0 -q >traces.json ||
        fail "$1 of $3: cannot be read"
    python3 judge.py traces.json "$4" "$1" || fail "$1 of $3: names are wrong"
}

# The C library's symbols are in the static programs. Elsewhere they may be missing.
for program in dynamic static static_pie; do
    how=names
    [ "$program" = dynamic ] && how=none
    MEMOIR=heap.rate:0,capture:$program.memoir preload "./$program"
    judge capture "$program.memoir" "$program" "$how"
    for format in jemalloc pprof gperftools memoir; do
        MEMOIR=heap.rate:0,dump.exit:on,dump.format:$format,dump.prefix:./$program.$format \
            preload "./$program" 2>err || fail "$program does not run: $(cat err)"
        judge "$format" "$(ls "$program.$format"-*)" "$program" "$how"
    done
done

# What others write: the address as it stands on the stack.
at() { # NAME
    nm static | awk -v name="$1" '$3 == name { print "0x" $1; exit }'
}
cat >bare.py <<'END'
import sys
allocate, handler, restore, main, ends, behind, start = (int(word, 16) for word in sys.argv[1:8])
stacks = [[allocate + 9, handler + 9, restore, main + 9], [allocate + 9, start],
          [allocate + 9, behind, main + 9]]
print("heap_v2/1\n  t*: 3: 300 [0: 0]")
for stack in stacks:
    print("@ " + " ".join(hex(address) for address in stack) + "\n  t*: 1: 100 [0: 0]")
print("\nMAPPED_LIBRARIES:")
segments = [line.split() for line in open("segments") if line.split()[:1] == ["LOAD"]]
for kind, offset, address, _, size, *rest in segments:
    low, high = int(address, 16) & -4096, (int(address, 16) + int(size, 16) + 4095) & -4096
    print("%x-%x r-xp %08x 00:01 1   %s" % (low, high, int(offset, 16) & -4096, sys.argv[8]))
END
readelf -lW static | sed 's/^ *//' >segments
# shellcheck disable=SC2046 # words
python3 bare.py $(at allocate) $(at handler) $(at __restore_rt) $(at main) $(at ends_in_call) \
    $(at behind_call) $(at __start_context) "$place/static" >bare.heap
"$MEMOIR_TOOL" traces bare.heap --json -v -n 0 -q >bare.json || fail "bare.heap can't be read"
python3 - <<'END' || fail "bare addresses have wrong names"
import json, sys
stacks = sorted([frame["name"] for frame in trace["frames"]]
                for trace in json.load(open("bare.json"))["stacks"])
wanted = sorted([["allocate", "handler", "__restore_rt", "main"], ["allocate", "__start_context"],
                 ["allocate", "ends_in_call", "main"]])
if stacks != wanted:
    sys.exit("%s\nnot %s" % (stacks, wanted))
END
finish
