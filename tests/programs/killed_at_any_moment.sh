#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# Whatever ends a program, and at whatever moment, its recorder file has what was recorded: kill -9
# after a random time, SIGSEGV with a handler of its own, which may allocate, abort, also inside of
# malloc, a fault inside free, _exit and exit_group from a thread; static programs, forked children with
# threads and the option harden, too; and a copy of the file of a running program opens. The totals differ
# from what the program itself has counted by no more than docs/FORMATS.md says. A damaged file
# opens, too, and `memoir recover` does not remove it.
#
#     KILLS=N (10)             kills a mode; the largest differences are printed
#     RATES='0 512K'           the modes
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
kills=${KILLS:-10}
shm=/dev/shm
[ -w "$shm" ] || shm=$place
file=$(mktemp -u "$shm/memoir-test-XXXXXX") || exit 2
trap 'rm -rf "$place" "$file"*' EXIT
build "$root/tests/programs/killed_at_any_moment.c" -o "$place/victim"
build -static "$root/tests/programs/killed_at_any_moment.c" "$MEMOIR_STATIC" -o "$place/static"
cd "$place" || exit 2

cat >judge.py <<'END'
"""judge.py TOOL FILE TRUTH THREADS RATE: compares what the file says with the truth."""
import json, struct, subprocess, sys
tool, file, truth, threads, rate = sys.argv[1:6]
threads = int(threads)
allocs = frees = 0
with open(truth, "rb") as page:
    bytes_ = page.read()
for i in range(threads):
    a, f = struct.unpack_from("QQ", bytes_, 64 * i)
    allocs, frees = allocs + a, frees + f
got = subprocess.run([tool, "report", "--json", file], capture_output=True, text=True)
if got.returncode != 0:
    sys.exit("the recording is lost: " + got.stderr)
report = json.loads(got.stdout)
# One call a thread may be under way, and the C library allocates for threads by itself. Sampled:
# 1,024 mallocs of each thread, their frees, and what bins hold, which is less than that here.
slack = threads * (8 if rate == "0" else 1024 + 8)
found = []
for name, true, most in (
    ("allocations", allocs, slack),
    ("frees", frees, 2 * slack),
    ("total_objects", allocs - frees, slack),
):
    found.append(abs(report[name] - true))
    if found[-1] > most:
        sys.exit("%s: %d in the file, %d in truth" % (name, report[name], true))
print(rate, threads, *found)
END

cat >damage.py <<'END'
"""damage.py FILE HOW: see base/file/recorder_format.h."""
import struct, sys
path, how = sys.argv[1:3]
SHEET, DIRECTORY, SIZES = 65536, 32768, 128
with open(path, "rb") as file:
    data = bytearray(file.read())
