#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# `memoir shell` loads a profile once and asks it again and again: every answer is that of the command
# outside of the shell, whatever was asked before, and no process is made for it.
# shellcheck disable=SC2015 # `fail` may follow both
. "$(dirname "$0")/../programs/common.sh"
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

printf 'main;f;g 5\nmain;g 7\nmain;f;h 11\n' >after.folded
printf 'main;f;g 2\nmain;g 9\nmain;k 4\n' >before.folded

# Verbs that take the base away, narrow, redact or merge change a profile: a copy of it.
cat >lines <<'E'
top
tree
traces
peek g
top g
export -o narrow.folded g
redact --format folded -o -
tree --base before.folded
traces --json
diff before.folded
top
tree
E
while read -r verb rest; do
    case $verb in
    # shellcheck disable=SC2086 # words
    diff) memoir diff after.folded $rest ;;
    # shellcheck disable=SC2086 # words
    *) memoir "$verb" after.folded $rest ;;
    esac || fail "$verb"
done <lines >wanted 2>errors
cp narrow.folded narrow.wanted
memoir shell after.folded <lines >said 2>errors || fail "the shell: $(cat errors)"
cmp -s wanted said || fail "other answers: $(diff wanted said | head -n 20)"
cmp -s narrow.wanted narrow.folded || fail "another file: $(cat narrow.folded)"

# The same with a base that was named at the start.
printf 'tree\ntop\ntree\ntop\n' >lines
for verb in tree top tree top; do memoir $verb after.folded --base before.folded; done >wanted 2>errors
memoir shell after.folded --base before.folded <lines >said 2>errors || fail "with a base: $(cat errors)"
cmp -s wanted said || fail "other answers with a base: $(diff wanted said | head -n 20)"

# Output into files and programs, which may close it early; the next answer is on standard output.
memoir top after.folded >right
printf 'top > one\ntop >> one\ntop | cat >two\ntree | true\ntop\n' >lines
memoir shell after.folded <lines >said 2>errors || fail "output elsewhere: $(cat errors)"
cmp -s right said || fail "output elsewhere: $(cat said errors)"
cat right right >twice
cmp -s twice one && cmp -s right two || fail "output elsewhere: $(cat one two)"

# A session is asked in this process.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    printf 'top\ntree\nexport -o x.folded\ntop --base before.folded\n' >lines
    ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" strace -f -qq -o calls \
        -e trace=fork,vfork,clone,clone3 "$MEMOIR_TOOL" shell after.folded <lines >said 2>errors
    grep -v 'CLONE_THREAD\|resumed' calls | grep -q '(' && fail "children: $(cat calls)"
fi
finish
