#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Two libraries that were loaded one after the other at the same address: which of them an address
# means is not known, so that names there are marked as guesses, in captures with one list of
# mappings and with several. A library that is loaded again is the same one, and its names are sure;
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
cat >program.c <<'C'
#include <dlfcn.h>
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
grep -q '~other_library' both.txt || fail "no mark in text: $(cat both.txt)"
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
finish
