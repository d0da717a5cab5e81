#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the command does to a terminal, and to what stands in its place: colours, the pager, pipes that
# are closed early, standard output that is closed or full.
. "$(dirname "$0")/../programs/common.sh"
need_terminal
need python3 less
settle
unset TERM
PATH=$(dirname "$MEMOIR_TOOL"):$PATH
escape=$(printf '\033')
on() { # SETTING... COMMAND...: on a terminal
    python3 "$root/tests/golden/terminal/pty.py" 80 "$@" </dev/null >said
}
colored() { grep -q "$escape\\[[0-9;]*m" said; }

awk 'BEGIN { for (i = 0; i < 3000; i++) print "main;f" i " " i + 1 }' >many.folded
echo 'main;f 5' >few.folded

# colours: on terminals that have them; NO_COLOR and TERM=dumb say no, --color and CLICOLOR_FORCE yes
on PAGER=cat TERM=xterm memoir top few.folded
colored || fail "no colours on a terminal"
on PAGER=cat TERM=xterm NO_COLOR= memoir top few.folded
colored || fail "an empty NO_COLOR counts"
for setting in NO_COLOR=1 TERM=dumb; do
    on PAGER=cat TERM=xterm $setting memoir top few.folded
    colored && fail "colours with $setting"
done
on PAGER=cat TERM=xterm memoir --color=never top few.folded
colored && fail "colours with --color=never"
on PAGER=cat TERM=dumb NO_COLOR=1 memoir top few.folded --color always
colored || fail "no colours with --color always"
memoir top few.folded >said
colored && fail "colours in a pipe"
TERM=xterm CLICOLOR_FORCE=1 memoir top few.folded >said
colored || fail "no colours with CLICOLOR_FORCE"
CLICOLOR_FORCE=0 memoir top few.folded >said
colored && fail "colours with CLICOLOR_FORCE=0"
CLICOLOR_FORCE=1 NO_COLOR=1 memoir top few.folded >said
colored && fail "NO_COLOR is weaker than CLICOLOR_FORCE"
memoir top few.folded --json --color always >said
colored && fail "colours in JSON"
CLICOLOR_FORCE=1 memoir top few.folded -o file.txt && cp file.txt said
colored && fail "colours in a file"

# links: where colours are, but not on consoles that do not know them, and in no pipe
printf 'events: Ir\nfl=/some/where.c\nfn=f\n3 5\n' >place.callgrind
linked() { grep -q "$escape]8;;file:///some/where.c" said; }
on PAGER=cat TERM=xterm memoir top place.callgrind
linked || fail "no link: $(cat said)"
for term in linux vt220 dumb; do
    on PAGER=cat TERM=$term memoir top place.callgrind
    linked && fail "links on TERM=$term"
done
CLICOLOR_FORCE=1 memoir top place.callgrind >said 2>&1
linked && fail "links in a pipe"

# the pager: MEMOIR_PAGER, PAGER, less; none without a terminal, or for TERM=dumb
on TERM=xterm PAGER='sed s/^/paged:/' memoir top few.folded --color never
grep -q '^paged:few.folded' said || fail "no pager: $(cat said)"
on TERM=xterm PAGER=false MEMOIR_PAGER='sed s/^/own:/' memoir top few.folded --color never
grep -q '^own:few.folded' said || fail "no MEMOIR_PAGER: $(cat said)"
on TERM=xterm PAGER='sed s/^/paged:/' memoir help -a --color never
grep -q '^paged:usage' said || fail "help is not paged"
for setting in PAGER= PAGER=cat TERM=dumb PATH=/nowhere; do
    on TERM=xterm $setting "$MEMOIR_TOOL" top few.folded
    grep -q 'few.folded    ' said || fail "with $setting: $(cat said)"
done
PAGER='sed s/^/paged:/' memoir top few.folded >said
grep -q paged said && fail "a pager in a pipe"
on TERM=xterm PAGER=/no/such/pager memoir top few.folded || fail "a wrong PAGER: $?"
grep -q "PAGER is '/no/such/pager', which can't be executed" said || fail "a wrong PAGER: $(cat said)"
grep -q 'few.folded    ' said || fail "nothing is shown with a wrong PAGER: $(cat said)"
on TERM=xterm PAGER='head -n 1' memoir traces many.folded --rows 0 || fail "a pager that is left early: $?"
grep -q 'memoir:' said && fail "a pager that is left early: $(cat said)"
on TERM=xterm memoir top few.folded || fail "less: $?"
grep -q 'few.folded    ' said || fail "less, one screen: $(cat said)"

# who closes a pipe has seen enough
for words in 'traces many.folded --rows 0' 'traces many.folded --rows 0 --json' 'options --json' \
    'pprof -traces many.folded'; do
    # shellcheck disable=SC2086
    memoir $words 2>errors | head -n 1 >said
    grep -v '^Using local file' errors >left
    [ -s left ] && fail "memoir $words | head: $(cat errors)"
    # shellcheck disable=SC2086
    (trap '' PIPE; memoir $words 2>errors | head -n 1 >said)
    grep -v '^Using local file' errors >left
    [ -s left ] && fail "memoir $words | head, SIGPIPE ignored: $(cat errors)"
done

# what can't be written is an error
for words in help 'help -a' 'top few.folded' 'report few.folded' 'tree few.folded --json' 'options' \
    'completion bash' version 'doctor few.folded' ps 'symbols few.folded' 'top few.folded -o -' \
    'export few.folded --format folded -o -'; do
    # shellcheck disable=SC2086
    expect 3 memoir $words >/dev/full 2>errors
    grep -q 'No space left on device' errors || fail "memoir $words >/dev/full: $(cat errors)"
    # shellcheck disable=SC2086
    expect 3 memoir $words >&- 2>errors
    grep -q "can't write standard output" errors || fail "memoir $words >&-: $(cat errors)"
done
expect 1 memoir pprof -top few.folded >/dev/full 2>errors
grep -q 'No space left on device' errors || fail "pprof >/dev/full: $(cat errors)"
for words in 'top few.folded -o /dev/full' 'export few.folded --format folded -o /dev/full'; do
    # shellcheck disable=SC2086
    expect 3 memoir $words >said 2>errors
    grep -q '/dev/full.* No space left on device' errors || fail "memoir $words: $(cat errors)"
done
for words in 'top few.folded -o no/such/file' 'export few.folded -o no/such/file.folded'; do
    # shellcheck disable=SC2086
    expect 3 memoir $words >said 2>errors
    grep -q 'no/such/file.* No such file or directory' errors || fail "memoir $words: $(cat errors)"
done
[ -e - ] && fail "a file of the name -"
finish
