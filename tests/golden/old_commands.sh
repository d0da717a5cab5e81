#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# The old commands print what they always printed: memoir's jeprof, google-pprof and pprof against
# the real ones, byte for byte, on profiles of real programs. Rows of libc and of the dynamic loader
# are left out on both sides: where those have no symbols, the real ones print the nearest name that
# nm knows, memoir says that it is a guess (~name).
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
need jeprof google-pprof python3
sources=$here/old_commands
cd "$place" || exit 2
unset JEPROF_TOOLS PPROF_TOOLS
export HOME="$place" PPROF_TMPDIR="$place/pprof" MEMOIR_CACHE="$place/cache"

# Without discriminators of lines, which jeprof prints as part of the line.
dwarf="-gdwarf-3 -gstrict-dwarf"
build -O0 $dwarf -shared -fPIC "$sources/shared.c" -o libshared.so
build -O0 $dwarf "$sources/plain.c" -L. -lshared -Wl,-rpath,"$place" -o plain
"$CXX" -O0 -g $dwarf -w "$sources/twins.cc" -o twins || exit 2
. "$sources/compare.sh"

jemalloc() { # PREFIX OPTIONS COMMAND...
    prefix=$1 options=$2
    shift 2
    MALLOC_CONF=prof:true,prof_prefix:$prefix,$options preload "$@" >/dev/null 2>&1
}

# Profiles: every block and samples of jemalloc's, several of one run; gperftools' heaps.
jemalloc all prof_final:true,lg_prof_sample:0,prof_accum:true ./plain 6
jemalloc some prof_final:true,lg_prof_sample:14,prof_accum:true ./plain 40
jemalloc twins prof_final:true,lg_prof_sample:0 ./twins
jemalloc series prof_final:false,lg_prof_sample:0,lg_prof_interval:20 ./plain 6
HEAPPROFILE=$place/gp HEAP_PROFILE_ALLOCATION_INTERVAL=2000000 preload ./plain 6 >/dev/null 2>&1
all=$(echo all.*.heap) some=$(echo some.*.heap) twins=$(echo twins.*.heap)
set -- series.*.heap
first=$1 second=$2
for file in "$all" "$some" "$twins" "$first" "$second" gp.0001.heap gp.0002.heap; do
    [ -s "$file" ] || { echo "no profile $file"; exit 2; }
done

names_or_skip plain "$all"

# Every table of jeprof.
said jeprof --text plain "$all"
for profile in "$all" "$some"; do
    for option in --text --show_bytes --cum --lines --files --inuse_objects --alloc_space \
        --alloc_objects --inuse_space --functions --focus=keep_deep --ignore=keep_large \
        '--focus=keep_.m' --retain=keep --exclude=keep_deep --heapcheck --nodecount=3; do
        same jeprof --text "$option" plain "$profile"
    done
    same jeprof --text --show_bytes --lines --cum plain "$profile"
    same jeprof --text --addresses plain "$profile"
done
# The first profile's numbers without the rounding of the sampling, negative ones, none at all.
same jeprof --text --base="$first" plain "$second"
same jeprof --text --show_bytes plain --base="$first" "$second"
same jeprof --text --show_bytes plain -base="$second" "$first"
same jeprof --text --show_bytes --drop_negative plain -base="$first" "$second"
same jeprof --text --show_bytes plain "$first" "$second"
same jeprof --text --show_bytes --thread=0 plain "$all"
same jeprof --text --show_bytes '--thread=*' plain "$all"
for option in --text '--text --lines' '--text --show_bytes --cum'; do
    # shellcheck disable=SC2086
    same jeprof $option twins "$twins"
done

# Sources and machine code.
for option in --list=keep_ --list=keep_deep '--list=main --show_bytes'; do
    # shellcheck disable=SC2086
    same jeprof $option plain "$all"
done
alike disasm jeprof --disasm=keep_deep plain "$all"

# google-pprof: its own format, and what only it has.
said google-pprof --text plain gp.0002.heap
for option in --text --show_bytes --cum --lines --files --inuse_objects --alloc_space \
    --alloc_objects --focus=keep_deep --ignore=keep_large --show_addresses --no_strip_temp; do
    same google-pprof --text "$option" plain gp.0002.heap
done
same google-pprof --text plain --base=gp.0001.heap gp.0002.heap

# What comes in no order there.
alike collapsed jeprof --collapsed plain "$all"
alike collapsed google-pprof --collapsed plain gp.0002.heap
alike callgrind jeprof --callgrind plain "$all"
for option in '' --lines --inuse_objects --nodecount=5 --focus=keep_deep --edgefraction=0.1 \
    --nodefraction=0.1 --maxdegree=1 --heapcheck --files --show_bytes; do
    # shellcheck disable=SC2086
    alike dot jeprof --dot $option plain "$all"
done

# The shell.
printf 'top\ntop3 --cum\ntop5 -keep_large\ntop --lines\nnonsense\nquit\n' >typed
jeprof --interactive plain "$all" <typed 2>real.err | own >real.out
links/jeprof --interactive plain "$all" <typed 2>ours.err | own >ours.out
grep -c . real.out >/dev/null || fail "the real shell prints nothing"
cmp -s real.err ours.err || fail "the shell says something else: $(diff real.err ours.err)"
# Ten rows there are some of libc's, which have another name here.
python3 - <<'END' || fail "the shell prints something else"
def blocks(name):
    found = []
    for line in open(name):
        if line.startswith("Total") or not found:
            found.append([])
        found[-1].append(line)
    return found
real, ours = blocks("real.out"), blocks("ours.out")
same = len(real) == len(ours) == 4 and all(
    a[0] == b[0] and set(a[:4]) & set(b[:4]) for a, b in zip(real, ours))
raise SystemExit(0 if same else 1)
END

# Wrong words.
for words in '--nosuch plain x.heap' '--t plain x.heap' '--text --svg plain x.heap' '' \
    '--lines --files --text plain x.heap' '--inuse_space --alloc_space --text plain x.heap' \
    '--nodecount=many plain x.heap' '--text plain' '--base'; do
    # shellcheck disable=SC2086
    jeprof $words >real.out 2>real.err </dev/null
    real=$?
    # shellcheck disable=SC2086
    links/jeprof $words >ours.out 2>ours.err </dev/null
    ours=$?
    [ "$real" -eq "$ours" ] || fail "jeprof $words exits with $ours, the real one with $real"
    [ "$(head -n 1 real.err)" = "$(head -n 1 ours.err)" ] ||
        fail "jeprof $words: $(head -n 1 ours.err), not: $(head -n 1 real.err)"
done

. "$sources/cpu.sh"
. "$sources/go.sh"
. "$sources/guides.sh"
echo "$compared comparisons"
finish
