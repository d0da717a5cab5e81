#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Rates above the kernel's tick: perf events where the kernel allows them, which give as many samples as were
# asked for; the profile says which clock it is from. The program's descriptors, children and programs that it
# becomes know nothing of them. Where events are denied, timers do.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
open_place
build "$root/tests/programs/cpu_events.c" -o "$place/events" 2>"$place/message" || skip "$(cat "$place/message")"
build "$root/tests/programs/cpu_truth.c" -o "$place/truth"
settle

source_for() {
    case $1 in
    all) echo "by perf events" ;;
    user) echo "by perf events for user time, thread timers for the rest" ;;
    none) echo "by thread timers" ;;
    esac
}

# says NAME ALLOWED COMMAND...: a run of 0.4 s at 4,000 Hz, in a folder of its own
says() {
    name=$1 allowed=$2
    shift 2
    mkdir -m 777 "$name"
    "$@" env MEMOIR="cpu:on,cpu.rate:4000,heap:off,capture:$place/$name/run.memoir" LD_PRELOAD="$MEMOIR_LIB" \
        ./truth shares 0 400 >/dev/null 2>errors || fail "$name: exit code $?: $(cat errors)"
    "$MEMOIR_TOOL" report "$name/run.memoir" >said 2>&1
    grep -q "$(source_for "$allowed")\$" said || fail "$name, $allowed is allowed: $(cat said errors)"
    "$MEMOIR_TOOL" export "$name/run.memoir" --metric samples --format folded -o samples 2>message
    count=$(awk '{sum += $NF} END {print sum + 0}' samples)
    [ "$allowed" = none ] || [ "$count" -gt 500 ] || fail "$name: $count samples, not about 1600"
    [ "$allowed" != none ] || [ "$count" -lt 500 ] || fail "$name: $count samples by timers"
}

own=$(./events allowed)
says own "$own"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    user="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    if $user test -r "$MEMOIR_LIB"; then
        says other "$($user ./events allowed)" $user
    fi
fi

[ "$own" = none ] && some=none || some=some
MEMOIR=cpu:on,cpu.rate:4000,heap:off preload ./events files >out 2>&1 || fail "files: exit code $?"
printf 'events %s\nexec none\nchild none\n' $some >expected
cmp -s expected out || fail "what a program finds: $(cat out)"
finish
