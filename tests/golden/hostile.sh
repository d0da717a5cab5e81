#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# Profiles that are not what they should be, through the command: names that give orders to
# terminals, shells and browsers, numbers beyond all bounds, flags with wrong values, streams that
# are closed or full. Each ends with the exit status and the cause that it should, and what
# is written for machines is what they read.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need_terminal
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

# Stacks whose names have escapes, quotes, tags, and bytes that are no UTF-8.
printf 'main;\033[31mred\a"\\<b>&`id`$(id) 100\nmain;\377\376\302\233 50\nmain;\342\200\256turned 25\n' >names.folded
printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n 1: 100 [1: 100] @ 0x1000 0x2000\n' >a.heap

# refused CODE TEXT COMMAND...: ends with CODE, and says TEXT on standard error, nothing else
refused() {
    code=$1 text=$2
    shift 2
    expect "$code" "$MEMOIR_TOOL" "$@" >out 2>err
    grep -q -- "$text" err || fail "memoir $*: no word of '$text': $(cat err)"
    [ ! -s out ] || fail "memoir $*: output in spite of an error"
}

for verb in top report tree 'peek .' traces sizes churn threads time symbols doctor; do
    # shellcheck disable=SC2086 # words
    set -- $verb
    name=$1
    shift
    "$MEMOIR_TOOL" "$name" names.folded --metric samples "$@" >out 2>err
    python3 - "$name" <<'P' || failures=$((failures + 1))
import sys
for name in "out", "err":
    text = open(name, "rb").read().decode()  # UTF-8, or an error
    for bad in "\033", "\a", "\x9b", "\u202e":
        assert bad not in text, (sys.argv[1], name, bad)
P
    "$MEMOIR_TOOL" "$name" names.folded --metric samples --json "$@" >out 2>err ||
        [ $? -eq 1 ] || { cat err; fail "$name --json: no success"; continue; }
    python3 -m json.tool out >tool.out || fail "$name --json: no JSON"
done

# A program whose file and functions are called so.
build "$root/tests/programs/run_target.c" -g0 -rdynamic -o "$place/plain"
odd=$(printf 'p\033[31m\alain')
python3 - "$odd" <<'P'
import sys
data = open("plain", "rb").read().replace(b"build_index\0", b"b\033[32md\a_in\0")
open(sys.argv[1], "wb").write(data)
P
chmod 755 "$odd"
"$MEMOIR_TOOL" run -q --exact -o odd.memoir "./$odd" >/dev/null 2>err || fail "run of an odd name: $(cat err)"
for words in top report symbols doctor traces 'pprof -top' 'pprof -list=.' 'pprof -disasm=.' \
    'jeprof --text' 'jeprof --list=.' 'jeprof --disasm=.'; do
    # shellcheck disable=SC2086 # words
    "$MEMOIR_TOOL" $words odd.memoir >out 2>&1
    ! LC_ALL=C grep -aq "$(printf '[\033\a]')" out || fail "$words: orders for a terminal: $(cat -v out | grep -a '\^[[G]' | head -3)"
done

# What is for other programs, written to a terminal all the same, gives it no orders.
terminal=$root/tests/golden/terminal/pty.py
for words in 'top --csv' 'churn --csv' 'sizes --csv' 'diff names.folded --csv' 'export --format csv' \
    'export --format folded' 'export --format callgrind' 'export --format massif' 'export --format heaptrack' \
    'export --format symbolized' 'export --format dhat' 'export --format firefox' 'pprof -raw' 'pprof -traces' \
    'pprof -top' 'jeprof --text'; do
    # shellcheck disable=SC2086 # words
    set -- $words
    verb=$1
    shift
    python3 "$terminal" 100 TERM=xterm "$MEMOIR_TOOL" "$verb" "$@" names.folded 2>/dev/null >out
    [ -s out ] || fail "$words: nothing on a terminal"
    python3 - "$words" <<'P' || failures=$((failures + 1))
import sys
text = open("out", encoding="utf-8").read()
# Progress and warnings have colours of our own; names may have none.
assert "\033[31mred" not in text and "\a" not in text and "\x9b" not in text, sys.argv[1]
P
done

for form in svg dot speedscope.json firefox.json graph.svg; do
    picture=
    [ $form != graph.svg ] || picture="--picture graph"
    # shellcheck disable=SC2086 # none or two words
    expect 0 "$MEMOIR_TOOL" -q export names.folded $picture -o "names.$form"
done
python3 - <<'P' || fail "a picture or a file for another tool can't be read"
import json, xml.dom.minidom
xml.dom.minidom.parse("names.svg")
xml.dom.minidom.parse("names.graph.svg")
json.load(open("names.speedscope.json"))
json.load(open("names.firefox.json"))
open("names.dot", encoding="utf-8").read()
P

echo 'main;a 9223372036854775807' >much.folded
refused 3 'add up to more' top much.folded
printf 'heap profile: 5: 7 [5: 7] @ heap_v2/4611686018427387904\n 5: 7 [5: 7] @ 0x1 0x2\n' >rate.heap
refused 3 'add up to more' top rate.heap
refused 1 'add up to more' pprof -top rate.heap
refused 2 'not a regular expression' top a.heap --focus '('
refused 2 'not a regular expression' peek a.heap '('
refused 2 'not a regular expression' list a.heap '('
refused 2 'takes an integer' top a.heap --rows many
refused 2 'takes an integer' top a.heap --rows -1
refused 2 'no block lifetimes' top a.heap --age :1s
refused 2 "can't be compared" diff names.folded a.heap
refused 3 'no function matches' peek a.heap no_such_function
refused 3 'No space left' export a.heap -o /dev/full --format gperftools
expect 3 "$MEMOIR_TOOL" top a.heap >&- 2>err
grep -q 'Bad file descriptor' err || fail "closed output: $(cat err)"
expect 3 "$MEMOIR_TOOL" top a.heap >/dev/full 2>err
grep -q 'No space left' err || fail "full output: $(cat err)"

# A warning does not get into a file that is written while standard error is closed.
expect 0 "$MEMOIR_TOOL" top a.heap no_such_word -o top.json 2>&-
python3 -m json.tool top.json >out || fail "top.json: $(cat top.json)"

# Nobody reads a thousand warnings, and looking for each among them takes long.
awk 'BEGIN { for (i = 0; i < 100000; i++) print "%warn " i; print "main;a 1" }' >warnings
expect 0 "$MEMOIR_TOOL" top warnings >out 2>err
[ "$(grep -c 'says' err)" -eq 20 ] || fail "warnings: $(grep -c 'says' err)"
finish
