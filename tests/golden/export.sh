#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# Every export is opened by the program that it is made for: the function with the most memory and
# its bytes are the same there. Filters, redaction and merging show in other programs as well.
# A reader that is not installed is passed over; without any, the test is skipped.
#   MEMOIR_READERS=FOLDER  where npm has put speedscope and @firefox-devtools/profiler-cli
# shellcheck disable=SC2015,SC2016 # `fail` may follow both; programs of awk
set -u
. "${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/programs/common.sh"
cd "$place" || exit 2
export LC_ALL=C HOME="$place" PPROF_BINARY_PATH="$place"
memoir=$MEMOIR_TOOL
readers=0

cat >program.c <<'END'
#include <stdlib.h>
static void *blocks[3000];
__attribute__((noinline)) void keep_big(int i) { blocks[i] = malloc(10000); }
__attribute__((noinline)) void keep_small(int i) { blocks[i] = malloc(100); }
__attribute__((noinline)) void drop(int i) { blocks[i] = malloc(1000); free(blocks[i]); blocks[i] = 0; }
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        keep_big(i);
        keep_small(1000 + i);
        drop(2000 + i);
    }
    return 0;
}
END
build program.c -o program
"$memoir" run --exact --output a.memoir ./program >/dev/null 2>&1
[ -s a.memoir ] || { echo "no capture"; exit 2; }

for ending in pb.gz folded callgrind speedscope.json firefox.json perfetto.json trace.json pftrace dhat.json \
    massif heaptrack heap symbolized csv svg; do
    "$memoir" export -q a.memoir -o "a.$ending" || fail "no a.$ending"
    [ -s "a.$ending" ] || fail "a.$ending is empty"
done

# self FUNCTION FILE: its bytes in folded stacks;  total FILE: all of them
self() { awk -v name="$1" '{ n = $NF; sub(/ [^ ]*$/, ""); k = split($0, f, ";"); if (f[k] == name) s += n } END { printf "%d", s }' "$2"; }
total() { awk '{ s += $NF } END { printf "%d", s }' "$1"; }
big=$(self keep_big a.folded)
all=$(total a.folded)
[ "$big" -ge 10000000 ] && [ "$all" -ge $((big + 100000)) ] || fail "folded: $big of $all"

# Formats of one value have the one of tables and flame graphs: of a program that has ended, its peak.
seen=$("$memoir" top a.memoir --json | sed -n 's/^  "total": \([0-9]*\),$/\1/p')
[ "$all" = "$seen" ] || fail "folded has $all, top $seen"
"$memoir" export -q a.memoir --metric live -o live.folded
live=$(total live.folded)
[ "$live" -lt "$all" ] || fail "at the end $live, at the peak $all"
grep -q 'width is peak_space' a.perfetto.json || fail "perfetto.json: not of the peak"

# same WHAT GOT: a reader's "function bytes" for the function with the most
same() {
    readers=$((readers + 1))
    [ "$2" = "keep_big $big" ] || fail "$1: '$2' instead of 'keep_big $big'"
}
have() { # WHAT PROGRAM...
    what=$1
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 || [ -e "$program" ] || {
            echo "skipped: $what: no $program"
            return 1
        }
    done
}

# The control: another number is noticed.
count=$failures
same control "keep_big 1" >/dev/null
[ "$failures" -eq $((count + 1)) ] || { echo "control: a wrong number was not noticed"; exit 1; }
failures=$count readers=0

if have pprof go && go tool pprof -h >/dev/null 2>&1 || go tool pprof -h 2>&1 | grep -q usage; then
    top='NR == 1 || !/^ *[0-9]/ { next } { sub(/B$/, "", $1); print $NF, $1; exit }'
    for file in a.pb.gz a.heap; do
        same "go tool pprof $file" "$(go tool pprof -top -unit=B ./program $file 2>/dev/null | awk "$top")"
    done
    for type in alloc_space inuse_objects peak_space alloc_requested; do
        go tool pprof -top -sample_index=$type a.pb.gz >out 2>/dev/null || fail "pprof has no $type"
    done
    go tool pprof -top -unit=B -sample_index=inuse_requested a.pb.gz 2>/dev/null | grep -q '10000000B.*keep_big' ||
        fail "pprof: the bytes that were asked for"
    go tool pprof -tags a.pb.gz 2>/dev/null | grep -q 'bytes: Total' || fail "pprof: no label"
    go tool pprof -raw a.pb.gz 2>/dev/null | grep -q 'program.c:4' || fail "pprof: no lines"
    "$memoir" export -q a.memoir --focus keep_small -o f.pb.gz || fail "no filter"
    go tool pprof -top f.pb.gz 2>/dev/null >out
    grep -q keep_small out && ! grep -q keep_big out || fail "pprof: the filter left out the wrong stacks"
