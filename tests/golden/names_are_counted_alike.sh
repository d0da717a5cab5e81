#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# How much of a profile has names is one number: in the heads of top, traces and tree, in the JSON of
# each report, on the page, and in what doctor and symbols say. A stripped library, whose static
# functions have only the name of the nearest exported one, makes the guesses that are no names.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >part.c <<'END'
#include <stdlib.h>
void *volatile kept[4000];
static int count;
#define DEEPER(name, next)                                                                         \
    __attribute__((noinline)) static void name(int size)                                           \
    {                                                                                              \
        next;                                                                                      \
        kept[count++ % 4000] = malloc((size_t)size);                                               \
    }
__attribute__((noinline)) void exported(int size)
{
    kept[count++ % 4000] = malloc((size_t)size);
}
DEEPER(first, (void)0)
DEEPER(second, first(size))
DEEPER(third, second(size))
void entry(int size)
{
    third(size);
    exported(size);
}
END
cat >main.c <<'END'
void entry(int size);
int main(void)
{
    for (int i = 0; i < 500; i++)
        entry(100 + i);
    return 0;
}
END
${CC:-cc} -O1 -fPIC -shared -fno-toplevel-reorder part.c -o libpart.so
strip libpart.so
${CC:-cc} -g -O1 main.c -L. -lpart -Wl,-rpath,"$PWD" -o program
"$MEMOIR_TOOL" run --exact --lib "$MEMOIR_LIB" --output run.memoir ./program 2>run.log
"$MEMOIR_TOOL" export run.memoir -o page.html 2>run.log
python3 - <<'END'
import json, os, re, subprocess

def memoir(*words):
    return subprocess.run([os.environ["MEMOIR_TOOL"], *words], capture_output=True, text=True).stdout

symbols = json.loads(memoir("symbols", "run.memoir", "--json"))
assert symbols["guessed"] > 0 and 0 < symbols["named"] < symbols["locations"], symbols
for key in ("locations", "named", "guessed"):
    assert symbols[key] == sum(module[key] for module in symbols["modules"]), key
share = symbols["named"] / symbols["locations"]
said = f"{100 * share:.1f} %"
assert f"{said} of {symbols['locations']} addresses named" in memoir("symbols", "run.memoir")
assert f"{said} of its {symbols['locations']} addresses have a name" in memoir("doctor", "run.memoir")
for words in (["top"], ["top", "-v"], ["top", "entry"], ["top", "--metric", "alloc"], ["traces"], ["traces", "-v"],
              ["tree"]):
    assert f"{said} of frames named" in memoir(*words, "run.memoir").splitlines()[0], (words, said)
for words in (["top"], ["top", "-v"], ["top", "main"], ["report"], ["traces"], ["tree"], ["leaks"], ["sizes"], ["churn"]):
    named = json.loads(memoir(*words, "run.memoir", "--json"))["named"]
    assert abs(named - share) < 1e-6, (words, named, share)
assert f"{said} of frames named" in open("page.html").read()
END
