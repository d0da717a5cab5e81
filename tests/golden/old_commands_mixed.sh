#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# Perl's commands and memoir's on mixtures of options that people type: bases of all kinds of
# profiles, several profiles, options behind the program, files of --raw without a program, words
# that make no sense together.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
need jeprof google-pprof python3 ldconfig setarch
library() {
    ldconfig -p | sed -n "s/.*$1 .* => //p" | head -n 1
}
jemalloc=$(library 'libjemalloc\.so\.2') tcmalloc=$(library 'libtcmalloc\.so\.4')
profiler=$(library 'libprofiler\.so\.0')
[ -n "$jemalloc" ] && [ -n "$tcmalloc" ] && [ -n "$profiler" ] ||
    skip "libjemalloc.so.2, libtcmalloc.so.4 or libprofiler.so.0 is not installed"
sources=$here/old_commands
cd "$place" || exit 2
unset JEPROF_TOOLS PPROF_TOOLS
export HOME="$place" PPROF_TMPDIR="$place/pprof" JEPROF_TMPDIR="$place/jeprof" MEMOIR_CACHE="$place/cache"
. "$sources/compare.sh"

# Without discriminators of lines, which jeprof prints as part of the line.
dwarf="-gdwarf-3 -gstrict-dwarf"
build -O0 $dwarf -shared -fPIC "$sources/shared.c" -o libshared.so
build -O0 $dwarf "$sources/plain.c" -L. -lshared -Wl,-rpath,"$place" -o plain
build -O0 -no-pie $dwarf "$sources/plain.c" -L. -lshared -Wl,-rpath,"$place" -o fixed
# Two runs at the same addresses, so that the real ones can take one from the other.
for rounds in 2 5; do
    setarch -R env LD_PRELOAD="$jemalloc" \
        MALLOC_CONF=prof:true,prof_final:true,prof_accum:true,lg_prof_sample:0,prof_prefix:je$rounds \
        ./plain $rounds >/dev/null 2>&1
    setarch -R env LD_PRELOAD="$tcmalloc" HEAPPROFILE="$place/gp$rounds" ./plain $rounds >/dev/null 2>&1
    setarch -R env LD_PRELOAD="$profiler" CPUPROFILE="$place/cpu$rounds" CPUPROFILE_FREQUENCY=500 \
        ./fixed 0 ${rounds}0000000 >/dev/null 2>&1
    mv je$rounds.*.heap je$rounds && mv gp$rounds*.0001.heap gp$rounds && mv cpu$rounds* cpu$rounds.prof ||
        skip "no profiles at fixed addresses"
done
names_or_skip plain je5

# By hand, at addresses of functions of a program that is not moved.
inside() { # FUNCTION: some address in it
    printf '0x%x' $((0x$(nm fixed | awk -v name="$1" '$3 == name { print $1 }') + 8))
}
small=$(inside keep_small) large=$(inside keep_large) main=$(inside main)
locks() { # CYCLES COUNT
    printf -- '--- contention\ncycles/second = 2000000000\nsampling period = 100\n'
    printf '  %d %d @ %s %s\n  9000 4 @ %s %s\n' "$1" "$2" "$small" "$main" "$large" "$main"
}
grown() { # BYTES
    printf 'heap profile: 2: %d [ 2: %d] @ growth\n' $((1048576 + $1)) $((1048576 + $1))
    printf '  1: %d [ 1: %d] @ %s %s\n' "$1" "$1" "$small" "$main"
    printf '  1: 1048576 [ 1: 1048576] @ %s %s\n' "$large" "$main"
    printf 'MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 %s\n' "$place/fixed"
}
locks 3000 2 >locks2 && locks 40000 20 >locks5
grown 1000000 >grown2 && grown 3145728 >grown5
google-pprof --raw fixed cpu5.prof >cpu.raw 2>/dev/null
google-pprof --raw plain gp5 >heap.raw 2>/dev/null