fi
for old in google-pprof jeprof; do
    have "$old" "$old" || continue
    line='$NF == "keep_big" { print $NF, $1 }'
    same "$old a.heap" "$("$old" --text --show_bytes ./program a.heap 2>/dev/null | awk "$line")"
    same "$old a.symbolized" "$("$old" --text --show_bytes a.symbolized 2>/dev/null | awk "$line")"
done
if have callgrind callgrind_annotate; then
    same callgrind_annotate "$(callgrind_annotate a.callgrind |
        sed -n 's/^ *\([0-9,]*\) ([^)]*).*:\(keep_big\)\( .*\)*$/\2 \1/p' | tr -d , | head -n 1)"
    callgrind_annotate --inclusive=yes a.callgrind | grep -q "^ *$(echo "$live" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') (100.0%).*:main" ||
        fail "callgrind_annotate: main has not all"
fi
if have massif ms_print; then
    same ms_print "$(ms_print a.massif | sed -n 's/^->[0-9.]*% (\([0-9,]*\)B) 0x[0-9A-F]*: \(keep_big\) .*/\2 \1/p' |
        tr -d , | tail -n 1)"
fi
if have heaptrack heaptrack_print; then
    for cost in leaked peak allocations; do
        heaptrack_print -F "heaptrack.$cost" --flamegraph-cost-type $cost a.heaptrack >heaptrack.out 2>&1
        sed -i 's/ ([^;]*)//g; s/; \([0-9]*\)$/ \1/' "heaptrack.$cost"
    done
    same heaptrack_print "keep_big $(self keep_big heaptrack.leaked)"
    "$memoir" export -q a.memoir --metric peak_space -o peak.folded
    [ "$(total heaptrack.peak)" = "$(total peak.folded)" ] || fail "heaptrack_print: another peak"
    [ "$(total heaptrack.allocations)" = 3000 ] && grep -q '^calls to allocation functions: 3000 ' heaptrack.out ||
        fail "heaptrack_print: $(tail -n 6 heaptrack.out)"
    # Blocks that are freed at once are temporary there, those that outlive a thousand others are not.
    cat >churning.c <<'END'
#include <stdlib.h>
static void *volatile kept[1000];
static void passing(void) { void *volatile block = malloc(300); free(block); }
static void staying(int i) { free(kept[i % 1000]); kept[i % 1000] = malloc(500); }
int main(void)
{
    for (int i = 0; i < 20000; i++) {
        passing();
        staying(i);
    }
    return 0;
}
END
    build churning.c -o churning
    "$memoir" run --exact --output churning.memoir ./churning >/dev/null 2>&1
    "$memoir" export -q churning.memoir -o churning.heaptrack || fail "no churning.heaptrack"
    temporary=$(heaptrack_print churning.heaptrack 2>/dev/null | sed -n 's/^temporary memory allocations: \([0-9]*\) .*/\1/p')
    { [ "${temporary:-0}" -ge 18000 ] && [ "$temporary" -le 20500 ]; } ||
        fail "heaptrack_print: $temporary of 40000 allocations are temporary, not 20000"
fi
printf 'heap profile: 1000000000: 64000000000 [2000000000: 128000000000] @ heapprofile\n1000000000: 64000000000 [2000000000: 128000000000] @ 0x401000 0x402000\n\nMAPPED_LIBRARIES:\n' >many.heap
"$memoir" export -q many.heap -o many.heaptrack 2>many.said && [ ! -s many.said ] || fail "-q: $(cat many.said)"
"$memoir" export many.heap -o many.heaptrack 2>&1 | grep -q 'numbers of calls are not' || fail "nothing said of fewer calls"
view=$(find /usr/libexec/valgrind /usr/lib/valgrind -name dh_view.js 2>/dev/null | head -n 1)
if have dhat node "${view:-dh_view.js}"; then
    node "$root/tests/golden/readers/dhat.js" "$view" a.dhat.json >out || fail "dh_view.js refuses it"
    same dhat "$(sed -n 's/^\([0-9]*\)\t.*: \(keep_big\) .*/\2 \1/p' out)"
    [ "$(awk 'NR == 1 { print $2, $4 }' out)" = "3000 $live" ] || fail "dhat: $(head -n 1 out)"
