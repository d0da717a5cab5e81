#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=300
#
# Go's pprof, the real one and memoir's, on profiles with labels, inlined functions, comments and
# times: what both print, what they say, and how they end.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
need go python3
go tool pprof -h 2>&1 | grep -q -- -topproto || skip "go tool pprof is another one"
sources=$here/old_commands
cd "$place" || exit 2
unset PPROF_TOOLS
export HOME="$place" PPROF_TMPDIR="$place/pprof" MEMOIR_CACHE="$place/cache" PPROF_BINARY_PATH="$place"
. "$sources/compare.sh"
python3 "$sources/labels.py" labels later cpu other empty columns bare \
    early late never || exit 2

# go_same OPTION...: output, what is said and the way it ends are the same.
go_same() {
    go_ends "$@"
    cmp -s real.err ours.err || fail "pprof $* says something else: $(diff real.err ours.err)"
}

# Labels, frames, columns, units, names of files.
for option in -top -tree -traces -tags -raw -comments -peek=put -list=put -list=handle '-top -lines' \
    '-top -addresses' '-top -files' '-tree -files' '-tree -noinlines' '-top -filefunctions' \
    '-top -tagfocus=thread=main' '-top -tagfocus=get' '-top -tagfocus=get,worker' \
    '-top -tagfocus=request=get,put' '-top -tagfocus=bytes=1kb:' '-top -tagfocus=wait=10ms:' \
    '-top -tagfocus=wait=5ms:1s' '-top -tagfocus=4096' '-top -tagfocus=4kb' \
    '-top -tagfocus=nosuch' '-top -tagignore=worker' '-top -tagignore=:2kb' '-tags -tagshow=thread' \
    '-tags -taghide=bytes' '-top -tagshow=nosuch' '-traces -taghide=wait' '-raw -taghide=.' \
    '-tree -tagroot=thread' '-top -tagroot=nosuch' '-top -tagroot=wait,thread -lines' \
    '-top -tagleaf=request,thread' '-traces -tagleaf=bytes' '-raw -tagroot=thread' \
    '-raw -focus=put' '-raw -hide=put' '-top -focus=nosuch' '-top -hide=nosuch' '-top -show=nosuch' \
    '-top -show=put|main' '-top -hide=put' '-top -show_from=handle' '-top -prune_from=handle' \
    '-top -mean' '-tree -mean' '-top -mean -sample_index=alloc_space' '-top -sample_index=nosuch' \
    '-top -sample_index=9' '-top -inuse_space -alloc_space' '-top -unit=kb' '-top -unit=parsecs' \
    '-top -divide_by=7' '-top -divide_by=0' '-top -normalize' '-top -compact_labels' \
    '-top -relative_percentages -focus=put' '-top -total_delay' '-top -buildid=abc' \
    '-comments -add_comment=hello' '-top -timeout=5' '-top -seconds=3' '--top --cum' \
    '-top -tools=/usr/bin' '-top -trim_path=/build -lines' '-top -source_path=/x/store -lines' \
    '-top -tree' -no_browser '-http=:0 -top'; do
    # shellcheck disable=SC2086
    go_same $option labels.pb.gz
done
for option in -top -tree -raw '-top -unit=ms' '-top -sample_index=samples' '-top -divide_by=7'; do
    # shellcheck disable=SC2086
    go_same $option cpu.pb.gz
done
# Several, differences, and what does not fit or is not there.
for words in 'labels.pb.gz later.pb.gz' '-base=labels.pb.gz later.pb.gz' \
    '-diff_base=labels.pb.gz later.pb.gz' '-base=later.pb.gz -normalize labels.pb.gz' \
    'labels.pb.gz other.pb.gz' '-base=other.pb.gz labels.pb.gz' '-base=cpu.pb.gz labels.pb.gz' \
    '-base=labels.pb.gz -diff_base=labels.pb.gz later.pb.gz' 'labels.pb.gz empty.pb.gz' \
    'empty.pb.gz' 'nosuch.pb.gz' 'labels.pb.gz nosuch.pb.gz' '-base=nosuch.pb.gz labels.pb.gz' \
    'nosuch labels.pb.gz' 'abcdef labels.pb.gz'; do
    # shellcheck disable=SC2086
    go_same -top $words
done
go_same -raw -base=labels.pb.gz later.pb.gz
go_same -raw empty.pb.gz
go_same -traces empty.pb.gz
# Older formats, with maps and without; programs at the usual place are whole.
cat >growth.txt <<'END'
heap profile:      2:  4194304 [     2:  4194304] @ growth
     1:  3145728 [     1:  3145728] @ 0x40119e 0x40136c
     1:  1048576 [     1:  1048576] @ 0x4011d3 0x40136c
