#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A process is named by the very files it runs: those that it alone sees (a mount namespace, where
# another build lies at the same path outside), those that were deleted or replaced under it, a
# library that is linked to addresses of its own (as prelink does). A recording that is read after
# the change has no name rather than a wrong one.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"
processes=''
trap 'kill $processes 2>/dev/null; rm -rf "$place"' EXIT

cat >library.c <<'C'
#include <stdlib.h>
void *kept[2];
#ifdef OTHER
static __attribute__((noinline)) void wrong_name_one(void) { kept[0] = malloc(1); }
static __attribute__((noinline)) void wrong_name_two(void) { kept[0] = malloc(2); wrong_name_one(); }
void entry(void) { wrong_name_two(); kept[1] = malloc(3); wrong_name_one(); }
#else
static __attribute__((noinline)) void right_name(void) { kept[0] = malloc(50000); }
void entry(void) { right_name(); }
#endif
C
cat >work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void entry(void);
void *kept_here;
#ifdef OTHER
static __attribute__((noinline)) void wrong_main_one(void) { kept_here = malloc(1); }
static __attribute__((noinline)) void wrong_main_two(void) { wrong_main_one(); kept_here = malloc(2); }
#define WORK wrong_main_two()
#else
static __attribute__((noinline)) void right_main(void) { kept_here = malloc(60000); }
#define WORK right_main()
#endif
int main(int argc, char **argv)
{
    WORK;
    entry();
    puts("there");
    fflush(stdout);
    while (argc > 1)
        pause();
    return 0;
}
C
make_build() { # FOLDER FLAGS...
    folder=$1
    shift
    mkdir -p "$folder"
    build -fPIC -shared "$@" library.c -o "$folder/libpart.so"
    build "$@" work.c -L"$folder" -lpart -Wl,-rpath,'$ORIGIN' -o "$folder/work"
}
make_build right
make_build other -DOTHER

start() { # COMMAND...: with the library, until it waits
    : >there
    LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap.rate:0 "$@" wait >there &
    process=$!
    processes="$processes $process"
    for _ in $(seq 100); do
        grep -q there there && return
        sleep 0.1
    done
    fail "it did not start: $*"
}
right_names() { # WHAT PROFILE WORDS...
    what=$1
    shift
    "$MEMOIR_TOOL" traces "$@" --frames all --no-cache >said 2>err || fail "$what: $(cat err)"
    grep -q 'wrong_' said && fail "$what: wrong names: $(cat said)"
    grep -q 'right_name' said || fail "$what: no name of the library: $(cat said)"
    grep -q 'right_main' said || fail "$what: no name of the program: $(cat said)"
}
no_wrong_names() { # WHAT PROFILE
    "$MEMOIR_TOOL" traces "$2" --frames all --no-cache >said 2>err || fail "$1: $(cat err)"
    grep -q 'wrong_' said && fail "$1: wrong names: $(cat said)"
    grep -q 'right_' said && fail "$1: right names from a wrong file: $(cat said)"
    "$MEMOIR_TOOL" symbols "$2" >said
    grep -q 'another build' said || fail "$1: nothing is said of it: $(cat said)"
    "$MEMOIR_TOOL" doctor "$2" >said
    grep -q 'another build' said || fail "$1: doctor says nothing of it: $(cat said)"
}

# Deleted, and replaced by another build.
cp -r right here
start "$place/here/work"
right_names "a process" "$process"
rm -r here
right_names "a process whose files were deleted" "$process"
cp -r other here
right_names "a process whose files were replaced" "$process"
kill "$process"
cp right/* here
"$MEMOIR_TOOL" run --exact -o run.memoir here/work >/dev/null 2>err || fail "run: $(cat err)"
right_names "a recording" run.memoir
rm here/* && cp other/* here
no_wrong_names "a recording whose files were replaced" run.memoir
right_names "by --debug-path" run.memoir --debug-path "$place/right"
mkdir -p "root$place" && mv right "root$place/here"
right_names "by --sysroot" run.memoir --sysroot "$place/root"
mv "root$place/here" right

# A library with addresses of its own.
rm -rf here && mkdir here
build -fPIC -shared library.c -Wl,-Ttext-segment=0x3a00000 -o here/libpart.so && cp right/work here
"$MEMOIR_TOOL" run --exact -o moved.memoir here/work >/dev/null 2>err || fail "run: $(cat err)"
right_names "a prelinked library" moved.memoir

# Split debug information that is gone: lines are there, and it is said what is not.
mkdir split
build -gsplit-dwarf -fPIC -shared library.c -o split/libpart.so
build -gsplit-dwarf work.c -Lsplit -lpart -Wl,-rpath,"$place/split" -o split/work
"$MEMOIR_TOOL" run --exact -o split.memoir split/work >/dev/null 2>err || fail "run: $(cat err)"
right_names "split debug information" split.memoir
"$MEMOIR_TOOL" symbols split.memoir --no-cache | grep -q '[.]dwo' && fail "files are missed that are there"
find . -name '*.dwo' -delete
right_names "split debug information that is gone" split.memoir
"$MEMOIR_TOOL" symbols split.memoir --no-cache >said
grep -q 'its [.]dwo files, which name inlined functions, are missing' said || fail "nothing is said of .dwo files: $(cat said)"

# A container: only inside is the right program at this path.
rm -rf here && cp -r other here
if unshare -rm true 2>/dev/null; then
    wrapper='mount --bind "$0/right" "$0/here" && exec "$0/here/work" wait'
    start unshare -rm --propagation private sh -c "$wrapper" "$place"
    right_names "a process in a container" "$process"
    "$MEMOIR_TOOL" ctl "$process" dump "$place/dump.memoir" >said 2>&1 || fail "dump: $(cat said)"
    no_wrong_names "its dump, read outside" dump.memoir
    right_names "its dump, with --sysroot" dump.memoir --sysroot "/proc/$process/root"
    kill "$process"
else
    echo "not allowed here: unshare"
fi
finish
