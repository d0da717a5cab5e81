#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that free their alternate signal stack and go on (Ruby, at its end): they end as without us, and our
# handlers write nothing into what is in its place by then.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/freed_signal_stacks.c" -o stacks

for option in heap:on heap.rate:0 harden:on debug:on guard:full; do
    for size in 12000 16384 65536; do
        for way in freed moved kept stays passed thread joined ends child; do
            code=0
            MEMOIR=capture:rec.memoir,dump.signal:10,dump.prefix:dump,$option preload \
                ./stacks $size $way >out 2>err || code=$?
            wanted=0
            [ $way != ends ] || wanted=143
            [ $code -eq $wanted ] || fail "$option, $size, $way: status $code, not $wanted: $(cat out err)"
            [ $way = ends ] || grep -q '^fine$' out || fail "$option, $size, $way: $(cat out)"
            rm -f dump-* rec*.memoir
        done
    done
done
if command -v ruby >/dev/null; then
    for option in heap:on debug:on guard:full; do
        code=0
        # shellcheck disable=SC2016 # ruby's $$
        MEMOIR=capture:rec.memoir,$option preload ruby -e 'Process.kill(:TERM, $$); sleep 10' >out 2>err || code=$?
        [ $code -eq 143 ] || fail "ruby with $option ends with $code, not 143"
    done
fi
finish
