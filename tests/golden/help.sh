#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# `memoir help`: the questions of every day, all commands, every command, every topic; each fits
# into the terminal, and what was misspelt is named only if it is near.
. "$(dirname "$0")/../programs/common.sh"
need_terminal
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

# ten commands of every day, and no more; the same without a word
memoir help >said 2>errors || fail "help"
[ "$(grep -c '^  [a-z]* .*?' said)" = 10 ] || fail "not ten questions: $(cat said)"
for verb in run report top leaks time diff check export ps doctor; do
    grep -q "^  $verb " said || fail "help: no $verb"
done
grep -q '^  merge' said && fail "help: merge is not of every day"
memoir >bare
cmp -s said bare || fail "memoir without a word is not memoir help"
memoir --help >bare
cmp -s said bare || fail "memoir --help is not memoir help"

# all of them: what the completions know, and each can be explained
memoir help -a >all || fail "help -a"
memoir help --all | cmp -s - all || fail "help --all"
memoir help all | cmp -s - all || fail "help all"
verbs=$(memoir completion fish | sed -n 's/.*__fish_use_subcommand -a \([a-z-]*\) .*/\1/p')
[ "$(echo "$verbs" | wc -l)" -gt 25 ] || fail "few commands: $verbs"
for verb in $verbs; do
    grep -q "^  $verb " all || fail "help -a: no $verb"
    memoir help "$verb" | grep -q "^usage: memoir $verb" || fail "help $verb"
    grep -q "^## $verb\$" "$MEMOIR_ROOT/docs/COMMANDS.md" || fail "docs/COMMANDS.md: no $verb"
done
for topic in blame filters formats metrics moments; do
    grep -q "^  $topic " all || fail "help -a: no topic $topic"
    [ "$(memoir help $topic | wc -l)" -gt 4 ] || fail "help $topic"
    memoir completion bash | grep -q " help) .*$topic" || fail "completion: no topic $topic"
    memoir man | grep -q "memoir help $topic" || fail "man: no topic $topic"
done
memoir help metrics | grep -q '^  peak ' || fail "help metrics"
memoir help metrics | grep -q '^  requested ' || fail "help metrics: no word for what was asked for"
memoir help filters | grep -q -- '--prune RE' || fail "help filters"

# at any width of the terminal nothing is cut by it
terminal=$root/tests/golden/terminal/pty.py
PATH=$(dirname "$MEMOIR_TOOL"):$PATH
for words in help 'help -a' 'help run' 'help top' 'help check' 'help ctl' 'help export' 'help leaks' \
    'help filters' 'help metrics' 'help moments' 'help formats'; do
    echo "memoir $words"
done >commands
python3 "$terminal" --wide 40,60,80,120,200 commands >wide
[ -s wide ] && fail "too wide: $(cat wide)"
printf 'memoir options\nmemoir help blame\n' >commands
python3 "$terminal" --wide 80,120 commands >wide
[ -s wide ] && fail "too wide: $(cat wide)"
echo 'echo 12345678901234567890123456789012345678901' >commands
python3 "$terminal" --wide 40,60 commands | grep -c ': 41 columns of 40' | grep -qx 1 ||
    fail "control: a wide line was not noticed"

# what may be meant
says() { # CODE PATTERN WORD...
    code=$1 pattern=$2
    shift 2
    expect "$code" memoir "$@" 2>errors >said
    tr '\n' ' ' <errors | grep -Eq -- "$pattern" || fail "memoir $*: $(cat errors)"
    [ -s said ] && fail "memoir $*: on standard output: $(cat said)"
}
says 2 "no command 'tpo', the nearest is 'top' .* memoir help top" tpo
says 2 "no command 'leeks', the nearest is 'leaks'" leeks
says 2 "no command 'flamegraph' . memoir export -o flame.svg" flamegraph
says 2 "no command or topic 'moment', the nearest is 'moments' .* memoir help moments" help moment
for word in xyzzy vista 42x zz mess; do
    says 2 "^memoir: no command '$word' . memoir help -a" $word
done
says 2 "has no flag '--focsu', the nearest is '--focus'" top --focsu x
says 2 "has no flag '--deb', the nearest is '--debug-path'" top --deb x
says 2 "top has no flag '--max-peak' . it belongs to: memoir help check" top --max-peak 3
says 2 "^memoir: top has no flag '--xyzzy' . memoir help top" top --xyzzy
says 2 "^memoir: top has no flag '-z' . memoir help top" top -z
echo 'main;f 5' >a.folded
says 2 "has no metric 'sampels', the nearest is 'samples'" top a.folded --metric sampels
says 2 "has no metric 'peak' . it has: " top a.folded --metric peak
says 3 'b.folded: No such file.* did you mean a.folded' b.folded
says 3 'is a folder, not a profile.*memoir diff' .
mkdir folder
says 3 'folder is a folder' folder
finish
