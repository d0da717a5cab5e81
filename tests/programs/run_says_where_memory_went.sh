#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# `memoir run`: the program's input, output, signals and end are its own; the summary names the
# functions that have the memory, with numbers that are true; one file is left.
. "$(dirname "$0")/common.sh"
build -no-pie "$root/tests/programs/run_target.c" -o "$place/target"
mkdir "$place/here"
cd "$place/here" || exit 2
memoir() { "$MEMOIR_TOOL" "$@"; }
LC_ALL=C.UTF-8
export LC_ALL

files() { find . -mindepth 1 | sort; }

said() { # PATTERN
    grep -Eq -- "$1" "$place/errors" || fail "no line '$1' in: $(cat "$place/errors")"
}

lines() { # of a summary of the target
    said '^ +peak (5[6-9]|6[0-2])\.[0-9] MiB at .* end 9\.[5-9][0-9]? MiB .* allocated (6[89]|7[0-4])\.?[0-9]* MiB in 30[0-9] K allocations'
    said '^ +largest at peak +(4[789]|5[0-2])\.[0-9] MiB +8[34] % +build_index +.*run_target\.c:[0-9]+$'
    # On a busy machine the program runs long enough to be called growing.
    said '^ +9\.[5-9][0-9]* MiB +1[67] % +keep_some +.*run_target\.c:[0-9]+( +◢ growing)?$'
    said '^ +still live at end +9\.[5-9][0-9]* MiB +(99|100) % +keep_some +.*run_target\.c:[0-9]+( +◢ growing)?$'
    said '^ +most short-lived +(300|29[0-9]) K +(99|100) % +short_lived +.*run_target\.c:[0-9]+$'
}

