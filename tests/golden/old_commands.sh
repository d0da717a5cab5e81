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
mkdir links && for name in jeprof google-pprof pprof; do
    ln -s "$MEMOIR_TOOL" "links/$name"
done
ln -s "$MEMOIR_TOOL" links/memoir

# Rows that are not the programs' own.
own() {
    sed -E '/ ([^ ]*(csu|sysdeps|nptl|elf|malloc|include)\/[^ ]*|0*[0-9a-f]{16}|\?\?:.|~.*|_start.*|__libc_.*|_dl_.*|.*call_init.*|(__)?clone3?.*|start_thread.*|.*@@.*|__GI_.*|allocate_.*|.*pthread_create.*|calloc \(inline\).*)( [^ ]*)?( \([0-9a-f]+\))?$/d'
}

# near: the two outputs are equal but for the last unit of large numbers. The real ones add floating
# point numbers in an order that Perl draws anew in each run.
near() {
    paste -d '\n' real.out ours.out | awk '
        NR % 2 { count = split($0, real); next }
        {
            if (split($0, ours) != count) exit wrong = 1
            for (i = 1; i <= count; i++) {
                digits = real[i] ~ /^[0-9]+$/ && ours[i] ~ /^[0-9]+$/ && real[i] > 100000
                off = real[i] - ours[i]
                if (real[i] != ours[i] && !(digits && off >= -2 && off <= 2)) exit wrong = 1
            }
        }
        END { exit wrong }'
}

compared=0
# same COMMAND OPTION...: the real command and memoir's agree in what they print.
same() {
    command=$1
    shift
    "$command" "$@" 2>real.err </dev/null | own >real.out
    "$place/links/$command" "$@" 2>ours.err </dev/null | own >ours.out
    compared=$((compared + 1))
    [ -s real.out ] || fail "the real one prints nothing: $command $*"
    if ! cmp -s real.out ours.out && ! near; then
        fail "$command $* differs:"
        diff real.out ours.out | head -n 12
    fi
}

# said COMMAND OPTION...: they agree in what they say on standard error.
said() {
    same "$@"
    if ! cmp -s real.err ours.err; then
        fail "$* says something else:"
        diff real.err ours.err | head -n 12
    fi
}

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

# Without its helpers and libc's debug file the real one guesses names, and there is nothing that
# could be equal.
libc=$(ldd ./plain | awk '/libc\.so/ { print $3 }')
id=$(readelf -n "$libc" 2>/dev/null | sed -n 's/.*Build ID: //p')
if [ ! -e "/usr/lib/debug/.build-id/$(printf '%.2s' "$id")/${id#??}.debug" ] ||
    ! jeprof --text --lines plain "$all" 2>/dev/null | grep -q 'plain\.c:[0-9]'; then
    echo "the real jeprof finds no lines here, or no debug file of libc"
    exit 77
fi

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

# Sources, and the numbers of machine code; how an instruction is written is the disassembler's.
for option in --list=keep_ --list=keep_deep '--list=main --show_bytes'; do
    # shellcheck disable=SC2086
    same jeprof $option plain "$all"
done
numbers() {
    cut -c 1-28
}
jeprof --disasm=keep_deep plain "$all" 2>/dev/null | numbers >real.out
links/jeprof --disasm=keep_deep plain "$all" 2>/dev/null | numbers >ours.out
[ -s ours.out ] || fail "--disasm prints nothing"
# The leaf's number is at the call here, at the instruction behind it there.
[ "$(wc -l <real.out)" -eq "$(wc -l <ours.out)" ] && [ "$(head -n 2 real.out)" = "$(head -n 2 ours.out)" ] ||
    fail "--disasm differs: $(diff real.out ours.out | head -n 8)"

# google-pprof: its own format, and what only it has.
said google-pprof --text plain gp.0002.heap
for option in --text --show_bytes --cum --lines --files --inuse_objects --alloc_space \
    --alloc_objects --focus=keep_deep --ignore=keep_large --show_addresses --no_strip_temp; do
    same google-pprof --text "$option" plain gp.0002.heap
done
same google-pprof --text plain --base=gp.0001.heap gp.0002.heap

# Folded stacks, which come in no order there and have addresses behind the names.
folded() {
    sed -E 's/<[0-9a-f]{16}>//g; s/^.*(main|in_thread)/\1/' | grep -E '^(main|in_thread)' | grep -v allocate_ | sort
}
jeprof --collapsed plain "$all" 2>/dev/null | folded >real.out
links/jeprof --collapsed plain "$all" 2>/dev/null | folded >ours.out
[ -s ours.out ] || fail "--collapsed prints nothing"
cmp -s real.out ours.out || fail "--collapsed differs: $(diff real.out ours.out | head -n 6)"

# The nodes of graphs; their order and their edges' where numbers are equal is nobody's.
nodes() {
    sed -n -E 's/^N[0-9]+ \[label="(.*)",shape.*fontsize=(.*)\];/\1 \2/p' |
        grep -E '^(keep|main|in_thread|forget|shared)' | sort
}
for option in '' --lines --inuse_objects --nodecount=5 --focus=keep_deep; do
    # shellcheck disable=SC2086
    jeprof --dot $option plain "$all" 2>/dev/null | nodes >real.out
    # shellcheck disable=SC2086
    links/jeprof --dot $option plain "$all" 2>/dev/null | nodes >ours.out
    [ -s ours.out ] || fail "--dot $option has no nodes"
    cmp -s real.out ours.out || fail "--dot $option differs: $(diff real.out ours.out | head -n 6)"
done

# callgrind's file: the same calls.
calls() {
    python3 -c '
import re, sys
names, lines, call = {}, set(), []
for line in sys.stdin:
    line = line.rstrip("\n")
    found = re.match(r"(c?f[ln])=(\((\d+)\))? ?(.*)", line)
    if found:
        key = (found.group(1)[-1], found.group(3))
        if found.group(4):
            names[key] = found.group(4)
        call.append(names.get(key, found.group(4)))
    elif line == "" and call:
        if all(re.search("plain.c|shared.c|keep|main", part) for part in call[:1]):
            lines.add(" ".join(call))
        call = []
    elif line:
        call.append(line)
print("\n".join(sorted(line for line in lines if not re.search("libc|pthread|allocate_", line))))'
}
jeprof --callgrind plain "$all" 2>/dev/null | calls >real.out
links/jeprof --callgrind plain "$all" 2>/dev/null | calls >ours.out
[ -s ours.out ] || fail "--callgrind prints nothing"
cmp -s real.out ours.out || fail "--callgrind differs: $(diff real.out ours.out | head -n 6)"

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