fi
if have "Perfetto's definitions" python3; then
    python3 "$root/tests/golden/readers/pftrace.py" a.pftrace >out || fail "pftrace: it is not by the definitions"
    same "Perfetto's own format" "$(awk '/^[0-9]/ { last = $5 " " $6 } END { print last }' out)"
    [ "$(awk '/^[0-9]/ { last = $2 } END { print last }' out)" = "$live" ] && grep -q '^counter live heap' out ||
        fail "pftrace: $(cat out)"
fi
if have perfetto node; then
    same perfetto "$(node -e '
        const trace = JSON.parse(require("fs").readFileSync("a.perfetto.json"));
        const boxes = trace.traceEvents.filter((event) => event.ph === "X");
        for (const box of boxes) { // each lies in the one before it, or beside it
            const outer = boxes.filter((b) => b.ts <= box.ts && b.ts + b.dur >= box.ts + box.dur);
            const crossing = boxes.filter((b) => b.ts < box.ts && b.ts + b.dur > box.ts &&
                b.ts + b.dur < box.ts + box.dur);
            if (outer.length === 0 || crossing.length > 0) console.log("boxes cross");
        }
        const points = trace.traceEvents.filter((event) => event.ph === "C" && event.name === "live heap");
        if (points.length === 0) console.log("no counter");
        const big = boxes.find((box) => box.name === "keep_big");
        console.log(big.name, big.args.bytes);')"
fi
npm=${MEMOIR_READERS:-$root/build/readers}/node_modules
speedscope=$npm/speedscope/dist/release
if have speedscope node "$speedscope"; then
    node "$root/tests/golden/readers/speedscope.js" "$speedscope" a.speedscope.json a.folded >out ||
        fail "speedscope refuses it"
    same "speedscope, its own" "$(awk -F '\t' '$1 == "a.speedscope.json" && $2 == "inuse_space" && $3 == "bytes" { print $5, $6 }' out)"
    # A trace of Chrome's: boxes are as wide as their share, and say what they stand for.
    node "$root/tests/golden/readers/speedscope.js" "$speedscope" a.perfetto.json | grep a.perfetto >out.trace ||
        fail "speedscope refuses the trace"
    same "speedscope, trace" "$(awk -F '\t' '{ sub(/ .*"bytes":/, " ", $5); sub(/,.*/, "", $5); print $5 }' out.trace)"
    awk -F '\t' -v big="$big" -v all="$all" '{ d = $6 / $4 - big / all; exit !(d * d < 0.0001) }' out.trace ||
        fail "speedscope, trace: another share: $(cat out.trace)"
    same "speedscope, folded" "$(awk -F '\t' '$1 == "a.folded" { print $5, $6 }' out)"
fi
fox=$npm/@firefox-devtools/profiler-cli/dist/profiler-cli.js
if have 'Firefox Profiler' node "$fox"; then
    # Its command asks a server that it starts itself, but waits only half a second for that one.
    export PROFILER_CLI_SESSION_DIR="$place/fox" PROFILER_CLI_NO_SYMBOLICATE=1
    node "$fox" --daemon a.firefox.json --session own >out 2>&1 &
    server=$!
    until grep -q -e 'loaded successfully' -e ERROR fox/own.log 2>/dev/null || ! kill -0 $server 2>/dev/null; do
        sleep 0.1
    done
    grep -q 'loaded successfully' fox/own.log || fail "the Firefox Profiler refuses it: $(cat out fox/own.log)"
    node "$fox" thread functions --session own --json >out 2>&1
    same "Firefox Profiler" "$(node -e '
        const answer = JSON.parse(require("fs").readFileSync("out"));
        const most = answer.functions[0];
        if (answer.weightType !== "bytes") console.log(answer.weightType);
        if (answer.friendlyThreadName !== "inuse_space") console.log(answer.friendlyThreadName);
        console.log(most.name, most.selfSamples);')"
    node "$fox" thread functions --session own --thread t-1 --json | grep -q '"totalSamples": 3000' ||
        fail "Firefox Profiler: not all objects"
    node "$fox" counter list --session own | grep -q 'c-0: Memory' || fail "Firefox Profiler: no memory over time"
    kill $server 2>/dev/null
    wait $server 2>/dev/null
fi
if have 'flame graphs' flamegraph.pl; then
    same flamegraph.pl "$(flamegraph.pl --countname bytes a.folded | tr -d , |
        sed -n 's/.*<title>\(keep_big\) (\([0-9]*\) bytes.*/\1 \2/p' | head -n 1)"
fi

