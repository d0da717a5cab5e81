#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Libraries that were loaded one after the other at the same address: each has its own names, also in a
# program that was killed. Where two have the same return address it is not known which of them is
# meant, so that names there are marked as guesses, in captures with one list of mappings and with
# several. A library that is loaded again is the same one, and its names are sure;
# so is the name of one that another address is left for, and that of one that was unloaded since.
. "$(dirname "$0")/common.sh"

need python3
settle
cat >library.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void *NAME(size_t size) { void *block = malloc(size); __asm__ volatile(""); return block; }
C
for name in first_library other_library; do
    build -fPIC -shared "-DNAME=$name" library.c -o "$name.so" -Wl,--build-id
done
for number in 1 2 3 4; do # their code lies elsewhere in each
    echo "__asm__(\".text; .skip $((number * 48)), 0x90\");" | cat - library.c >"$number.c"
    build -fPIC -shared "-DNAME=library_$number" "$number.c" -o "library_$number.so" -Wl,--build-id
done
cat >program.c <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *volatile kept;
static void *use(const char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "./%s.so", name);
    void *handle = dlopen(path, RTLD_NOW);
    void *(*function)(size_t) = (void *(*)(size_t))dlsym(handle, name);
    printf("%p ", (void *)function);
    kept = function(size);
    __asm__ volatile("");
    return handle;
}
int main(int count, char **words)
{
    for (int i = 1; i < count && strcmp(words[i], "none") != 0; i++) {
        if (strcmp(words[i], "kill") == 0)
            raise(SIGKILL);
        void *handle = use(words[i], 100000 * (size_t)i);
        if (i + 1 < count)
            dlclose(handle);
    }
    return 0;
}
C
build program.c -o program

run() { # NAME LIBRARIES...
    name=$1
    shift
    MEMOIR=heap.rate:0,capture:$name.memoir preload ./program "$@" >"$name.out" || fail "$name does not run"
    "$MEMOIR_TOOL" traces "$name.memoir" --at end --json -n 0 -q >"$name.json" || fail "$name can't be read"
    "$MEMOIR_TOOL" traces "$name.memoir" --at end -n 0 -q >"$name.txt"
}
cat >judge.py <<'PY'
import json, sys
name, want_guess = sys.argv[1], sys.argv[2] == "guess"
addresses = set(open(name + ".out").read().split())
if want_guess and len(addresses) != 1:
    print("skipped: the libraries are at different addresses", addresses)
    sys.exit(77)
found = 0
for stack in json.load(open(name + ".json"))["stacks"]:
    frame = stack["frames"][0]
    if "library" in frame["name"] or frame["module"].endswith("library.so"):
        found += 1
        if frame.get("guess", False) != want_guess:
            sys.exit("%s: %s is %smarked as a guess" % (name, frame, "not " if want_guess else ""))
if not found:
    sys.exit(name + ": no frame of a library")
PY
judge() { # NAME WANTED
    python3 judge.py "$1" "$2"
    code=$?
    [ "$code" -ne 77 ] || skip "the kernel gives every library a place of its own"
    [ "$code" -eq 0 ] || fail "$1"
}
run both first_library other_library
judge both guess
grep -q '~\(first\|other\)_library' both.txt || fail "no mark in text: $(cat both.txt)"
run again first_library first_library
judge again sure
run one first_library
judge one sure
run gone first_library none
judge gone sure
run neither first_library other_library none
judge neither guess
run three first_library other_library first_library
judge three guess
each() { # NAME FILE: libraries in turn, the first of them once more
    "$MEMOIR_TOOL" top "$2" --metric alloc_objects --json -q >"$1.json" || fail "$1 can't be read"
    python3 - "$1.json" <<'PY' || fail "$1: wrong names"
import json, sys
found = {}
for row in json.load(open(sys.argv[1]))["rows"]:
    if row["module"].rsplit("/", 1)[-1].startswith("library_") and row["self"] > 0:
        name = row["name"].lstrip("~")
        found[name] = found.get(name, 0) + row["self"]
if found != {"library_1": 2, "library_2": 1, "library_3": 1, "library_4": 1}:
    sys.exit(str(found))
PY
}
MEMOIR=heap.rate:0,capture:each.memoir preload ./program library_1 library_2 library_3 library_4 library_1 none >out
each each each.memoir
MEMOIR=heap.rate:0,recorder:$place/killed preload ./program library_1 library_2 library_3 library_4 library_1 kill >out
each killed killed
finish
