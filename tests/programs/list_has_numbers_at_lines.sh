#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# `memoir list` and `memoir disasm` of a program that knows what it allocates: the numbers are at
# the right lines, inlined calls count on both sides, a missing source and a newer one are told.
. "$(dirname "$0")/common.sh"
need python3
cd "$place" || exit 2

mkdir src
cat >src/known.c <<'END'
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(void)
{
    return malloc(3000);
}
__attribute__((noinline)) void *twice(int deep)
{
    if (deep > 0)
        return twice(deep - 1);
    return inner();
}
void *kept[100];
int main(void)
{
    for (int i = 0; i < 10; i++)
        kept[i] = malloc(7000);
    for (int i = 10; i < 20; i++)
        kept[i] = twice(2);
    return 0;
}
END
"$CC" -g -O1 -fno-optimize-sibling-calls -o known src/known.c || exit 2
"$MEMOIR_TOOL" run --exact --output known.memoir ./known >/dev/null 2>&1 || fail "no capture"

# at FILE FUNCTION LINE KEY: a number of the JSON.
at() {
    python3 - "$@" <<'END'
import json, sys
path, name, line, key = sys.argv[1:]
for function in json.load(open(path))["functions"]:
    if function["name"] == name:
        for row in function["lines"]:
            if row["line"] == int(line):
                print(row[key])
END
}

list() {
    "$MEMOIR_TOOL" list known.memoir --metric alloc --quiet "$@"
}

list '^(main|twice|inner)$' --json >list.json || fail "list fails"
for wanted in "main 16 self 70000" "main 18 total 30000" "twice 9 total 30000" \
    "twice 10 total 30000" "inner 4 self 30000"; do
    set -- $wanted
    got=$(at list.json "$1" "$2" "$3")
    [ -n "$got" ] && [ "$got" -ge "$4" ] && [ "$got" -le $(($4 * 13 / 10)) ] ||
        fail "$1 line $2: $3 is '$got', not about $4"
done
# The recursive function has its stack once.
total=$(python3 -c 'import json
print([f["total"] for f in json.load(open("list.json"))["functions"] if f["name"] == "twice"][0])')
[ "$total" -ge 30000 ] && [ "$total" -le 39000 ] || fail "twice has $total in all"

list main >list.txt || fail "list fails"
grep -q 'kept\[i\] = malloc(7000);' list.txt || fail "no source in the list"
grep -q 'changed since' list.txt && fail "the source is not newer"

touch -d '+1 hour' src/known.c
list main >list.txt
grep -q 'changed since' list.txt || fail "a newer source is not told"

mv src moved
list main >list.txt
grep -q 'source not found' list.txt || fail "a missing source is not told"
grep -q 'malloc(7000)' list.txt && fail "a source from nowhere"
list main --source-path nowhere:moved >list.txt
grep -q 'malloc(7000)' list.txt || fail "--source-path does not find it"
expect 3 "$MEMOIR_TOOL" list known.memoir no_such_function --quiet 2>message
grep -q "no function matches 'no_such_function'" message || fail "the message is: $(cat message)"
expect 2 "$MEMOIR_TOOL" list known.memoir --quiet 2>message

# The profile names a pipe that nothing is written to: it is not waited for.
"$MEMOIR_TOOL" export known.memoir -o known.pb.gz 2>/dev/null
mkdir src
mkfifo src/known.c
for old in "pprof -list=main known known.pb.gz" "pprof -weblist=main known known.pb.gz" "jeprof --list=main known known.pb.gz" \
    "jeprof --disasm=main known known.pb.gz" "list main known.memoir" "disasm main known.memoir" "top known.pb.gz"; do
    timeout 60 "$MEMOIR_TOOL" $old </dev/null >out 2>&1
    [ $? -ne 124 ] || fail "a pipe in place of the source is waited for: memoir $old"
done
rm -r src

if "$MEMOIR_TOOL" disasm known.memoir '^main$' --quiet --source-path moved >disasm.txt 2>message; then
    grep -Eq '^ +[0-9.]+ KiB +[0-9.]+ KiB +[0-9a-f]+: +(call|bl) ' disasm.txt ||
        fail "no call with its bytes: $(cat disasm.txt)"
    grep -q 'known.c:16 .*malloc(7000)' disasm.txt || fail "no source between the instructions"
else
    grep -q capstone message || fail "disasm fails: $(cat message)"
fi
finish
