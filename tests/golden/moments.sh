#!/bin/sh
# SPDX-License-Identifier: MIT
#
# --at, --since, --until and --base: each verb and each kind of input does what they say, and says
# which moments it looked at, or refuses with the reason and the next step.
. "$(dirname "$0")/../programs/common.sh"
need python3
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

# 80 KiB a step in ten steps of 100 ms, then all but 40 KiB is freed
cat >steps.c <<'END_OF_FILE'
#include <stdlib.h>
#include <unistd.h>
static void *volatile blocks[100];
__attribute__((noinline)) static void *step(void) { return malloc(8192); }
__attribute__((noinline)) static void brief(void) { free(malloc(50)); }
int main(void)
{
    for (int i = 0; i < 100; i++) {
        blocks[i] = step();
        brief();
        if (i % 10 == 9)
            usleep(100000);
    }
    for (int i = 5; i < 100; i++)
        free(blocks[i]);
    usleep(150000);
    return 0;
}
END_OF_FILE
build steps.c -o steps
memoir run --lib "$MEMOIR_LIB" -q --exact --every 100ms -o steps.memoir ./steps || fail "run"
memoir run --lib "$MEMOIR_LIB" -q --exact -o short.memoir ./steps || fail "run"
memoir export steps.memoir -q -o steps.pb.gz || fail "export"
echo 'main;f 5' >a.folded
number() { # NAME COMMAND...: a member of the JSON
    name=$1
    shift
    memoir "$@" --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$name'])"
}
says() { # PATTERN COMMAND...: in its first lines
    pattern=$1
    shift
    memoir "$@" >said 2>errors || fail "memoir $*: $(cat errors)"
    head -n 2 said | grep -Eq -- "$pattern" || fail "memoir $*: $(head -n 3 said) instead of: $pattern"
}
wrong() { # PATTERN COMMAND...: usage, with a next step
    pattern=$1
    shift
    expect 2 memoir "$@" >said 2>errors
    tr '\n' ' ' <errors | grep -Eq -- "$pattern" || fail "memoir $*: $(cat errors) instead of: $pattern"
    grep -q '^→ ' errors || fail "memoir $*: no next step: $(cat errors)"
    [ -s said ] && fail "memoir $*: $(cat said)"
}

# the head says which moment it is
says 'live heap at peak \([0-9.]+ m?s\): 800 KiB' top steps.memoir
says 'live heap at peak \([0-9.]+ m?s\): 800 KiB' top steps.memoir --at peak
says 'live heap: 40.0 KiB' top steps.memoir --at end
# with room for 100 columns, the course of each place is among them
says '^ +self +total +trend +objects +avg  site$' top steps.memoir
says 'live heap at [0-9]{3} ms: ' top steps.memoir --at 300ms
says 'live heap at peak: 800 KiB' top steps.pb.gz --at peak
[ "$(number total top steps.memoir --at end)" = 40960 ] || fail "--at end"
early=$(number total top steps.memoir --at 250ms)
later=$(number total top steps.memoir --until 650ms)
[ "$early" -lt "$later" ] || fail "--at: $early and $later"

# two of different programs are compared with a word of it
cp steps others
memoir run --lib "$MEMOIR_LIB" -q --exact -o others.memoir ./others || fail "run"
for verb in diff leaks 'check --max-growth 900%'; do
    files='others.memoir steps.memoir'
    [ "${verb%% *}" != check ] || files='steps.memoir --base others.memoir'
    # shellcheck disable=SC2086 # words
    memoir $verb $files >said 2>errors
    grep -q 'others.memoir from others, steps.memoir from steps' errors || fail "$verb: $(cat errors)"
done
memoir diff short.memoir steps.memoir 2>&1 | grep -q 'of the program' && fail "two of one program"

# two are compared at their peaks, if both have ended; else where one says
says '^short.memoir → steps.memoir    live heap at peak( \([0-9.]+ m?s → [0-9.]+ m?s\))?  800 KiB → 800 KiB' \
    diff short.memoir steps.memoir