# exact numbers, the exit code, one file
expect 7 memoir run --exact ../target exit 7 2>"$place/errors"
said "^memoir: [.]{2}/target exit 7   exit 7   .* recorded every block"
lines
[ "$(files | wc -l)" -eq 1 ] || fail "not one file: $(files)"
files | grep -Eq '^\./target-[0-9]{8}-[0-9]{6}-[0-9]+-peak(5[6-9]|6[0-2])M\.memoir$' || fail "named $(files)"
rm -f ./*

# sampled: the same names
expect 0 memoir run --rate 64K ../target 2>"$place/errors"
said 'recorded 1 in 64.0 KiB'
said '±[0-9]+%'
LC_ALL=C memoir run --rate 64K ../target 2>"$place/errors"
said '\+-[0-9]+%'
LC_ALL=C grep -q '[^ -~]' "$place/errors" && fail "not ASCII: $(cat "$place/errors")"
said '^ +largest at peak .* build_index '
said '^ +still live at end .* keep_some '
rm -f ./*

# what no sample tells is counted all the same
cat >little.c <<'E'
#include <stdlib.h>
int main(void) { for (int i = 0; i < 100; i++) { void *volatile block = malloc(1000); free(block); } return 0; }
E
build little.c -o little
expect 0 memoir run ./little 2>"$place/errors"
files | grep -q '/little-.*-peak1\.0K\.memoir$' || fail "named $(files)"
said '^ +peak 1\.00 KiB .*end 0 B     allocated 100 KiB in 100 allocations'
expect 0 memoir run --exact ./little 2>"$place/errors"
said '^ +peak [0-9.]+ KiB .*end 0 B '
rm -f ./*

# calls that gave a block are counted, whatever the rate: malloc, and each realloc
cat >grow.c <<'E'
#include <stdlib.h>
int main(void)
{
    for (int k = 0; k < 100; k++) {
        void *volatile block = malloc(10);
        for (int i = 1; i <= 100; i++)
            block = realloc(block, i * 100);
        free(block);
    }
    return 0;
}
E
build grow.c -o grow
for rate in 4K 64K; do
    expect 0 memoir run --rate $rate -o grow.memoir ./grow 2>"$place/errors"
    said ' allocated 55\.[5-7] MiB in 10\.1 K '
    memoir check grow.memoir --max-allocs 10200 >"$place/errors"
    said '^✓ allocations  10,1[0-9][0-9] '
done
expect 0 memoir run --exact -o grow.memoir ./grow 2>"$place/errors"
said ' allocated 5[0-9]\.[0-9] MiB in 10\.1 K allocations'
memoir report grow.memoir >"$place/errors"
said '^allocated in all: 5[0-9]\.[0-9] MiB'
said '^allocations: 10\.1 K'
rm -f ./*

# what was not recorded any more is not said to be from elsewhere
cat >late.c <<'E'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile block;
int main(void)
{
    for (int i = 0; i < 200; i++) {
        block = malloc(1000);
        usleep(2000);
    }
    block = malloc(100 << 20); /* too soon for another snapshot */
    memset(block, 1, 100 << 20);
    return raise(SIGKILL);
}
E
build late.c -o late
memoir run --exact --every 100ms ./late 2>"$place/errors"
said '^ +RSS +1[0-2][0-9] MiB peak$'
rm -f ./*

# of several processes, the resident memory is that of the one that is shown
cat >mapped.c <<'E'
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    void *all = mmap(NULL, 200 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return all == MAP_FAILED || memset(all, 1, 200 << 20) != all;
}
E
build mapped.c -o mapped
expect 0 memoir run sh -c './mapped && exec ../target' 2>"$place/errors"
said 'the largest of [0-9]+ processes, [0-9]+: ../target'
said '^ +RSS +[67][0-9]\.[0-9] MiB peak$'
rm -f ./*

# the peak is the same number wherever it is said
number() { # COMMAND WORD...: the only number that the words make of its JSON
    memoir "$@" --json >"$place/json" || fail "$*"
    python3 -c "import json; d = json.load(open('$place/json')); print($expression)"
}
expect 0 memoir run --rate 64K --output one.memoir ../target 2>"$place/errors"
expression='d["lists"]["peak"]["total"]' peak=$(number report one.memoir)
expression='max(p["live_bytes"] for p in d["points"])' course=$(number time one.memoir)
expression='d["total"]' top=$(number top --metric peak one.memoir)
expression='sum(r["bytes"] for r in d["sizes"])' sizes=$(number sizes one.memoir)
[ "$peak" -gt 50000000 ] && [ "$course" = "$peak" ] && [ "$top" = "$peak" ] && [ "$sizes" = "$peak" ] ||
    fail "peaks: report $peak, time $course, top $top, sizes $sizes"
rm -f ./*

# what is not from malloc
expect 0 memoir run ../target map 2>"$place/errors"
said '^    RSS  1[89][0-9] MiB peak, 1[23][0-9] MiB of it \([67][0-9] %\) not from malloc$'
expect 0 memoir run ../target 2>"$place/errors"
said '^    RSS  [0-9.]+ MiB peak$'
rm -f ./*

# as many rows; numbers that are rough
expect 0 memoir run --exact -n 1 ../target 2>"$place/errors"
[ "$(grep -c run_target.c "$place/errors")" -eq 3 ] || fail "-n 1: $(cat "$place/errors")"
expect 0 memoir run --rate 100M ../target 2>"$place/errors"
said 'memoir run --exact records every block$'
rm -f ./*

# another name, other formats
for format in memoir pprof jemalloc gperftools; do
    expect 0 memoir run --output "out.$format" --format $format ../target 2>"$place/errors"
    [ "$(files)" = "./out.$format" ] || fail "$format: $(files)"
    case $format in
    memoir) sed -n 1p out.memoir | grep -q memoir || fail "no capture" ;;
    pprof) gzip -t out.pprof || fail "no gzip" ;;
    jemalloc) grep -q '^heap_v2/' out.jemalloc || fail "no heap_v2" ;;
    gperftools) grep -q '^heap profile:' out.gperftools || fail "no heap profile" ;;
    esac
    rm -f ./*
done

# input and output
printf 'one\ntwo\n' | memoir run ../target copy >"$place/out" 2>"$place/errors"
printf 'one\ntwo\n' | cmp -s - "$place/out" || fail "the output is not the program's"
rm -f ./*

# signals: those that are sent to memoir go on to the program, and its end is ours
"$MEMOIR_TOOL" run ../target wait >"$place/out" 2>"$place/errors" &
job=$!
for _ in $(seq 100); do
    grep -q ready "$place/out" && break
    sleep 0.1
done
kill -USR1 "$job"
wait "$job" || fail "wait: exit code $?"
grep -q '^signal 10$' "$place/out" || fail "the signal did not arrive"
rm -f ./*
for number in 1 2 9 15; do
    for signals in on off; do
        got=0
        memoir run --exact --every never --set capture.signals=$signals ../target signal $number 2>"$place/errors" || got=$?
        [ "$got" -eq $((128 + number)) ] || fail "signal $number: exit code $got"
        said "^memoir: [.]{2}/target signal $number   ended by signal $number "
        said '^ +peak .* last seen 9\.[5-9][0-9]? MiB .* allocated (6[89]|7[0-4])\.?[0-9]* MiB in 30[0-9] K allocations'
        [ "$(files | wc -l)" -eq 1 ] || fail "signal $number: not one file: $(files)"
        rm -f ./*
    done
done
memoir run --format pprof ../target signal 15 2>"$place/errors"
gzip -t ./*.pb.gz || fail "a signal: no dump in the format that was asked for: $(files)"
rm -f ./*

# killed: what there was up to that moment
expect 137 memoir run --every 100ms ../target killed 2>"$place/errors"
said '^ +peak .* last seen 9\.[5-9][0-9]? MiB '
said '^ +still live at end .* keep_some '
memoir top >"$place/out" 2>&1
grep -q '^memoir: the program did not exit normally: this is its state when it was last seen' "$place/out" ||
    fail "top of a killed program: $(cat "$place/out")"
rm -f ./*

# the program that matters may be a child of the one that was started
expect 0 memoir run --exact ../target child 2>"$place/errors"
said "^ +the largest of 2 processes, [0-9]+: [.]{2}/target child"
lines
[ "$(files | wc -l)" -eq 1 ] || fail "child: $(files)"
rm -f ./*
expect 3 memoir run --exact sh -c "true; ../target exit 3" 2>"$place/errors"
lines
rm -f ./*

# without symbols there is a place, and no invented name
strip -o ../bare ../target
expect 0 memoir run --exact ../bare 2>"$place/errors"
said '^ +largest at peak +(4[789]|5[0-2])\.[0-9] MiB +8[34] % +bare\+0x[0-9a-f]+'
if grep -q 'build_index' "$place/errors"; then fail "a name from nowhere"; fi
said '^    some sites have no name: see memoir symbols$'
memoir symbols >"$place/out" 2>&1
grep -q ' bare ' "$place/out" || fail "symbols does not say whose: $(cat "$place/out")"
rm -f ./*

# one large block is recorded in any case
build -x c - -o ../large <<'END'
#include <stdlib.h>
int main(void) { return malloc(3000000) == NULL; }
END
expect 0 memoir run ../large 2>"$place/errors"
said '^ +largest at peak +2\.86 MiB +100 % +main '
if grep -q 'no block was recorded' "$place/errors"; then fail "not so: $(cat "$place/errors")"; fi
rm -f ./*

# none is, and none could be: no rate is named
for options in --cpu '--cpu --set heap=off' '--set heap=off'; do
    # shellcheck disable=SC2086
    expect 0 memoir run $options true 2>"$place/errors"
    said 'recorded no blocks$'
    rm -f ./*
done
build "$root/tests/programs/own_allocator.c" -o ../own
expect 0 memoir run ../own 2>"$place/errors"
said '^memoir: capture: nothing to profile: own contains its own malloc'
said '^ +nothing was allocated: it calls no malloc, or contains its own'
memoir doctor own-*.memoir >"$place/errors"
said 'it calls no malloc, or contains its own'
rm -f ./*

# nothing of ours: no file, no line
expect 7 memoir run --no-summary ../target exit 7 2>"$place/errors"
[ ! -s "$place/errors" ] || fail "--no-summary: $(cat "$place/errors")"
expect 7 memoir run --quiet ../target exit 7 2>"$place/errors"
[ ! -s "$place/errors" ] || fail "--quiet: $(cat "$place/errors")"
[ -z "$(files)" ] || fail "not asked for: $(files)"
for flag in --no-summary --quiet; do
    expect 7 memoir run $flag --output quiet.memoir ../target exit 7 2>"$place/errors"
    [ ! -s "$place/errors" ] || fail "$flag: $(cat "$place/errors")"
    memoir top quiet.memoir | grep -q build_index || fail "$flag --output: nothing was recorded"
    rm -f ./*
done
expect 127 memoir run ./nothing 2>"$place/errors"
printf '#!/no/such/interpreter\n' >"$place/orphan"
chmod +x "$place/orphan"
expect 127 memoir run "$place/orphan" 2>"$place/errors"
expect 2 memoir run --rate lots ../target 2>"$place/errors"
expect 3 memoir run --output /nowhere/file ../target 2>"$place/errors"
[ -z "$(files)" ] || fail "left behind: $(files)"
finish
