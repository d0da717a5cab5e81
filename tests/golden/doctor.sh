#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# `memoir doctor` finds what keeps the library or the names out, and says what to do: of programs,
# processes and profiles. One that has nothing wrong ends with 0, others with 1.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need strip
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >work.c <<'C'
#include <stdlib.h>
#include <unistd.h>
void *kept;
int main(int argc, char **argv)
{
    (void)argv;
    kept = malloc(100000);
    while (argc > 1)
        pause();
    return 0;
}
C
build work.c -o good
build -static work.c -o static
build -Wl,--build-id=none work.c -o bare
build work.c -DOWN -o stripped && strip stripped
printf '#!/bin/sh\n' >script && chmod +x script
cat >own.c <<'C'
#include <stddef.h>
static char memory[1 << 20];
static size_t used;
void *malloc(size_t size) { return memory + (used += (size + 15) & ~(size_t)15) - ((size + 15) & ~(size_t)15); }
void free(void *block) { (void)block; }
int main(void) { return malloc(1) == NULL; }
C
build own.c -o own

said() { # STATUS TEXT WORDS...
    status=$1 text=$2
    shift 2
    "$MEMOIR_TOOL" doctor "$@" >out 2>&1
    got=$?
    [ "$got" -eq "$status" ] || fail "doctor $*: status $got, not $status: $(cat out)"
    grep -q -- "$text" out || fail "doctor $*: no '$text' in: $(cat out)"
}

LC_ALL=C.UTF-8
export LC_ALL
said 0 '✓ a library can be preloaded' ./good
said 0 '✓ it has debug information' ./good
said 1 '✗ ./static is statically linked' ./static
said 0 '• it has no build id' ./bare
said 1 '✗ it is stripped' ./stripped
said 1 '✗ it defines its own malloc' ./own
said 127 'no such program' ./nothing
grep -q '^✓\|^✗' out && fail "a program that is not there was judged"
said 4 'no process' 4194305
LC_ALL=C said 1 '^NO ./static' ./static

"$MEMOIR_TOOL" run --exact -o run.memoir ./good >/dev/null 2>&1 || fail "run: status $?"
said 0 '✓ it is complete' run.memoir
# Names that are missing, and what would bring them.
cat >library.c <<'C'
#include <stdlib.h>
static void *kept[8];
static __attribute__((noinline)) void one(void) { kept[0] = malloc(1000); }
static __attribute__((noinline)) void two(void) { one(); kept[1] = malloc(1000); }
static __attribute__((noinline)) void three(void) { two(); kept[2] = malloc(1000); }
static __attribute__((noinline)) void four(void) { three(); kept[3] = malloc(1000); }
void entry(void) { four(); kept[4] = malloc(1000); }
C
echo 'void entry(void); int main(void) { entry(); return 0; }' >main.c
build -fPIC -shared library.c -o libpart.so && strip libpart.so
build main.c -L. -lpart -Wl,-rpath,"$place" -o main
"$MEMOIR_TOOL" run --exact -o part.memoir ./main >/dev/null 2>&1 || fail "run: status $?"
"$MEMOIR_TOOL" doctor part.memoir >out 2>&1
grep -A 1 '• libpart.so: [0-9]* of [0-9]* addresses' out | grep -q 'it is stripped: build it with -g' || fail "a stripped library: $(cat out)"
rm libpart.so
"$MEMOIR_TOOL" doctor part.memoir --no-cache >out 2>&1
grep -A 1 '• libpart.so: 0 of [0-9]* addresses' out | grep -q 'the file is missing' || fail "a library that is gone: $(cat out)"
"$MEMOIR_TOOL" symbols part.memoir --no-cache >out
grep -q 'libpart.so  *the file is missing: give its folder with --sysroot or --debug-path' out || fail "symbols of it: $(cat out)"

head -c $(($(wc -c <run.memoir) - 40)) run.memoir >torn.memoir
"$MEMOIR_TOOL" doctor torn.memoir >out 2>&1
case $? in
1) grep -q '✗ it ends early' out || fail "a torn file: $(cat out)" ;;
3) ;;
*) fail "a torn file: status $?: $(cat out)" ;;
esac

