# SPDX-License-Identifier: MIT
# helper: sourced by old_commands.sh. Go's pprof, on profiles that have their names in them, so that
# only the reports are compared.
# shellcheck shell=sh disable=SC2154
if ! command -v go >/dev/null 2>&1 || ! go tool pprof -h 2>&1 | grep -q -- -topproto; then
    echo "go tool pprof is not installed: its part is left out"
else
    for number in 1 2; do
        go tool pprof -proto -output=heap$number.pb.gz plain gp.000$number.heap >/dev/null 2>&1
    done
    for option in -top -text -tree -traces -peek=keep_deep -tags -comments -raw '-top -cum' \
        '-tree -cum' '-top -lines' '-top -files' '-top -addresses' '-top -filefunctions' \
        '-top -functions' '-top -noinlines' '-tree -lines' '-traces -lines' '-peek=. -lines' \
        '-top -focus=keep_deep' '-top -ignore=keep_large' '-top -hide=main' '-top -show=keep' \
        '-tree -show_from=main' '-top -prune_from=keep_deep' '-tree -focus=keep_small' \
        '-top -sample_index=alloc_objects' '-top -sample_index=alloc_space' '-top -inuse_objects' \
        '-top -alloc_space' '-top -sample_index=0' '-top -mean' '-top -unit=B' '-top -unit=MB' \
        '-top -divide_by=3' '-top -nodecount=3' '-tree -nodecount=3' '-top -nodefraction=0.2' \
        '-top -edgefraction=0.5' '-top -trim=false' '-top -relative_percentages -focus=keep_deep' \
        '-top -tagfocus=1kb:' '-tags -tagignore=2kb:' '-top -compact_labels' \
        '-top -drop_negative' -list=keep '-list=keep_deep -noinlines' -list=nosuch -peek=nosuch; do
        # shellcheck disable=SC2086
        go_ends $option heap2.pb.gz
    done
    for option in -top -tree '-top -cum' '-top -nodefraction=0' '-top -drop_negative' -traces; do
        # shellcheck disable=SC2086
        go_ends $option -base=heap1.pb.gz heap2.pb.gz
        # shellcheck disable=SC2086
        go_ends $option -diff_base=heap1.pb.gz heap2.pb.gz
        # shellcheck disable=SC2086
        go_ends $option -base=heap2.pb.gz heap1.pb.gz
    done
    go_ends -top heap1.pb.gz heap2.pb.gz
    go_ends -top -normalize -base=heap1.pb.gz heap2.pb.gz
    printf 'top\ntop3\ntop -cum\nfocus=keep_deep\ntop\n:\npeek keep_small\ntree 3\nlines=true\ntop2\nsort=cum\ntop 2\nsample_index=alloc_space\ntop\nquit\n' >typed
    go tool pprof -symbolize=none heap2.pb.gz <typed >real.out 2>/dev/null
    links/pprof -symbolize=none heap2.pb.gz <typed 2>/dev/null >ours.out
    sed -i 's/(pprof) //g' real.out ours.out
    cmp -s real.out ours.out ||
        fail "the shell of Go's pprof differs: $(diff real.out ours.out | head -n 12)"
    for format in dot svg pdf ps png gif; do
        links/pprof -$format heap2.pb.gz >picture.$format 2>/dev/null
        head -c 600 picture.$format | grep -a -q 'digraph\|<svg\|%PDF\|%!PS\|PNG\|GIF8' ||
            fail "-$format draws nothing"
    done
    links/pprof -topproto heap2.pb.gz >rows.pb.gz 2>/dev/null
    go tool pprof -top -sample_index=flat rows.pb.gz 2>/dev/null | grep -q keep_large ||
        fail "-topproto is not read by Go's pprof"
    links/pprof -callgrind heap2.pb.gz 2>/dev/null | grep -q '^fn=.*keep_large' ||
        fail "-callgrind prints no functions"
    links/pprof -http=:0 heap2.pb.gz 2>ours.err
    [ $? -eq 2 ] && grep -q 'memoir report .* -o report.html' ours.err || fail "-http does not say what to do"
    links/pprof -symbolize=none -proto -output=again.pb.gz heap2.pb.gz 2>/dev/null
    go tool pprof -symbolize=none -top heap2.pb.gz >real.out 2>/dev/null
    go tool pprof -symbolize=none -top again.pb.gz >ours.out 2>/dev/null
    cmp -s real.out ours.out || fail "-proto changes the profile: $(diff real.out ours.out)"
fi