# Filters hold for every column.
"$memoir" export -q a.memoir --metric alloc -o alloc.folded
for name in keep_small drop; do
    "$memoir" export -q a.memoir --focus "$name" --metric alloc -o f.folded
    [ "$(total f.folded)" = "$(self "$name" alloc.folded)" ] || fail "--focus $name: another total"
done
[ "$(total f.folded)" -ge 1000000 ] || fail "drop has allocated $(total f.folded)"

# Packed, where the name says so; and read again as it is.
for ending in folded callgrind speedscope.json firefox.json dhat.json massif heaptrack heap symbolized csv svg dot; do
    "$memoir" export -q a.memoir -o "plain.$ending"
    "$memoir" export -q a.memoir -o "plain.$ending.gz" && gzip -dc "plain.$ending.gz" | cmp -s - "plain.$ending" ||
        fail "$ending.gz is not what $ending is"
    have packing zstd >/dev/null || continue
    "$memoir" export -q a.memoir -o "plain.$ending.zst" && zstd -dcq "plain.$ending.zst" | cmp -s - "plain.$ending" ||
        fail "$ending.zst is not what $ending is"
done
"$memoir" export -q plain.folded.gz -o again.folded.zst && "$memoir" export -q again.folded.zst -o again.folded &&
    cmp -s again.folded plain.folded || fail "packed stacks do not come back"
"$memoir" export -q a.memoir --format pprof -o p.gz && cmp -s p.gz a.pb.gz || fail "pprof's format is packed twice"
"$memoir" export -q a.memoir --format csv -o c.gz && gzip -dc c.gz | cmp -s - a.csv || fail "--format: not packed"
expect 3 "$memoir" export -q a.memoir -o /dev/full --format folded 2>/dev/null
# Standard output by its name; in a file that others write to as well, nothing of theirs is lost.
"$memoir" export -q a.memoir -o /dev/stdout --format folded | cmp -s - a.folded || fail "/dev/stdout, a pipe"
{ echo first; "$memoir" export -q a.memoir -o /dev/stdout --format folded; } >shared
[ "$(head -n 1 shared)" = first ] && tail -n +2 shared | cmp -s - a.folded || fail "/dev/stdout, a file"
# A limit of size is an error, and leaves what was there; a signal leaves nothing of ours.
awk 'BEGIN { for (i = 0; i < 300000; i++) print "main;f" i % 5000 ";g" i " 5" }' >big.folded
echo kept >limit.csv
for verb in export 'top --rows 0'; do
    # shellcheck disable=SC2086 # words
    (ulimit -f 1; expect 3 "$memoir" $verb -q big.folded -o limit.csv 2>err; exit "$failures") || fail "$verb, a limit"
    grep -q 'can.t write limit.csv: File too large' err || fail "$verb, a limit: $(cat err)"
    [ "$(cat limit.csv)" = kept ] || fail "$verb: a limit changed the file"
done
"$memoir" export -q big.folded -o slow.speedscope.json &
pid=$!
while kill -0 $pid && ! ls slow.speedscope.json.?????? && ! [ -e slow.speedscope.json ]; do :; done >/dev/null 2>&1
kill -TERM $pid
wait $pid
status=$?
[ -e slow.speedscope.json ] || [ $status -eq 143 ] || fail "a signal: status $status"
rm -f slow.speedscope.json
[ "$(find . -name 'slow*' -o -name 'limit.csv.*' | wc -l)" -eq 0 ] || fail "left behind: $(ls -d slow* limit*)"
if [ "$(id -u)" -eq 0 ] && mknod full.folded.gz c 1 7 2>/dev/null; then
    expect 3 "$memoir" export -q a.memoir -o full.folded.gz 2>/dev/null
fi

# What a filter leaves is all that it was: labels, addresses, mappings, build ids.
"$memoir" export -q a.memoir --focus . -o every.pb.gz
cmp -s every.pb.gz a.pb.gz || fail "a filter that keeps everything changes something"
"$memoir" export -q a.memoir --focus keep_small -o f.pb.gz
if have labels go; then
    for file in a f; do
        go tool pprof -raw $file.pb.gz 2>/dev/null >$file.raw
        sed -n '/^Mappings/,$p' $file.raw >$file.mappings
        go tool pprof -raw -focus keep_small $file.pb.gz 2>/dev/null |
            sed -n '/^Samples/,/^Locations/p' | grep -v '^ *[0-9]*: 0x' | sed 's/:.*//; s/ *$//' >$file.samples
    done
    cmp -s a.mappings f.mappings || fail "--focus: other mappings"
    cmp -s a.samples f.samples && grep -q 'bytes:' f.raw || fail "--focus: other samples or labels"
    addresses() { sed -n '/^Locations/,/^Mappings/s/^ *[0-9]*: \(0x[0-9a-f]*\) M=[0-9]* \(.*keep_small\)/\1 \2/p' "$1"; }
    [ -n "$(addresses a.raw)" ] && [ "$(addresses a.raw)" = "$(addresses f.raw)" ] || fail "--focus: other addresses"