./good wait &
plain=$!
LD_PRELOAD=$MEMOIR_LIB ./good wait &
with=$!
sleep 0.5
said 1 '✗ it runs without libmemoir' "$plain"
"$MEMOIR_TOOL" doctor "$with" >out 2>&1 || fail "a process with the library: $(cat out)"
grep -q '✓ it runs with libmemoir ' out || fail "the library was not seen: $(cat out)"
kill "$plain" "$with"
"$MEMOIR_TOOL" doctor ./good -o said.txt >out || fail "doctor -o: status $?"
[ ! -s out ] && grep -q '^✓ it has debug' said.txt || fail "doctor -o: $(cat said.txt out)"
"$MEMOIR_TOOL" doctor ./good --json | python3 -c '
import json, sys
said = json.load(sys.stdin)
assert said["schema"] == "memoir.doctor/1" and all(c["result"] == "good" for c in said["checks"])
' || fail "no JSON"
# how well a sampled heap is known; one that is not sampled needs no such word
cat >many.c <<'C'
#include <stdlib.h>
void *kept[20000];
int main(void)
{
    for (int i = 0; i < 20000; i++)
        kept[i] = malloc(1000);
    return 0;
}
C
build many.c -o many
words=$("$MEMOIR_TOOL" run --rate 4K --output fine.memoir ./many 2>&1) || fail "$words"
said 0 '✓ one block in 4.00 KiB was recorded, [0-9]* in all: the total of [12][0-9.]* MiB is exact, sites are estimates' fine.memoir
said 0 '✓ 1 of the 1 sites above 1 % are known to within ±25 %' fine.memoir
"$MEMOIR_TOOL" run --rate 2M --output rough.memoir ./many 2>/dev/null
said 0 '• one block in 2.00 MiB was recorded, [0-9]* in all: the total of [0-9.]* [MK]iB is exact, sites are estimates' rough.memoir
grep -Eq '→ memoir run --rate [0-9]+K for ±10 %, --exact for none' out || fail "no rate that would do: $(cat out)"
"$MEMOIR_TOOL" run --exact --output exact.memoir ./many 2>/dev/null
said 0 'it is complete' exact.memoir
grep -q 'one block in' out && fail "every block was recorded: $(cat out)"
grep -q 'looks cut' out && fail "nothing is cut: $(cat out)"
# stacks that were longer than what is kept of one, and code that was unloaded: it has names while
# its file is there
cat >deep.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
void *kept[3];
__attribute__((noinline)) int deep(int n) { if (n == 0) { kept[0] = malloc(1000); return 0; } return deep(n - 1) + (kept[0] != NULL); }
int main(void)
{
    void *library = dlopen("./libgone.so", RTLD_NOW);
    void *(*gone)(void) = (void *(*)(void))dlsym(library, "gone");
    kept[1] = malloc(100);
    kept[2] = gone();
    dlclose(library);
    return deep(500) == 500 ? 0 : 1;
}
C
echo '#include <stdlib.h>
void *gone(void) { void *block = malloc(5000); return (char *)block + 0; }' >gone.c
build -fPIC -shared gone.c -o libgone.so
build deep.c -ldl -o deep
"$MEMOIR_TOOL" run --exact --output deep.memoir ./deep 2>/dev/null || fail "deep: status $?"
# status 1 where libc6-dbg is missing: most of its few names are the loader's
"$MEMOIR_TOOL" doctor deep.memoir >out 2>&1 || [ $? -eq 1 ] || fail "doctor deep.memoir: $(cat out)"
grep -q '• 1 of its stacks end after 128 frames, which looks cut' out || fail "not cut: $(cat out)"
grep -q -- '--set heap.depth=256' out || fail "no way to longer stacks: $(cat out)"
grep -q 'unloaded' out && fail "unloaded code has no name: $(cat out)"
mkdir -p gone && mv libgone.so gone
"$MEMOIR_TOOL" doctor deep.memoir >out 2>&1
grep -q 'libgone.so' out || fail "no word of the file that is gone: $(cat out)"
finish
