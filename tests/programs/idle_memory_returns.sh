#!/bin/sh
# SPDX-License-Identifier: MIT
# Memory that lies idle goes back to the kernel within the delay, while the program does a little
# other work, be it 20 mallocs a second, and with a delay of 0 at once. The control: with `never` it
# stays.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/idle_memory_returns.c" -o "$place/program"

resident() { # OPTIONS SECONDS SIZE [PAIRS]
    MEMOIR=$1 preload "$place/program" "$2" "$3" ${4:+"$4"}
}
at_most() { # MIB OPTIONS SECONDS SIZE [PAIRS]
    got=$(resident "$2" "$3" "$4" "${5:-}")
    [ "$got" -le "$1" ] || fail "$2, blocks of $4: $got MiB stay after $3 s"
}

got=$(resident return.delay:never 0.5 30000)
[ "$got" -ge 150 ] || fail "return.delay:never: only $got MiB stay, so nothing below means anything"
for size in 1000 30000 100000 3000000; do
    at_most 30 return.delay:0 0.2 $size
    at_most 30 return.delay:300ms 2 $size
    at_most 30 return.delay:300ms 2 $size 20
done
# The default is 10 s or less.
at_most 30 "" 11 1000
finish