fi

# Differences: two columns, and without a base an error that says so.
"$memoir" export -q a.memoir --base a.memoir -o a.diff.folded || fail "no difference"
[ "$(awk '{ a += $(NF - 1); b += $NF } END { print a, b }' a.diff.folded)" = "$all $all" ] ||
    fail "the difference of a profile with itself"
expect 2 "$memoir" export a.memoir -o b.diff.folded 2>err
grep -q -- --base err || fail "no word of --base"

# Redacted: no name is left in any format, the numbers are.
for ending in pb.gz folded callgrind speedscope.json firefox.json perfetto.json pftrace dhat.json massif heaptrack symbolized csv; do
    "$memoir" redact -q a.memoir -o "r.$ending" || fail "redact: no r.$ending"
    cp "r.$ending" plain
    case $ending in *.gz) gzip -dc "r.$ending" >plain ;; esac
    if grep -a -q -e keep_ -e program -e "$(uname -n)" -e "$place" plain; then
        fail "redact: a name is left in r.$ending"
    fi
done
[ "$(total r.folded)" = "$all" ] || fail "redact: another total"
"$memoir" redact -q a.memoir --keep '^keep_big$' -o k.folded
[ "$(self keep_big k.folded)" = "$big" ] && ! grep -q keep_small k.folded || fail "redact --keep"

# Two are twice as many.
"$memoir" merge -q a.memoir a.pb.gz --metric live -o m.folded && [ "$(total m.folded)" = $((2 * live)) ] || fail "merge"

# heaptrack's format has a line for each event: of more objects than any disk has room for, some stand for all.
printf '%s\n' '--- heapz 1 ---' 'format = java' '40000000000 1000000000 @ 0x1' ' 0x1 Main.run (Main.java:12)' >many.heapz
[ "$("$memoir" export -q many.heapz --format heaptrack | head -c 200000000 | wc -c)" -lt 200000000 ] ||
    fail "a line for each of 13 trillion objects"

# What was there stays when there is nothing to write, and no part of a file is left.
echo kept >there.folded
mkdir folder
expect 3 "$memoir" export -q no-such.heap -o there.folded 2>/dev/null
[ "$(cat there.folded)" = kept ] || fail "a failure changed the file"
"$memoir" export -q a.memoir -o there.folded && cmp -s there.folded a.folded || fail "not overwritten"
expect 3 "$memoir" export -q a.memoir -o folder/none/x.folded 2>/dev/null
for words in 'top a.memoir' 'symbols a.memoir --embed' 'check a.memoir --max-peak 1 --junit=there.txt'; do
    echo kept >there.txt
    output="-o there.txt"
    case $words in *junit*) output= ;; esac
    # shellcheck disable=SC2086 # words
    (ulimit -f 0; exec "$memoir" -q $words $output) 2>&1 | cat >err
    [ "$(cat there.txt)" = kept ] && grep -q 'File too large' err || fail "$words: $(cat err), $(cat there.txt)"
done
expect 3 "$memoir" peek -q a.memoir no_such_function -o there.txt 2>/dev/null
[ "$(cat there.txt)" = kept ] || fail "an answer that there is not changed the file"
[ "$(find . -name '*.folded*.??????' | wc -l)" -eq 0 ] || fail "temporary files are left"
"$memoir" export -q a.memoir --format folded | cmp -s - a.folded || fail "standard output"
expect 2 "$memoir" export a.memoir -o x.docx 2>/dev/null
expect 2 "$memoir" export a.memoir -o x.unknown 2>/dev/null
expect 2 "$memoir" export a.memoir 2>/dev/null
expect 2 "$memoir" merge a.memoir -o - 2>err
grep -q -- 'needs --format' err || fail "standard output: $(cat err)"
expect 2 "$memoir" redact a.memoir -o x.svg 2>err
grep -q 'export x.pb.gz -o x.svg' err || fail "redact, pictures: $(cat err)"
"$memoir" merge -q a.memoir a.memoir -o m.svg && grep -q '</svg>' m.svg || fail "merge into a picture"

[ "$failures" -ne 0 ] || [ "$readers" -gt 0 ] || skip "no reader is installed"
finish