MAPPED_LIBRARIES:
00401000-00500000 r-xp 00001000 08:01 77 /bin/server
END
cat >heapz.txt <<'END'
heap profile: 3: 300 [5: 900] @ heapz_v2/524288
1: 100 [2: 300] @ 0x40119e 0x40136c
2: 200 [3: 600] @ 0x4011d3 0x7f0000000100
MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 77 /bin/server
7f0000000000-7f0000001000 r-xp 00001000 08:01 78 /lib/x.so (deleted)
END
sed '/^MAPPED/,$d' heapz.txt >plain.txt
cat >contention.txt <<'END'
--- contention:
cycles/second=2000000000
sampling period=100
  40000 20 @ 0x40119e 0x40136c
  10000 5 @ 0x4011d3 0x40136c
END
cat >mutex.txt <<'END'
--- mutex:
cycles/second=2000000000
sampling period=1
40000 20 @ 0x40119e 0x40136c
10000 5 @ 0x4011d3 0x40136c
--- Memory map: ---
00400000-00500000: /bin/server
END
printf 'goroutine profile: total 5\n3 @ 0x40119e 0x40136c\n2 @ 0x4011d3 0x40136c\n' >goroutine.txt
for file in growth heapz plain contention mutex goroutine; do
    for option in -top -raw -traces '-tree -addresses' -tags '-top -mean' -dot -callgrind; do
        # shellcheck disable=SC2086
        go_same $option $file.txt
    done
done
go_same -raw bare.pb.gz
go_same -tree -lines bare.pb.gz
# Mixtures.
while read -r words; do
    # shellcheck disable=SC2086
    go_same $words
done <<'END'
-top -tagfocus=thread=worker -tagignore=request=put labels.pb.gz
-top -tagfocus=bytes=512b:4kb labels.pb.gz
-top -tagfocus=wait=:10ms labels.pb.gz
-top -tagfocus=thread:main,request:get labels.pb.gz
-top -tagroot=thread,request -tagleaf=bytes labels.pb.gz
-tree -tagroot=request -tagleaf=thread -focus=put labels.pb.gz
-dot -tagroot=thread labels.pb.gz
-dot -tagleaf=bytes -unit=kb labels.pb.gz
-traces -tagroot=wait labels.pb.gz
-peek=handle|put -lines -tagroot=thread labels.pb.gz
-tags -unit=kb -tagfocus=thread=main labels.pb.gz
-tags -base=later.pb.gz labels.pb.gz
-tags -divide_by=2 -sample_index=alloc_objects labels.pb.gz
-comments -base=later.pb.gz labels.pb.gz
-raw labels.pb.gz later.pb.gz
-raw -divide_by=2 -mean labels.pb.gz
-raw -normalize -base=labels.pb.gz later.pb.gz
-raw -diff_base=labels.pb.gz later.pb.gz
-raw -prune_from=handle labels.pb.gz
-raw -show_from=put -tagleaf=wait labels.pb.gz
-top -relative_percentages -tagfocus=thread=main labels.pb.gz
-top -relative_percentages -base=later.pb.gz -focus=put labels.pb.gz
-dot -relative_percentages -focus=put labels.pb.gz
-tree -edgefraction=0.5 -nodecount=4 labels.pb.gz
-tree -trim=false -cum -lines labels.pb.gz
-top -nodecount=-5 labels.pb.gz
-top -unit=gb -sample_index=alloc_objects labels.pb.gz
-top -unit=minutes cpu.pb.gz
-traces -unit=ns cpu.pb.gz
-top -mean -base=labels.pb.gz later.pb.gz
-tree -mean -lines -divide_by=3 labels.pb.gz
-callgrind -mean -unit=kb labels.pb.gz
-callgrind -tagroot=thread -noinlines labels.pb.gz
-callgrind -base=labels.pb.gz labels.pb.gz
-dot -base=labels.pb.gz labels.pb.gz
-top -base=labels.pb.gz -base=labels.pb.gz later.pb.gz
-top -diff_base= -base=labels.pb.gz later.pb.gz
-top -diff_base=labels.pb.gz -normalize later.pb.gz
-dot -drop_negative -base=later.pb.gz labels.pb.gz
-top -focus=store -show=map.cc labels.pb.gz
-top -hide=libstore -ignore=loop.cc -lines labels.pb.gz
-tree -prune_from=Loop -noinlines -addresses labels.pb.gz
-traces -filefunctions -taghide=. labels.pb.gz
-dot -filefunctions -tagshow=thread -unit=b labels.pb.gz
-dot labels.pb.gz later.pb.gz
-top -sample_index=-1 labels.pb.gz
-traces -unit= cpu.pb.gz
-tags -unit= labels.pb.gz
-raw -tagroot=thread -tagleaf=bytes labels.pb.gz
-top -tagleaf=wait -unit=s labels.pb.gz
-top -tagfocus=wait=1ms:2ms,5ms:10s labels.pb.gz
-top -tagfocus=-1kb: labels.pb.gz
-diff_base=labels.pb.gz -tags later.pb.gz
-diff_base=labels.pb.gz -dot -lines later.pb.gz
-base=labels.pb.gz -normalize -dot later.pb.gz
-dot -hide=. labels.pb.gz
-raw -hide=. labels.pb.gz
-top -http= -output= -add_comment= labels.pb.gz
-top -output=/nosuch/x labels.pb.gz
-comments late.pb.gz early.pb.gz
-comments -base=late.pb.gz early.pb.gz
-top -base=early.pb.gz late.pb.gz
-top never.pb.gz late.pb.gz
-top late.pb.gz never.pb.gz
-top -diff_base=late.pb.gz never.pb.gz
-raw -base=early.pb.gz late.pb.gz never.pb.gz
-comments -add_comment=one late.pb.gz
-top -base=growth.txt heapz.txt
-top -base=heapz.txt growth.txt
-top -base=plain.txt heapz.txt
-top -base=contention.txt bare.pb.gz
-top -divide_by=-2 labels.pb.gz
-top -trim=0 -source_path=/a:/b -trim_path=/build/store -lines labels.pb.gz
-tree -compact_labels -base=later.pb.gz labels.pb.gz
END
go_ends -cum -flat -top labels.pb.gz
go_ends -top -nosuch labels.pb.gz
go_ends -top -nodecount=x labels.pb.gz
# Which of them comes first is drawn anew there.
links/pprof -top -lines -files labels.pb.gz >/dev/null 2>ours.err
[ $? -eq 1 ] && grep -q '^conflicting options set: \[files lines\]' ours.err ||
    fail "two granularities are not refused"