entries = struct.unpack_from("<%dI" % (len(data) // SHEET), data, DIRECTORY)
at = {entry & 255: number * SHEET for number, entry in reversed(list(enumerate(entries)))}
if how == "cut":
    del data[-SHEET:]
elif how == "nodes":  # called by a stack that there is not
    for row in range(2, 100):
        struct.pack_into("<I", data, at[1] + 16 * row + 8, 1)
elif how == "sites":  # counters of 2 to the power of 62, more blocks repeated than there were
    for row in range(256):
        struct.pack_into("<QQQ", data, at[2] + 256 * row + 24, 1 << 62, 1 << 62, 1 << 62)
        struct.pack_into("<I", data, at[2] + 256 * row + 224, 1 << 31)
elif how == "sizes":
    for mark in range(1, 80):
        struct.pack_into("<I", data, SIZES + 4 * mark, 1 << 30)
elif how == "heaps":
    data[at[4]:at[4] + SHEET] = b"\xff" * SHEET
elif how == "directory":  # the first sheet of nodes is the 4,000th
    struct.pack_into("<I", data, DIRECTORY + 4 * (at[1] // SHEET), 1 | 4000 << 8)
elif how == "log":
    data[at[5]:at[5] + SHEET] = bytes(SHEET)
with open(path, "wb") as file:
    file.write(data)
END

# run RATE THREADS HOW [NS]: in the background; $victim.
binary=victim
options=
run() {
    rm -f truth "$file"*
    LD_PRELOAD=$MEMOIR_LIB MEMOIR="recorder:$file,heap.rate:$1$options" ./$binary truth "$2" "$3" ${4:+"$4"} \
        2>message >child &
    victim=$!
}

ready() { # FILE: all that was known when it was made is in it (bit 0 of `state`)
    case $(od -An -tu1 -j16 -N1 "$1" 2>/dev/null) in
    *[13579]) ;;
    *) return 1 ;;
    esac
}

judge() { # RATE THREADS WHAT
    python3 judge.py "$MEMOIR_TOOL" "$file" truth "$2" "$1" 2>verdict >>differences ||
        fail "rate $1, $2 threads, $3: $(cat verdict message)"
}

for rate in ${RATES:-0 512K}; do
    for i in $(seq "$kills"); do
        threads=$((i % 3 + 1))
        case $((i % 5)) in # some with sizes in turn, and with time between calls
        0) ns=0 ;;
        1) ns=$((i * 37 % 3000)) ;;
        *) ns= ;;
        esac
        run "$rate" "$threads" never $ns
        # Until it has begun: before the file is made there is nothing to be lost.
        while [ ! -s truth ]; do sleep 0.01; done
        sleep "0.$(python3 -c 'import random; print("%03d" % random.randrange(200))')"
        kill -9 "$victim"
        wait "$victim" 2>/dev/null
        judge "$rate" "$threads" "kill $i"
    done
    for how in segv segv-report abort abort-anywhere double-free _exit exit_group static; do
        [ $how != static ] || binary=static
        run "$rate" 2 "$how"
        wait "$victim" 2>/dev/null
        judge "$rate" 2 "$how"
        "$MEMOIR_TOOL" top "$file" 2>&1 | grep -q 'did not exit normally' ||
            fail "$how: the end is not mentioned"
    done
    binary=victim
    for i in $(seq 20); do # the file of a child is made while its threads allocate
        threads=$((i % 3 * 4 + 4))
        run "$rate" $threads forked
        for _ in $(seq 500); do
            child=$(cat child)
            [ -z "$child" ] || ! ready "$file-$child" || break
            sleep 0.01
        done
        sleep 0.05
        kill -9 "$child"
        wait "$victim" 2>/dev/null
        mv "$file-$child" "$file"
        judge "$rate" $threads "a child"
    done
    options=,harden:on # freed blocks wait, and are no live ones
    for i in 1 2 3; do
        run "$rate" "$i" never
        while [ ! -s truth ]; do sleep 0.01; done
        sleep 0.3
        kill -9 "$victim"
        wait "$victim" 2>/dev/null
        judge "$rate" "$i" "harden"
    done
    options=
    run "$rate" 2 never
    while [ ! -s truth ]; do sleep 0.01; done
    for i in 1 2 3 4 5; do
        sleep 0.02
        cp "$file" copy
        "$MEMOIR_TOOL" top copy >/dev/null 2>message || fail "a copy does not open: $(cat message)"
    done
    kill -9 "$victim"
    wait "$victim" 2>/dev/null
    for how in cut nodes sites sizes heaps directory log; do
        cp "$file" copy
        python3 damage.py copy $how || fail "damage.py $how"
        timeout 20 "$MEMOIR_TOOL" top copy >/dev/null 2>message ||
            fail "a copy with damaged $how does not open: $(cat message)"
        timeout 20 "$MEMOIR_TOOL" recover copy >/dev/null 2>message || fail "damaged $how: $(cat message)"
        case $how in
        cut | log)
            [ -e copy ] && grep -q 'the file is kept' message || fail "damaged $how: $(cat message)"
            ;;
        esac
        rm -f copy*
    done
done
awk '{ for (i = 3; i <= 5; i++) if ($i > most[$1 " " $2, i]) most[$1 " " $2, i] = $i
    kills[$1 " " $2]++ }
    END { for (mode in kills) { split(mode, part, " ")
        printf "rate %s, %s threads, %d ends: allocations off by %d at most, frees %d, live blocks %d\n",
            part[1], part[2], kills[mode], most[mode, 3], most[mode, 4], most[mode, 5] } }' differences | sort
finish
