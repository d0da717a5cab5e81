#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# memoir check of a sampled recording: totals are decided by what the allocator counted, to the last
# byte; a part that samples can't decide is a warning with exit status 0, and 1 with --strict; a
# pattern that fits no stack is an error, one that fits and has nothing live is not.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >parts.c <<'END'
#include <stdlib.h>
#include <string.h>
static void *volatile keep[20000];
static int kept;
__attribute__((noinline)) static void stays(void)
{
    keep[kept++] = malloc(4000);
}
__attribute__((noinline)) static void passes(void)
{
    free(keep[0]);
    keep[0] = malloc(4000);
}
__attribute__((noinline)) static void copies(void)
{
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    keep[kept++] = strdup(text);
}
int main(void)
{
    kept = 1;
    for (int i = 0; i < 9000; i++) {
        stays();
        passes();
        copies();
    }
    free(keep[0]);
    return 0;
}
END
${CC:-cc} -g -O1 -fno-builtin parts.c -o parts
"$MEMOIR_TOOL" run --rate 512K --lib "$MEMOIR_LIB" --output sampled.memoir ./parts 2>run.log
"$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output exact.memoir ./parts 2>run.log

fail() {
    echo "FAIL: $*"
    cat out err
    exit 1
}
# expects STATUS ARGUMENTS...: of memoir check
expects() {
    wanted=$1
    shift
    status=0
    "$MEMOIR_TOOL" check "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || fail "check $*: exit $status, not $wanted"
}
says() {
    grep -q -- "$1" out err || fail "it does not say: $1"
}

# Totals: the allocator's own, exact at any rate of samples.
field() {
    "$MEMOIR_TOOL" report "$1" --json | sed -n "s/^  \"$2\": \([0-9]*\),\{0,1\}\$/\1/p"
}
live=$(field sampled.memoir live_bytes)
blocks=$(field sampled.memoir allocations)
[ "$live" -gt 50000000 ] && [ "$blocks" -ge 27000 ] || fail "live $live, allocations $blocks"
expects 0 sampled.memoir --strict --max-live "$live" --max-allocs "$blocks"
expects 1 sampled.memoir --max-live $((live - 1))
expects 1 sampled.memoir --max-allocs $((blocks - 1))
expects 0 sampled.memoir --base sampled.memoir --max-live 0% --strict
expects 1 exact.memoir --max-live $((live / 2))

# A pattern that fits nothing: an error which names all such lines. Words are patterns, too.
printf 'nowhere 1G\nstays 1G\n\n# more\nneither 1G allocs\n' >stale
for file in sampled exact; do
    expects 2 $file.memoir --budget stale
    says "stale:1: 'nowhere' matches no stack of $file.memoir; neither do the patterns of line 5"
    expects 2 $file.memoir nowhere --max-live 1G
    says 'matches the filters'
done

# One that fits, and has nothing live: every block was recorded, so that is 0 and passes; of samples
# it is known only to three times the rate.
echo 'passes 0' >gone
expects 0 exact.memoir --budget gone --strict
expects 0 sampled.memoir --budget gone
says 'inconclusive: up to 1.50 MiB may be missing from the samples'
says "1 of 1 limits can't be decided from samples; --strict"
expects 1 sampled.memoir --budget gone --strict --junit junit.xml
says '^FAIL'
grep -q 'failures="1" skipped="0"' junit.xml && grep -q '<failure' junit.xml || fail "$(cat junit.xml)"
echo 'passes 1600K' >gone
expects 0 sampled.memoir --budget gone --strict
echo 'passes 0' >gone
"$MEMOIR_TOOL" check sampled.memoir --budget gone --json >out
grep -q '"pass": true' out && grep -q '"verdict": "inconclusive"' out || fail "JSON"
"$MEMOIR_TOOL" check sampled.memoir --budget gone --json --strict >out && fail "JSON: exit 0"
grep -q '"pass": false' out && grep -q '"strict": true' out || fail "JSON of --strict"
expects 1 sampled.memoir --budget gone --strict --github
says '^::error'

# A limit inside of the noise, one far below it, and one that no part of the heap can exceed.
echo 'stays 36M' >near
expects 0 sampled.memoir --budget near
says 'inconclusive: known to ±'
expects 1 sampled.memoir --budget near --strict
echo 'stays 10M' >low
expects 1 sampled.memoir --budget low
echo "stays $live" >whole
expects 0 sampled.memoir --budget whole --strict

# Code of libraries that memory is not credited to is part of the stacks all the same.
echo 'strdup 1M' >library
expects 1 exact.memoir --budget library
echo 'libc.so 1M' >library
expects 1 exact.memoir --budget library
