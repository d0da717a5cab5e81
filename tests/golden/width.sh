#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every verb on terminals of 40 to 200 columns: nothing is wider, names are cut where they say least,
# and what goes into a pipe is not cut at all.
. "$(dirname "$0")/../programs/common.sh"
need_terminal
need python3 less
settle
PATH=$(dirname "$MEMOIR_TOOL"):$PATH
terminal=$root/tests/golden/terminal/pty.py

cat >grow.cc <<'END_OF_FILE'
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>
#include <unistd.h>
namespace warehouse { namespace of_things_with_long_names {
template <class Key, class Value> struct Shelf {
    std::map<Key, std::vector<Value>> boxes;
    __attribute__((noinline)) void put_into_the_box_it_belongs_into(const Key &key, Value value) { boxes[key].push_back(value); }
};
} }
static void *volatile kept[4000];
__attribute__((noinline)) static void leak(int i) { kept[i] = malloc(500); }
int main(int, char **argv)
{
    warehouse::of_things_with_long_names::Shelf<std::string, int> shelf;
    std::thread other([] { for (int i = 0; i < 1000; i++) free(malloc(100)); });
    for (int i = 0; i < 4000; i++) {
        shelf.put_into_the_box_it_belongs_into("box " + std::to_string(i / 4), i);
        leak(i);
        if (argv[1] && i % 400 == 0)
            usleep(120000);
    }
    other.join();
    return 0;
}
END_OF_FILE
"$CXX" -O1 -g grow.cc -o grow -pthread || exit 2
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -q --exact --every 100ms -o one.memoir ./grow slow || fail "run"
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" -q --exact -o two.memoir ./grow || fail "run"
cp one.memoir "a capture whose name is long, and has spaces, as people in a hurry give them.memoir"
python3 - <<'E'
deep = "outer::" * 20
with open("names.folded", "w") as file:
    file.write("main;%sFunction<int, std::vector<std::string>>::call(int, char const*) 100\n" % deep)
    file.write("main;日本語の関数名;ひじょうにながいなまえのかんすうがここにありますほんとうにながい 55\n")
    file.write("main;bad\x1b[31m\x07name;x 5\n")
    file.write("main;%s 44\n" % ("a" * 300))
    file.write("main;e\u0301\u0301combining;żółć 999999999999999999\n")
E

# a recording that waits for memoir recover, for ps
TMPDIR=$place
export TMPDIR
waits=$TMPDIR/memoir-$(id -u)-width
mkdir "$waits"
printf 'folder:%s\nprogram:p\ncommand:./program %064d\npid:1\n' "$waits" 7 >"$waits/about"

for words in 'report one.memoir' 'top one.memoir' 'top one.memoir -v' 'top one.memoir --sort total' \
    'top one.memoir --by address' 'top one.memoir --by thread' 'top one.memoir --by size' \
    'top one.memoir --base two.memoir' 'top names.folded' 'report names.folded' 'tree names.folded' \
    'peek names.folded main' 'traces names.folded' 'tree one.memoir' 'peek one.memoir leak' \
    'list one.memoir put_into' 'disasm one.memoir leak' 'traces one.memoir' 'peak one.memoir' \
    'diff two.memoir one.memoir' 'diff one.memoir one.memoir' 'leaks one.memoir' 'leaks one.memoir -v' \
    'leaks two.memoir one.memoir' 'churn one.memoir' 'sizes one.memoir' 'sizes one.memoir -v' \
    'threads one.memoir' 'time one.memoir' 'time two.memoir' 'check one.memoir --base two.memoir' \
    'check one.memoir --max-peak 1K --max-live 10G --no-leaks' 'symbols one.memoir' 'doctor' \
    'doctor one.memoir' 'doctor ./grow' 'doctor --system' 'ps' 'top a*.memoir' 'report a*.memoir' 'diff a*.memoir two.memoir' \
    'rnu' 'top nosuch.memoir' 'top one.memoir --metric nosuch' 'top one.memoir nosuchthing' \
    'export one.memoir -o x.foo' "run --lib '$MEMOIR_LIB' -o x.memoir ./grow"; do
    echo "memoir $words"
done >commands
python3 "$terminal" --wide 40,60,80,120,200 commands >wide
[ -s wide ] && fail "too wide: $(cat wide)"

# names: arguments go first, then namespaces, never the function's own name where there is room for it
python3 "$terminal" 80 PAGER=cat TERM=dumb memoir top one.memoir --rows 2 >said
grep -q 'put_into_the_box' said || fail "the name of the function was cut: $(cat said)"
grep -q 'std::string' said && fail "arguments were not: $(cat said)"
python3 "$terminal" 60 PAGER=cat TERM=dumb memoir top names.folded >said
grep -q '…Function<…>::call' said || fail "namespaces were not cut: $(cat said)"
grep -q 'a…a' said || fail "a long word was not cut in its middle: $(cat said)"

# a pipe is as wide as it must be
memoir top names.folded >said
grep -q "outer::outer::outer::outer::outer::outer::outer::outer::outer::outer::outer::outer::outer" said ||
    fail "cut in a pipe: $(cat said)"
grep -q 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' said ||
    fail "cut in a pipe: $(cat said)"
grep -q "$(printf '\033')" said && fail "an escape sequence came through"

# what is to be typed next can be typed
python3 "$terminal" 200 PAGER=cat TERM=dumb memoir top a*.memoir >said
grep -q "→ memoir peek 'a capture whose name is long, .* give them.memoir' " said || fail "not quoted: $(cat said)"
finish