# compare KIND COMMAND OPTION...: KIND is said (output and what is said), same (output), ends (exit
# code alone) or one of canon.py's.
while read -r kind words; do
    # shellcheck disable=SC2086
    case $kind in
        said | same | ends) $kind $words ;;
        *) alike "$kind" $words ;;
    esac
done <<'END'
said jeprof plain je5 --text --focus=keep_deep --lines
said jeprof --text plain --focus=main --ignore=keep_small je5
said jeprof --text --lines --cum --inuse_objects plain je5
said jeprof --text --addresses --show_bytes --focus=keep plain je5
said jeprof --text --base=je2 --lines --show_bytes plain je5
said jeprof --text --base=je5 --alloc_space plain je2
said jeprof --text --base=je2 --addresses plain je5
said jeprof --text --base=je2 --cum --focus=keep plain je5
same jeprof --text --base=je2 plain je5 je5
said jeprof --text --retain=keep --exclude=deep --focus=main plain je5
said jeprof --text --focus=plain.c:16 plain je5
said jeprof --text --heapcheck --inuse_objects --lines plain je5
said jeprof --list=keep --base=je2 plain je5
said jeprof --list=keep_deep --alloc_space --show_bytes plain je5
disasm jeprof --disasm=keep --base=je2 plain je5
callgrind jeprof --callgrind --base=je2 plain je5
collapsed jeprof --collapsed --base=je2 plain je5
dot jeprof --dot --base=je2 --nodecount=5 plain je5
dot jeprof --dot --edgefraction=0.3 --maxdegree=1 plain je5
dot jeprof --dot --addresses --nodefraction=0.1 plain je5
said google-pprof --text --base=gp2 --lines --show_bytes plain gp5
said google-pprof --text --base=gp5 plain gp2
said google-pprof --text --base=gp2 --inuse_objects --files plain gp5
said google-pprof --text --alloc_objects --lines --focus=keep_deep --ignore=nosuch plain gp5
said google-pprof --text --show_bytes --show_addresses --lines plain gp5
stacks google-pprof --text --stacks --focus=keep_deep plain gp5
said google-pprof --text --base=cpu2.prof fixed cpu5.prof
said google-pprof --text --base=cpu2.prof --drop_negative --addresses fixed cpu5.prof
same google-pprof --text --cum fixed cpu2.prof cpu5.prof
said google-pprof --text --addresses --focus=burn fixed cpu5.prof
raw google-pprof --raw --focus=burn_more fixed cpu5.prof
dot google-pprof --dot --lines fixed cpu5.prof
said jeprof --text fixed cpu5.prof
said google-pprof --text --base=locks2 fixed locks5
said google-pprof --text --base=locks2 --contentions --lines fixed locks5
said google-pprof --text --lines --mean_delay fixed locks5
said jeprof --text --addresses --contentions fixed locks5
said google-pprof --text --total_delay --contentions fixed locks5
said google-pprof --text --mean_delay --contentions fixed locks5
said jeprof --text --mean_delay --total_delay fixed locks5
said jeprof --text --mean_delay plain je5
said google-pprof --list=keep fixed locks5
dot google-pprof --dot fixed locks5
callgrind jeprof --callgrind fixed locks5
said google-pprof --text --base=grown2 fixed grown5
said google-pprof --text --lines --show_bytes --base=grown2 fixed grown5
collapsed google-pprof --collapsed fixed grown5
said google-pprof --text cpu.raw
said google-pprof --text --cum --focus=burn cpu.raw
same google-pprof --text cpu.raw cpu.raw
said google-pprof --text --show_bytes heap.raw
said google-pprof --text --addresses cpu.raw
said google-pprof --text --files cpu.raw
stacks google-pprof --text --stacks cpu.raw
dot google-pprof --dot cpu.raw
raw google-pprof --raw cpu.raw
ends google-pprof --lines --text cpu.raw
ends google-pprof --disasm=x cpu.raw
ends jeprof --text --focus= plain je5
ends jeprof --text --lines --files plain je5
ends jeprof --text --nodecount=x plain je5
said jeprof -text -cum plain je5
said jeprof --TEXT --no-cum --nolines plain je5
END
echo "$compared comparisons"
finish
