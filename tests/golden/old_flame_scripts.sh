#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too sanitized-too
# flamegraph.pl and difffolded.pl as guides use them: folded stacks, differences of two files, and
# the table of jeprof --text, of which a graph of one level is drawn with a line about the better way.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
settle
ln -s "$MEMOIR_TOOL" flamegraph.pl
ln -s "$MEMOIR_TOOL" difffolded.pl
printf 'main;a;b 10\nmain;c 5\n' >before
printf 'main;a;b 20\nmain;a;b 10\nmain;d 0x12ab 7\n' >after

# titles COMMAND...: the frames of the picture that it prints
titles() {
    "$@" 2>messages | sed -n 's:.*<title>\([^<]*\)</title>.*:\1:p' | grep -v '^all ' | tr '\n' '|'
}
same() {
    [ "$1" = "$2" ] || fail "$3: '$1', expected '$2'"
}

same "$(titles ./flamegraph.pl --title='My Heap' --colors=mem --countname bytes <before)" \
    "main (15, 100 %)|a (10, 67 %)|b (10, 67 %)|c (5, 33 %)|" "stacks from standard input"
[ -s messages ] && fail "there is nothing to say about folded stacks: $(cat messages)"
./flamegraph.pl --title='My Heap' --width=800 before | grep -q 'width="800"' || fail "no width"
./flamegraph.pl --title='My Heap' before | grep -q 'My Heap' || fail "no title"
./flamegraph.pl --inverted --reverse --hash --minwidth 0.5 before | grep -q '<svg' || fail "options"
same "$(titles ./flamegraph.pl --factor=2 before | cut -d'|' -f1)" "main (30, 100 %)" "--factor"

./difffolded.pl before after >joined
printf 'main;a;b 10 30\nmain;c 5 0\nmain;d 0x12ab 0 7\n' | cmp - joined || fail "difffolded.pl"
./difffolded.pl -n -s before after >scaled
printf 'main;a;b 24 30\nmain;c 12 0\nmain;d 0x... 0 7\n' | cmp - scaled || fail "difffolded.pl -n -s"
same "$(titles ./flamegraph.pl <joined | cut -d'|' -f1,2)" "main (37, 100 %)|a (30, 71 %)" "a difference"
same "$(titles ./flamegraph.pl --negate joined | cut -d'|' -f1)" "main (15, 100 %)" "--negate"

cat >table <<'END'
Using local file ./program.
Total: 12.5 MB
     7.5  60.0%  60.0%     10.0  80.0% parse
     5.0  40.0% 100.0%      5.0  40.0% std::vector::grow
END
same "$(titles ./flamegraph.pl table)" "parse (7.86 M, 60 %)|std::vector::grow (5.24 M, 40 %)|" "a table"
grep -q 'memoir export x.heap -o flame.svg' messages || fail "no word about a table: $(cat messages)"
./difffolded.pl table table >both 2>messages
printf 'parse 7864320 7864320\nstd::vector::grow 5242880 5242880\n' | cmp - both || fail "two tables"
grep -q 'base before.heap' messages || fail "no word about two tables: $(cat messages)"

expect 3 ./flamegraph.pl /dev/null
expect 3 ./flamegraph.pl nothing
expect 2 ./flamegraph.pl --nonsense=1 before
expect 2 ./difffolded.pl before
finish
