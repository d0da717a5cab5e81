#!/bin/sh
# SPDX-License-Identifier: MIT
# What is told of lost blocks beside how many they are: age, class, text, cycles, the lost block that
# points to them; without a stack, too. And reachable blocks that are forgotten: of a site that grows,
# frees nothing and is not written to; not those of a cache, of a table made once, and of memory in use.
set -eu
cxx=${CXX:-c++}
failed=0
$cxx -g -O1 "$MEMOIR_ROOT/tests/programs/lost_blocks_looks.cc" -o looks

wanted() { # WHAT PATTERN FILE
    grep -q -- "$2" "$3" || { echo "$1: no '$2' in:"; cat "$3"; failed=1; }
}
unwanted() { # WHAT PATTERN FILE
    if grep -q -- "$2" "$3"; then echo "$1: '$2' in:"; cat "$3"; failed=1; fi
}

"$MEMOIR_TOOL" run --leaks ./looks >out 2>err && { echo "run: status 0"; failed=1; }
wanted "a list" '^definitely lost: 2.78 KiB at 4 sites' err
wanted "a list" 'with 20 objects, 20.0 KiB, that only these lead to' err
wanted "what they lead to" '20 objects  list_node .*lose_list' err
wanted "what they lead to" '3 objects  cycle_end .*lose_cycles' err
wanted "a class" 'an object of class zoo::lion' err
wanted "a text" 'one begins with "GET /index.html HTTP/1.1"' err
wanted "a cycle" '3 of them in a cycle' err
wanted "an age" 'allocated [0-9.]* .*s before the scan' err
"$MEMOIR_TOOL" leaks --json ./*.memoir >json 2>/dev/null || :
wanted "JSON" '"class": *"zoo::lion"' json
wanted "JSON" '"text": *"GET /index.html HTTP/1.1"' json
wanted "JSON" '"cycles": *3' json
wanted "JSON" '"owned_objects": *20' json
wanted "JSON" '"oldest_us": *[1-9]' json
rm -f ./*.memoir
# Without records there are no stacks: what blocks look like says what they are.
MEMOIR=heap:off,leak.at_exit:on,capture:bare.memoir LD_PRELOAD=$MEMOIR_LIB ./looks
"$MEMOIR_TOOL" leaks --json bare.memoir >json 2>/dev/null || :
wanted "without stacks" '"leaked_bytes": *28[0-9][0-9]' json
wanted "without stacks" '"first_bytes": *"[0-9a-f]*"' json

refused() { # MESSAGE ARGUMENT...
    message=$1
    shift
    status=0
    "$MEMOIR_TOOL" leaks "$@" >said 2>&1 || status=$?
    [ $status = 2 ] || { echo "leaks $*: status $status, not 2"; failed=1; }
    wanted "leaks $*" "$message" said
}
refused "--watch needs the id of a running process" --watch 5s bare.memoir
refused "--watch is for the rules lost and auto" --watch 5s --rule exit $$
refused "--watch can't be '499ms'; accepted: 500ms to 5m" --watch 499ms $$
refused "--watch can't be '301s'; accepted: 500ms to 5m" --watch 301s $$

serve() { # OPTIONS: forgotten blocks of a server
    mkfifo in
    MEMOIR=$1 LD_PRELOAD=$MEMOIR_LIB ./looks serve <in >out 2>err &
    pid=$!
    exec 3>in
    sleep 2
    # On a busy machine blocks may not come evenly: then it is asked again.
    for turn in 1 2 3 4 5 6 7 8; do
        status=0
        "$MEMOIR_TOOL" leaks --watch 1s --json $pid >json 2>said || status=$?
        ! grep -q '"remember"' json || break
        ! grep -q '"watched_ms": *0' json || break
    done
    ! "$MEMOIR_TOOL" ctl $pid leaks 0 >said 2>&1 || { echo "$1: leaks 0 is taken"; failed=1; }
    wanted "$1, leaks 0" 'milliseconds, 1 to 300000' said
    echo >&3
    exec 3>&-
    wait $pid || { echo "$1: the server ends with $?"; failed=1; }
    [ $status = 0 ] || { echo "$1: status $status, not 0"; cat json said; failed=1; }
    wanted "$1" '"leaked_bytes": *0' json
    rm in
    if grep -q '"watched_ms": *0' json; then
        echo "the kernel does not tell what is written to: left out"
        return
    fi
    # From here to "sites": the forgotten ones.
    sed -n '/"forgotten":/,/"sites":/p' json >forgotten
    wanted "$1, a registry" '"remember"' forgotten
    for name in replace work serve; do
        unwanted "$1" "\"$name\"" forgotten
    done
    bytes=$(sed -n 's/.*"forgotten_bytes": *\([0-9]*\).*/\1/p' json)
    [ "$bytes" -gt 100000 ] || { echo "$1: only $bytes bytes are forgotten"; failed=1; }
}
serve heap.rate:0
serve heap.rate:16K
exit $failed
