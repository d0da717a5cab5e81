#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The command where a machine lacks something: no /proc, no home, nothing open, no right to write, few
# files. It answers the same, or says what is missing.
# shellcheck disable=SC2015 # `fail` may follow both
. "$(dirname "$0")/../programs/common.sh"
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

printf 'main;f 5\nmain;g 7\n' >few.folded
memoir top few.folded >right

same() { # WHAT, the answer in `said`
    cmp -s said right || fail "$1: $(cat said errors)"
}
env -u HOME -u XDG_CACHE_HOME "$MEMOIR_TOOL" top few.folded >said 2>errors
same "no home"
env -u XDG_CACHE_HOME -u XDG_STATE_HOME HOME="$place/none" "$MEMOIR_TOOL" top few.folded >said 2>errors
same "a home that is not there"
echo top | env -u XDG_CACHE_HOME -u XDG_STATE_HOME HOME="$place/none" "$MEMOIR_TOOL" shell few.folded >said 2>errors
same "a home that is not there, the shell"
build "$root/tests/programs/leaking.c" -o leaking
memoir run -q --exact --lib "$MEMOIR_LIB" -o some.memoir ./leaking >/dev/null 2>&1
env -u XDG_CACHE_HOME HOME="$place/none" "$MEMOIR_TOOL" top some.memoir >/dev/null 2>errors || fail "top: $(cat errors)"
[ ! -e none ] || fail "a home was made: $(find none)"
env -u TERM -u LANG "$MEMOIR_TOOL" top few.folded >said 2>errors
same "no terminal"
memoir top few.folded >said 2>errors <&-
same "no standard input"
(memoir top few.folded 2>&- >said; exit $?) || fail "no standard error: status $?"
same "no standard error"
expect 3 memoir top few.folded >&- 2>errors
grep -q 'standard output' errors || fail "no standard output: $(cat errors)"

# Without /proc: files, standard input and programs are found all the same; processes are not.
if unshare -rm --propagation private mount -t tmpfs none /proc 2>/dev/null; then
    bare() { unshare -rm --propagation private sh -c 'mount -t tmpfs none /proc && exec "$@"' bare "$@"; }
    bare "$MEMOIR_TOOL" top few.folded >said 2>errors
    same "no /proc"
    bare "$MEMOIR_TOOL" top - <few.folded 2>errors | sed 's/^- /few.folded /' >said
    same "no /proc, standard input"
    if [ -e "$(dirname "$MEMOIR_TOOL")/libmemoir.so" ]; then
        bare "$MEMOIR_TOOL" doctor >said 2>errors
        grep -q ' the library: /.*libmemoir' said || fail "no /proc, the library: $(cat said errors)"
    fi
    expect 3 bare "$MEMOIR_TOOL" ps >said 2>errors
    grep -q '/proc shows no processes' errors && [ ! -s said ] || fail "no /proc, ps: $(cat said errors)"
else
    echo "not allowed here: unshare"
fi
finish