# Graphs, byte for byte: which nodes, labels beside them, colours, dotted edges.
for option in '' -lines -files -addresses -mean -nodecount=5 -nodefraction=0.2 -edgefraction=0.2 \
    -hide=run -taghide=thread '-focus=put -trim=false' -base=later.pb.gz -diff_base=later.pb.gz \
    -compact_labels; do
    # shellcheck disable=SC2086
    go_same -dot $option labels.pb.gz
done
go_same -dot cpu.pb.gz
go_same -dot empty.pb.gz
# Trees. Nodes that rank the same stand in an order that is drawn anew there.
go_tree() {
    go tool pprof -symbolize=none -dot -call_tree "$@" 2>/dev/null | python3 "$canon" tree >real.out
    links/pprof -symbolize=none -dot -call_tree "$@" 2>/dev/null | python3 "$canon" tree >ours.out
    differ pprof -dot -call_tree "$@"
}
for option in '' -lines -files -addresses -noinlines -mean -nodecount=5 -nodefraction=0.2 \
    -edgefraction=0.3 -trim=false -focus=put -base=later.pb.gz -diff_base=later.pb.gz; do
    # shellcheck disable=SC2086
    go_tree $option labels.pb.gz
done
for option in -top -tree -callgrind '-callgrind -noinlines' '-callgrind -base=later.pb.gz'; do
    # shellcheck disable=SC2086
    go_same $option -call_tree labels.pb.gz
done
# A file that says itself what is not to be shown, and columns; these two options are of later ones.
for option in -top -tree -raw '-top -lines' '-dot -lines' -callgrind; do
    # shellcheck disable=SC2086
    go_same $option columns.pb.gz
done
links/pprof -symbolize=none -top -lines -showcolumns -all_frames columns.pb.gz 2>/dev/null >ours.out
cat >real.out <<'END'
File: server
Type: space
Showing nodes accounting for 3770B, 100% of 3770B total
      flat  flat%   sum%        cum   cum%
     3020B 80.11% 80.11%      3020B 80.11%  take_pages src/take.cc:99:1
      700B 18.57% 98.67%      3700B 98.14%  take src/take.cc:20
       50B  1.33%   100%       770B 20.42%  both src/fill.cc:15:31
         0     0%   100%      3000B 79.58%  both src/fill.cc:15:2
         0     0%   100%      3000B 79.58%  fill src/fill.cc:7:9 (inline)
         0     0%   100%      3770B   100%  main src/main.cc:30:5
END
differ pprof -showcolumns -all_frames
if go tool pprof -h 2>&1 | grep -q -- -all_frames; then
    for option in -top -tree -traces -dot; do
        go_same $option -lines -showcolumns -all_frames columns.pb.gz
    done