says 'live heap at the end \([0-9.]+ m?s → [0-9.]+ m?s\)  40.0 KiB → 40.0 KiB' diff short.memoir steps.memoir --at end
says 'live heap \([0-9]{3} ms → [0-9]{3} ms\)  .* new|live heap \([0-9]{3} ms → [0-9]{3} ms\)  .*\+' \
    diff steps.memoir --since 200ms --until 700ms
says 'live heap \([0-9]{3} ms → [0-9]{3} ms\)' top steps.memoir --since 200ms --until 700ms
says 'steps.memoir at [0-9]{3} ms − steps.memoir at [0-9]{3} ms    live heap: ' tree steps.memoir --since 200ms --until 700ms
for verb in tree traces threads churn; do
    memoir $verb steps.memoir --since 200ms --until 700ms >said 2>errors || fail "$verb --since: $(cat errors)"
done
[ "$(number total tree steps.memoir --since 200ms --until 650ms)" -eq \
    $(($(number total tree steps.memoir --until 650ms) - $(number total tree steps.memoir --at 200ms))) ] ||
    fail "tree --since is not the difference"
[ "$(number short_lived churn steps.memoir --since 200ms)" != "$(number short_lived churn steps.memoir)" ] ||
    fail "churn --since counts all"
says 'steps.memoir at [0-9]* ms − steps.memoir' peek steps.memoir step --since 200ms --until 700ms
expect 3 memoir peek steps.memoir step --base short.memoir >said 2>errors
grep -q "'step' is the same in both" errors || fail "peek without a difference: $(cat errors)"

# a part of the run
memoir time steps.memoir --csv >all.csv
memoir time steps.memoir --csv --since 300ms --until 600ms >part.csv
[ "$(wc -l <part.csv)" -lt "$(wc -l <all.csv)" ] || fail "time --since has all points"
awk -F, 'NR > 1 && ($1 < 0.3 || $1 > 0.6) { exit 1 }' part.csv || fail "time: points outside: $(cat part.csv)"
memoir time steps.memoir --since 300ms --until 600ms | grep -q '^ *300 ms .* 600 ms$' || fail "time: no axis"

# values that mean nothing, alone or together
for flag in --at --since --until; do
    for value in soon 1x -1s '' PEAK 00:30 '1 s'; do
        wrong "$flag can't be '$value' .*memoir help moments" top steps.memoir $flag "$value"
    done
done
wrong 'no data at 99h: the recording ends after' top steps.memoir --at 99h
wrong 'no data at 99h' diff steps.memoir --since 99h
wrong 'there is no snapshot 999: those of this capture are 0 to ' top steps.memoir --at 999
wrong '--since 3s is not before --until 1s' top steps.memoir --since 3s --until 1s
wrong '--since end is not before the moment' top steps.memoir --since end
wrong "--at and --until exclude each other" top steps.memoir --at 1s --until 2s
wrong "--base and --since exclude each other" top steps.memoir --base short.memoir --since 200ms
wrong 'has a single moment: --since needs an earlier one' top a.folded --since 1s
wrong '--since needs a single capture' top steps.memoir short.memoir --since 200ms
for moment in 1s peak 3; do
    wrong "a single moment, so there is no '$moment'.*memoir run --every" top a.folded --at $moment
done
wrong "a single moment, so there is no '1s'" top steps.pb.gz --at 1s
says 'samples: 5' top a.folded --at end
# verbs that can do nothing with them
for verb in report sizes symbols doctor; do
    wrong "$verb shows a single moment, so --since does not apply" $verb steps.memoir --since 200ms
    wrong "$verb shows a single moment, so --base does not apply" $verb steps.memoir --base short.memoir
done
memoir redact steps.memoir --base short.memoir -q -o r.pb.gz || fail "redact --base: $?"
wrong 'time shows a whole run' time steps.memoir --at 200ms
wrong 'time shows a whole run' time steps.memoir --base short.memoir
wrong 'the picture of memory over time shows the whole run' time steps.memoir --since 200ms -o x.svg
finish
