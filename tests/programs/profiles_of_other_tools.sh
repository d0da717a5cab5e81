#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that heaptrack, massif, DHAT, callgrind and perf wrote of a real program have the totals in
# `memoir top` that those tools, or their own readers, say. What is not installed is left out.
. "$(dirname "$0")/common.sh"
"$MEMOIR_TOOL" help top >/dev/null 2>&1 || skip "there is no memoir top"
cd "$place" || exit 2
build "$root/tests/programs/profiles_of_other_tools.c" -o target
compared=0

total() { # FILE METRIC [FLAG...]
    file=$1 metric=$2
    shift 2
    "$MEMOIR_TOOL" top "$file" --metric "$metric" --json --quiet "$@" |
        sed -n 's/^  "total": \([-0-9]*\),*$/\1/p'
}

same() { # WORDS WANTED GOT
    compared=$((compared + 1))
    [ -n "$2" ] || fail "$1: the other tool said nothing"
    [ "$2" = "$3" ] || fail "$1: '$3', not '$2'"
}

has() { command -v "$1" >/dev/null 2>&1; }

if has heaptrack && has heaptrack_print; then
    heaptrack -o track ./target >/dev/null 2>&1
    track=$(ls track*)
    heaptrack_print -f "$track" >print.txt 2>/dev/null
    same "heaptrack, calls" "$(sed -n 's/^calls to allocation functions: \([0-9]*\) .*/\1/p' print.txt)" \
        "$(total "$track" alloc_objects)"
    human() { awk -v n="$1" 'BEGIN { if (n < 1000000) printf "%.2fK", n / 1000; else printf "%.2fM", n / 1000000 }'; }
    same "heaptrack, peak" "$(sed -n 's/^peak heap memory consumption: //p' print.txt)" \
        "$(human "$(total "$track" peak_space)")"
    same "heaptrack, end" "$(sed -n 's/^total memory leaked: //p' print.txt)" \
        "$(human "$(total "$track" inuse_space)")"
    same "heaptrack, temporary" "$(sed -n 's/^temporary memory allocations: \([0-9]*\) .*/\1/p' print.txt)" \
        "$(total "$track" temp_objects)"
    same "heaptrack, at its peak" "$(total "$track" peak_space)" "$(total "$track" inuse_space --at peak)"

    # One run, as it was recorded and with heaptrack's names in it.
    heaptrack --raw -o raw ./target >/dev/null 2>&1
    raw=$(ls raw*)
    interpret=$(find /usr/lib/heaptrack /usr/libexec/heaptrack /usr/lib/*/heaptrack /usr/lib/*/libexec \
        -name heaptrack_interpret 2>/dev/null | head -n 1)
    case $raw in *.zst) zstd -dcq "$raw" ;; *.gz) gzip -dc "$raw" ;; *) cat "$raw" ;; esac >raw.plain
    if [ -n "$interpret" ] && "$interpret" <raw.plain >named 2>/dev/null; then
        for metric in alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space temp_objects; do
            same "heaptrack without names, $metric" "$(total named $metric)" "$(total "$raw" $metric)"
        done
        for file in named "$raw"; do # the program's own functions and lines
            "$MEMOIR_TOOL" export -q "$file" --metric alloc_space --show other_tools.c --format folded |
                sort >"folded.$file"
        done
        same "heaptrack without names, functions" "$(cat folded.named)" "$(cat "folded.$raw")"
    fi
fi

if has valgrind; then
    valgrind --tool=massif --massif-out-file=massif.out ./target >/dev/null 2>&1
    same "massif, peak" "$(awk -F= '/^mem_heap_B=/ { bytes = $2 } /^heap_tree=peak/ { print bytes }' massif.out)" \
        "$(total massif.out peak_space)"

    valgrind --tool=dhat --dhat-out-file=dhat.json ./target >/dev/null 2>dhat.txt
    said() { sed -n "s/.*$1: *\([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\\$2/p" dhat.txt | tr -d ,; }
    same "DHAT, bytes" "$(said Total 1)" "$(total dhat.json alloc_space)"
    same "DHAT, blocks" "$(said Total 2)" "$(total dhat.json alloc_objects)"
    same "DHAT, bytes at the peak" "$(said 'At t-gmax' 1)" "$(total dhat.json peak_space)"
    same "DHAT, blocks at the end" "$(said 'At t-end' 2)" "$(total dhat.json inuse_objects)"

    for flags in --dump-instr=no "--dump-instr=yes --dump-line=no" --compress-strings=no --compress-pos=no; do
        # shellcheck disable=SC2086 # several flags
        valgrind --tool=callgrind $flags --callgrind-out-file=calls.out ./target >/dev/null 2>&1
        same "callgrind $flags" "$(sed -n 's/^totals: //p' calls.out)" "$(total calls.out Ir)"
    done
    if has callgrind_annotate; then
        valgrind --tool=callgrind --callgrind-out-file=calls.out ./target >/dev/null 2>&1
        callgrind_annotate --inclusive=yes --threshold=100 calls.out >annotate.txt 2>/dev/null
        "$MEMOIR_TOOL" top calls.out --metric Ir --by function --rows 0 --frames all --csv --quiet >ours.csv
        for name in main work many leaf; do
            wanted=$(sed -n "s/^ *\([0-9,]*\) .*:$name [[].*/\1/p" annotate.txt | head -1 | tr -d ,)
            got=$(awk -F, -v name="$name" 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
                $column["name"] == name { print $column["total"] }' ours.csv | head -1)
            close=$(awk -v a="${wanted:-0}" -v b="${got:-0}" \
                'BEGIN { d = a - b; if (d < 0) d = -d; print (a > 0 && d * 100 <= a) ? "close" : "far" }')
            same "callgrind, $name with its callees: $wanted, here $got" close "$close"
        done
    fi
fi

if has perf && perf record -q -g -F 2000 -o perf.data ./target 200000000 >/dev/null 2>&1 &&
    perf script -i perf.data >perf.txt 2>/dev/null && [ -s perf.txt ]; then
    same "perf script" "$(grep -c '^[^[:space:]#]' perf.txt)" "$(total perf.txt samples)"
    perf script -i perf.data -F comm,pid,tid,time,event,ip,sym,symoff,dso,srcline >perf.txt 2>/dev/null
    same "perf script, more fields" "$(grep -c '^[^[:space:]#]' perf.txt)" "$(total perf.txt samples)"
fi

[ "$compared" -gt 0 ] || skip "none of heaptrack, valgrind and perf is installed"
echo "$compared numbers compared"
finish
