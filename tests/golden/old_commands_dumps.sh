#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# The old commands on what the real allocators write: dumps of Debian's libjemalloc and libtcmalloc,
# CPU profiles of libprofiler and the leaks that gperftools' checker finds, of programs in C and
# optimised C++, with and without debugging information, with and without position.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
need jeprof google-pprof python3 ldconfig
library() {
    ldconfig -p | sed -n "s/.*$1 .* => //p" | head -n 1
}
jemalloc=$(library 'libjemalloc\.so\.2') tcmalloc=$(library 'libtcmalloc\.so\.4')
profiler=$(library 'libprofiler\.so\.0')
[ -n "$jemalloc" ] || skip "libjemalloc.so.2 is not installed"
[ -n "$tcmalloc" ] && [ -n "$profiler" ] || skip "libtcmalloc.so.4 or libprofiler.so.0 is not installed"
sources=$here/old_commands
cd "$place" || exit 2
unset JEPROF_TOOLS PPROF_TOOLS PPROF_PATH
export HOME="$place" PPROF_TMPDIR="$place/pprof" MEMOIR_CACHE="$place/cache"
. "$sources/compare.sh"

# Without discriminators of lines, which jeprof prints as part of the line.
dwarf="-gdwarf-3 -gstrict-dwarf"
build -O0 $dwarf -shared -fPIC "$sources/shared.c" -o libshared.so
mkdir stripped && strip -o stripped/libshared.so libshared.so
for kind in "plain -O0 $dwarf" "fixed -O0 -no-pie $dwarf" "quick -O2 -g0"; do
    # shellcheck disable=SC2086
    build ${kind#* } "$sources/plain.c" -L. -lshared -Wl,-rpath,"$place" -o "${kind%% *}"
done
for kind in 'store -g' 'store_bare -g0' 'store_whole -g -flto' 'store_fixed -g -no-pie'; do
    # shellcheck disable=SC2086
    "$CXX" -O2 -w ${kind#* } "$sources/store.cc" -pthread -o "${kind%% *}" || exit 2
done
strip -o store_strip store

# dump PROGRAM ARGUMENT...: je_PROGRAM.heap, js_PROGRAM.heap (sampled), gp_PROGRAM.heap, PROGRAM.cpu
dump() {
    program=$1
    shift
    for kind in je:0 js:12; do
        MALLOC_CONF=prof:true,prof_final:true,prof_accum:true,lg_prof_sample:${kind#*:},prof_prefix:${kind%:*}_$program \
            LD_PRELOAD=$jemalloc "./$program" "$@" >/dev/null 2>&1
        mv "${kind%:*}_$program".*.heap "${kind%:*}_$program.heap" || exit 2
    done
    HEAPPROFILE=$place/gp_$program LD_PRELOAD=$tcmalloc "./$program" "$@" >/dev/null 2>&1
    mv "gp_$program.0001.heap" "gp_$program.heap" || exit 2
}
for program in plain fixed quick; do
    dump $program 6
done
names_or_skip plain je_plain.heap
for program in store store_bare store_whole store_fixed store_strip; do
    dump $program 1000
done
# Without allocations: which of libc's functions a sample falls into is chance.
for program in plain store_fixed; do
    CPUPROFILE=$place/$program.cpu CPUPROFILE_FREQUENCY=500 LD_PRELOAD=$profiler \
        ./$program 0 60000000 >/dev/null 2>&1
    [ -s $program.cpu ] || { echo "no CPU profile of $program"; exit 2; }
done

# Every block and samples, of a program at its place and elsewhere.
said jeprof --text plain je_plain.heap
for option in --show_bytes --cum --lines --alloc_space --alloc_objects --addresses \
    --focus=keep_deep --ignore=keep_large '--retain=keep|main' --thread=1 '--thread=*'; do
    same jeprof --text "$option" plain js_plain.heap
done
# Without prof_accum the dump has live blocks only: all allocations are 0 for jeprof, not these.
sed 's/\[[0-9]*: [0-9]*\]/[0: 0]/' je_plain.heap >live_only.heap
same jeprof --text --inuse_objects plain live_only.heap
for command in jeprof "$place/links/jeprof"; do
    for option in --alloc_space --alloc_objects; do
        "$command" --text $option plain live_only.heap >live.out 2>live.err ||
            fail "$command $option of live blocks: $(cat live.err)"
        [ ! -s live.out ] || fail "$command $option of live blocks: $(head -n 3 live.out)"
    done
done
same jeprof --text --show_bytes fixed je_fixed.heap
same jeprof --text --show_bytes quick je_quick.heap
same jeprof --text --cum --alloc_space quick js_quick.heap
same jeprof --list=keep_deep plain je_plain.heap
alike disasm jeprof --disasm=keep_deep plain je_plain.heap
alike collapsed jeprof --collapsed plain je_plain.heap
alike callgrind jeprof --callgrind fixed je_fixed.heap
for option in '' --lines --nodecount=6 --focus=in_thread; do
    # shellcheck disable=SC2086
    alike dot jeprof --dot $option plain je_plain.heap
done
# A base of another run would need the addresses to be the same there; where the program has its
# place, its own are.
setarch -R env MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:first LD_PRELOAD="$jemalloc" \
    ./plain 2 >/dev/null 2>&1
setarch -R env MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:second LD_PRELOAD="$jemalloc" \
    ./plain 5 >/dev/null 2>&1
if [ -n "$(echo first.*.heap)" ] && [ -n "$(echo second.*.heap)" ]; then
    mv first.*.heap first.heap && mv second.*.heap second.heap
    same jeprof --text --show_bytes plain --base=first.heap second.heap
    same jeprof --text --show_bytes plain --base=second.heap first.heap
    same jeprof --text --inuse_objects plain first.heap second.heap
    alike dot jeprof --dot plain --base=first.heap second.heap
fi

said google-pprof --text plain gp_plain.heap
for option in --show_bytes --lines --files --inuse_objects --alloc_space --addresses \
    --focus=keep_deep --show_addresses; do
    same google-pprof --text "$option" plain gp_plain.heap
done
same google-pprof --text --show_bytes quick gp_quick.heap
same google-pprof --text --lines fixed gp_fixed.heap
same google-pprof --list=keep_deep plain gp_plain.heap
alike stacks google-pprof --text --stacks plain gp_plain.heap
alike collapsed google-pprof --collapsed plain gp_plain.heap
alike raw google-pprof --raw plain gp_plain.heap
alike dot google-pprof --dot --alloc_space plain gp_plain.heap
# The file of --raw goes on without the program, at the real one, too.
links/google-pprof --raw plain gp_plain.heap >ours.raw 2>/dev/null
google-pprof --raw plain gp_plain.heap >real.raw 2>/dev/null
google-pprof --text ours.raw 2>/dev/null | own >ours.out
google-pprof --text real.raw 2>/dev/null | own >real.out
differ "a file of --raw"
same google-pprof --text --cum real.raw

for option in --cum --lines --addresses --files --focus=burn_more; do
    same google-pprof --text $option plain plain.cpu
done
alike raw google-pprof --raw plain plain.cpu
alike collapsed google-pprof --collapsed plain plain.cpu
alike dot google-pprof --dot plain plain.cpu
same google-pprof --text --cum store_fixed store_fixed.cpu

# Optimised C++. What is inlined has a name of its own here, not that of the function around it; the
# functions themselves stand for the same.
for program in store store_bare store_whole store_fixed; do
    alike cum jeprof --text --show_bytes $program je_$program.heap
    alike cum google-pprof --text --show_bytes $program gp_$program.heap
done
alike cum jeprof --text --alloc_objects store js_store.heap
links/jeprof --text --show_bytes store je_store.heap 2>/dev/null >ours.out
grep -q 'helper (inline)' ours.out || fail "jeprof has no helper, which is inlined"
for program in store store_bare; do
    links/jeprof --text --show_bytes $program je_$program.heap 2>/dev/null |
        grep -q 'malloc_usable_size\|libjemalloc' && fail "jeprof shows the allocator's own code"
done

# The shells, with the same lines; how help says it is each one's own.
cat >typed <<'END'
top
top3
top20 --cum
top --lines
top5 -keep_large
text5
list keep_deep
disasm keep_deep
callgrind calls.grind

  top2
top0
top-1
nosuch
END
shells() { # COMMAND PROFILE
    "$1" --interactive plain "$2" <typed 2>real.err | own | python3 "$canon" disasm >real.out
    mv calls.grind real.grind
    "links/$1" --interactive plain "$2" <typed 2>ours.err | own | python3 "$canon" disasm >ours.out
    differ "the shell of $1"
    mv calls.grind ours.grind
    for name in real ours; do
        python3 "$canon" callgrind <$name.grind >$name.calls
        grep -v '^Use of uninit' $name.err >$name.said
    done
    [ "$1" = google-pprof ] || cmp -s real.calls ours.calls || fail "the shell of $1 writes other calls"
    cmp -s real.said ours.said || fail "the shell of $1 says something else: $(diff real.said ours.said)"
}
shells jeprof je_plain.heap
sed -i '/^list/d; /^disasm/d' typed # for which google-pprof disassembles all libraries
shells google-pprof gp_plain.heap
printf 'top (\nlist (\ntop2\n' | links/jeprof --interactive plain je_plain.heap 2>/dev/null | grep -q keep_large ||
    fail "a wrong expression ends the shell"

# A library and a program without symbols: sums are the same, what is unknown has its place.
links/jeprof --text --show_bytes store_strip je_store_strip.heap 2>/dev/null >ours.out
jeprof --text --show_bytes store_strip je_store_strip.heap 2>/dev/null | head -n 1 >real.out
[ "$(head -n 1 ours.out)" = "$(cat real.out)" ] || fail "a stripped program has another total"
grep -q ' store_strip+0x' ours.out || fail "unknown code of a stripped program has no place"
LD_LIBRARY_PATH=$place/stripped MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:bare \
    LD_PRELOAD=$jemalloc ./plain 6 >/dev/null 2>&1
mv bare.*.heap bare.heap
same jeprof --text --show_bytes plain bare.heap

# A library that was moved, found by --lib_prefix as it is there.
mkdir -p "moved$place" && mv libshared.so "moved$place/" && cp stripped/libshared.so .
same jeprof --text --lines --lib_prefix="$place/nosuch/,$place/moved" plain je_plain.heap
links/jeprof --text --lines --lib_prefix="$place/nosuch,$place/moved/" plain je_plain.heap 2>/dev/null |
    grep -q 'shared_keep .*shared\.c:10' || fail "--lib_prefix finds no lines"
cp "moved$place/libshared.so" .

# What is odd ends as it does there, and says what is wrong.
odd() { # PATTERN COMMAND OPTION...
    pattern=$1
    shift
    ends "$@"
    grep -q "$pattern" ours.err || fail "no '$pattern' in: $(cat ours.err)"
}
: >empty.heap
odd 'comes first' jeprof --text je_plain.heap plain
odd 'comes first' google-pprof --text plain plain
odd 'it is empty' jeprof --text plain empty.heap
odd 'it is empty' google-pprof --text plain --base=empty.heap gp_plain.heap
odd 'does not exist' jeprof --text nosuch je_plain.heap
odd 'No nodes to print' jeprof --dot --focus=nosuch plain je_plain.heap
odd 'No nodes to print' google-pprof --svg --focus=nosuch plain gp_plain.heap
odd 'has 0 1' jeprof --text --thread=77 plain je_plain.heap
odd 'Using local' jeprof --list=nosuch plain je_plain.heap
said google-pprof --text --no-auto-signal-frm plain plain.cpu
# A program of another kind names nothing that it does not have.
links/jeprof --text --show_bytes /bin/true je_plain.heap 2>/dev/null >ours.out
grep -q 'plain+0x' ours.out || fail "the code of another program has no place"

# gperftools' checker of leaks calls pprof for names, and its dump is read with --heapcheck.
leaks() { # PPROF
    PPROF_PATH=$1 HEAPCHECK=normal HEAP_CHECK_DUMP_DIRECTORY=$place LD_PRELOAD=$tcmalloc ./plain 3 2>&1 |
        sed -n '/^Leak of/p; s/^.@ [0-9a-f]* //p' | grep -E '^(Leak|keep|main|in_thread|shared)'
}
leaks "$(command -v google-pprof)" >real.out
leaks "$place/links/pprof" >ours.out
differ "the leaks of gperftools' checker"
set -- plain.*._main_-end.heap
mv "$1" leaks.heap || exit 2
same google-pprof --text --heapcheck plain leaks.heap
same google-pprof --text --heapcheck --inuse_objects --lines plain leaks.heap
alike dot google-pprof --dot --heapcheck --inuse_objects plain leaks.heap
echo "$compared comparisons"
finish
