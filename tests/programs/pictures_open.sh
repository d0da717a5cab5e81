#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every picture of `memoir export`, and of the other verbs, is what its ending says, by the first bytes and, where they are
# installed, by xmllint and dot; wrong wishes are refused before anything is read or written.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2

cat >stacks.folded <<'END'
main;Parser::parse;std::vector<int, std::allocator<int> >::push_back(int const&) 500
main;Parser::parse;"quoted\" <&> ]]>;leaf 250
main;Cache::insert 150
END
printf 'main;Cache::insert 100\nmain;gone 77\n' >before.folded

# begins FILE BYTES
begins() {
    [ "$(head -c ${#2} "$1" | tr '\0' '.')" = "$2" ] || fail "$1 does not begin with $2"
}

export_as() {
    "$MEMOIR_TOOL" export stacks.folded --quiet "$@" || fail "no picture by: $*"
}

export_as -o flame.svg
export_as -o inverted.svg --inverted --reversed --title 'a <title> & "more"' --width 700
export_as -o difference.svg --base before.folded
export_as -o sizes.svg --picture sizes
export_as -o time.svg --picture time
export_as -o graph.dot
export_as -o difference.dot --base before.folded
# A verb draws what it would print.
for verb in report top tree traces sizes time; do
    "$MEMOIR_TOOL" $verb stacks.folded --quiet -o "$verb.svg" || fail "no picture by: $verb"
done
"$MEMOIR_TOOL" diff before.folded stacks.folded --quiet -o diff.svg || fail "no picture by: diff"
"$MEMOIR_TOOL" top stacks.folded Parser --quiet -o focus.dot || fail "no graph by: top"
for verb in top tree; do
    cmp -s "$verb.svg" flame.svg || fail "$verb.svg is another picture than flame.svg"
done
cmp -s diff.svg difference.svg || fail "diff.svg is another picture than difference.svg"
cmp -s time.svg flame.svg && fail "time.svg is a flame graph"
grep -q Cache focus.dot && fail "the picture of top has what its words leave out"
grep -q 'width="700"' inverted.svg || fail "--width has no effect"
for picture in *.svg; do
    begins "$picture" '<?xml version="1.0"'
    grep -Eq 'https?://' "$picture" && ! grep -Eo 'https?://[^" ]*' "$picture" |
        grep -vq '^http://www.w3.org/' || fail "$picture names a host"
    if command -v xmllint >/dev/null; then
        xmllint --noout "$picture" || fail "$picture is not well-formed"
    fi
done
for graph in *.dot; do
    begins "$graph" 'digraph "'
    if command -v dot >/dev/null; then
        dot -Tplain "$graph" >/dev/null 2>message || fail "dot refuses $graph: $(cat message)"
        [ -s message ] && fail "dot complains of $graph: $(cat message)"
    fi
done

if "$MEMOIR_TOOL" export stacks.folded --quiet -o graph.png 2>message; then
    [ "$(head -c 4 graph.png | tail -c 3)" = PNG ] || fail "graph.png is none"
    export_as -o graph.gif && begins graph.gif GIF8
    export_as -o graph.pdf && begins graph.pdf %PDF-
    export_as -o graph.ps && begins graph.ps %!PS
    export_as -o graph.svg --picture graph && begins graph.svg '<?xml'
    grep -q 'Cache::insert' graph.svg || fail "the graph has no names"
else
    grep -q graphviz message || fail "no graph, and no reason: $(cat message)"
    [ -e graph.png ] && fail "half a picture is left"
fi

expect 2 "$MEMOIR_TOOL" export stacks.folded -o x.png --picture time 2>/dev/null
expect 2 "$MEMOIR_TOOL" sizes stacks.folded -o x.png 2>/dev/null
expect 2 "$MEMOIR_TOOL" peek stacks.folded main -o x.svg 2>/dev/null
expect 2 "$MEMOIR_TOOL" export stacks.folded -o x.jpg 2>/dev/null
expect 2 "$MEMOIR_TOOL" export stacks.folded -o x.svg --width 5 2>/dev/null
[ -e x.png ] || [ -e x.jpg ] || [ -e x.svg ] && fail "a refused picture is written"
finish