fi
# What a real program of Go's writes: the compiler's CPU profile, and its heap as text.
package=$(go env GOROOT)/src/strconv
if (cd "$package" && go tool compile -p strconv -o "$place/strconv.o" -cpuprofile "$place/compile.cpu" \
    -memprofile "$place/compile.heap" -memprofilerate 65536 $(ls ./*.go | grep -v '_test\|make\|bootstrap')) \
    >/dev/null 2>&1 && [ -s compile.cpu ] && [ -s compile.heap ]; then
    for option in -top -tree -dot -callgrind -traces -raw '-dot -nodecount=20' '-top -cum -focus=ssa' \
        '-dot -lines' '-peek=gc$' '-tree -lines -nodecount=10'; do
        # shellcheck disable=SC2086
        go_same $option compile.cpu
    done
    go_tree -trim=false compile.cpu
    # Names that stand in the text are shown, which the real one does not do.
    links/pprof -top compile.heap 2>/dev/null >ours.out
    awk '/<unknown>/ && $2 + 0 > 50 { exit 1 }' ours.out && grep -q '\.(\*.*)\.' ours.out ||
        fail "Go's text has no names: $(head -n 8 ours.out)"
    go_same -tags compile.heap
    go tool pprof -proto -output=compile.pb.gz compile.heap >/dev/null 2>&1
    for option in -top -dot -callgrind -traces '-top -sample_index=alloc_objects'; do
        # shellcheck disable=SC2086
        go_same $option compile.pb.gz
    done
fi
# Files: callgrind's byte for byte, profiles as the real one reads them.
for words in labels.pb.gz cpu.pb.gz '-focus=put later.pb.gz' '-base=labels.pb.gz later.pb.gz'; do
    # shellcheck disable=SC2086
    go_same -callgrind $words
done
for option in -proto '-proto -focus=put' '-proto -hide=put' '-proto -taghide=wait' \
    '-proto -tagroot=thread' '-proto -tagfocus=get' '-proto -divide_by=3' '-proto -add_comment=x' \
    '-proto -base=later.pb.gz' '-proto -show_from=handle' -topproto '-topproto -lines -cum'; do
    # shellcheck disable=SC2086
    go tool pprof -symbolize=none -output=real.pb.gz $option labels.pb.gz 2>/dev/null
    # shellcheck disable=SC2086
    links/pprof -symbolize=none -output=ours.pb.gz $option labels.pb.gz 2>/dev/null
    for name in real ours; do
        go tool pprof -symbolize=none -raw $name.pb.gz 2>/dev/null | sed 's/flat\(.*\)\[dflt\]/flat\1/' >$name.out
    done
    differ pprof "$option"
done
# The shell: the same lines to both, and all that they answer.
cat >typed <<'END'
o
top
top10
top 3 main
top -cum
top3 > typed.out
focus=put
top
focus
:
peek put
tree 3
lines=true
top2
granularity=functions
granularity=nosuch
sort=cum
top 2
sample_index=alloc_space
top2
sample_index=nosuch
sample_index=7
unit=kb
top2
nodecount=2
top
nosuch
nosuch=3
traces 1
tags
tags get
comments
list
list put
help nosuch
options
tagroot=thread
top3
tagroot=
hide=run
tree 2
top3 -put
divide_by=0
top1
divide_by=1
unit=
o
top1
unit=minimum
mean_inuse_space
top2
total_alloc_objects
top2
inuse_space
sort=x
mean=maybe
mean=NO
nodecount=1.5
edgefraction=x
top1 > nosuch/x
show=put
:
top3
show=

proto
callgrind
raw
quit
END
go tool pprof -symbolize=none labels.pb.gz <typed >real.out 2>real.err
mv typed.out typed.real && rm -f profile0*
links/pprof -symbolize=none labels.pb.gz <typed >ours.out 2>ours.err
differ "the shell of Go's pprof"
cmp -s real.err ours.err || fail "the shell says something else: $(diff real.err ours.err | head -n 12)"
cmp -s typed.real typed.out || fail "> FILE has something else"
[ -s profile001.pb.gz ] && [ -s profile001.callgraph.out ] || fail "the shell writes no files"
printf 'focus=(\ntop1\nfocus=\ntop2\n' | links/pprof labels.pb.gz 2>ours.err | grep -q 'Showing top 2' ||
    fail "a wrong expression ends the shell"
# Names of C++ are cut unless they are to stay; what is said about missing programs is its own.
for mode in '' =local =remote =nosuch =demangle=templates =demangle=full =demangle=none =force; do
    # shellcheck disable=SC2086
    go tool pprof -top ${mode:+-symbolize$mode} labels.pb.gz >real.out 2>/dev/null
    # shellcheck disable=SC2086
    links/pprof -top ${mode:+-symbolize$mode} labels.pb.gz >ours.out 2>/dev/null
    differ pprof "-symbolize$mode"
done
echo "$compared comparisons"
finish
