#!/bin/sh
# SPDX-License-Identifier: MIT
# With guard:full and debug:on each block has its stacks: the report names who allocated a block also after
# more stacks than a heap profile keeps.
. "$(dirname "$0")/common.sh"
build -O1 "$root/tests/programs/many_stacks.c" -o "$place/stacks"
run() { # OPTIONS: $place/said
    MEMOIR=$1 LD_PRELOAD=$MEMOIR_LIB "$place/stacks" >"$place/said" 2>&1 && fail "$1: the error was not found"
    named=$(sed -n '/^  allocated by/,/^  [a-z]/p' "$place/said" | grep -c 'stacks')
}
cd "$place" || exit 2
for options in debug:on guard:full; do
    run $options
    [ "$named" -ge 2 ] || fail "$options: no stack of the block's allocation: $(cat "$place/said")"
done
# As many stacks as a heap profile keeps are too few: without that the test would say nothing.
run debug:on,heap.memory:60M
[ "$named" -lt 2 ] || fail "60 MiB are enough for these stacks"
finish
