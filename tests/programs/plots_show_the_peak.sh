#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The plot of memory over time has a flag at the peak, with the number and the time of `memoir peak`,
# and says whether every block was counted or samples were taken.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2
build "$root/tests/programs/run_target.c" -o target

# capture NAME FLAGS...
capture() {
    name=$1
    shift
    "$MEMOIR_TOOL" run --quiet --every 100ms --output "$name.memoir" "$@" ./target >/dev/null ||
        fail "$name: no capture"
    "$MEMOIR_TOOL" export "$name.memoir" --quiet --picture time -o "$name.svg" || fail "$name: no plot"
    "$MEMOIR_TOOL" peak "$name.memoir" >"$name.txt" || fail "$name: no peak"
    peak=$(sed -n '1s/.*: \([0-9.]* [A-Za-z]*\).*/\1/p' "$name.txt")
    time=$(sed -n '1s/.*(\([^)]*\)): .*/\1/p' "$name.txt")
    [ -n "$peak" ] && [ -n "$time" ] || fail "$name: memoir peak says: $(head -n 1 "$name.txt")"
    grep -q ">peak $peak at $time<" "$name.svg" ||
        fail "$name: the flag is not at $peak, $time: $(grep -o '>peak [^<]*' "$name.svg")"
}

capture exact --exact
grep -q 'every block counted' exact.svg || fail "exact.svg does not say that it is"
capture sampled --rate 4096
grep -q 'estimated from samples' sampled.svg || fail "sampled.svg does not say that it is"
grep -Eq 'exact|every block' sampled.svg && fail "sampled.svg says that it is exact"
finish
