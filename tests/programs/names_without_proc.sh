#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In a process that sees no /proc, as in a bare chroot, the loader's own list of objects says what
# code is where: frames have names in captures and in dumps of all formats; with the program's own
# code, that of a library it loads while it runs, and that of libc; also in static programs. Build
# ids come from memory, so that a file that was replaced since is not taken for the right one.
. "$(dirname "$0")/common.sh"

need unshare mount
settle
unshare -rm sh -c 'mount -t tmpfs none /proc && ! [ -e /proc/self ]' 2>err || skip "no mount namespaces here: $(cat err)"

cat >program.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
__attribute__((noinline)) void own_function(void) { kept = malloc(200000); __asm__ volatile(""); }
int main(int count, char **words)
{
    own_function();
#ifdef LIBRARY
    void (*of_library)(void) = (void (*)(void))dlsym(dlopen("./late.so", RTLD_NOW), "of_library");
    of_library();
#endif
    return chdir("/");
}
C
cat >late.c <<'C'
#include <stdlib.h>
void *volatile kept_here;
__attribute__((noinline)) void of_library(void) { kept_here = malloc(300000); __asm__ volatile(""); }
C
build -fPIC -shared late.c -o late.so -Wl,--build-id
build -DLIBRARY program.c -o pie -Wl,--build-id
build -DLIBRARY -no-pie program.c -o fixed -Wl,--build-id
build -static program.c "$MEMOIR_STATIC" -o static
build -static-pie program.c "$MEMOIR_STATIC" -o static_pie

bare() { # OPTIONS PROGRAM
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare -rm sh -c 'mount -t tmpfs none /proc; cd "$1"; MEMOIR=$2 LD_PRELOAD=$3 "./$4"' sh \
        "$place" "$1" "$MEMOIR_LIB" "$2" 2>err || fail "$2 does not run: $(cat err)"
    quiet err
}

names() { # FILE PROGRAM
    "$MEMOIR_TOOL" traces "$1" -v -q >traces || fail "$1 can't be read"
    case $2 in
    static*) wanted="own_function main" ;;
    *) wanted="own_function main of_library" ;;
    esac
    for name in $wanted; do
        grep -q "$name" traces || fail "$1: no $name: $(cat traces)"
    done
    if grep -q ' 0x[0-9a-f]*' traces; then
        fail "$1: addresses without a file: $(grep ' 0x' traces)"
    fi
}

for program in pie fixed static static_pie; do
    bare "heap.rate:0,capture:$place/$program.memoir" "$program"
    names "$program.memoir" "$program"
    for format in pprof jemalloc gperftools memoir; do
        bare "heap.rate:0,dump.exit:on,dump.format:$format,dump.prefix:$place/$program.$format" "$program"
        names "$(ls "$program.$format"-*)" "$program"
    done
done

# The same program built again is another one; the right one is found by its id.
mkdir kept
mv pie kept/pie
sed 's/own_function/other_function/' program.c >other.c
build -DLIBRARY other.c -o pie -Wl,--build-id
for file in pie.memoir "$(ls pie.pprof-*)"; do
    "$MEMOIR_TOOL" traces "$file" -v -q >traces
    ! grep -q other_function traces || fail "$file: names of another build"
    "$MEMOIR_TOOL" traces "$file" -v -q --debug-path "$place/kept" >traces
    grep -q own_function traces || fail "$file: no build id of the program: $(cat traces)"
done
# what needs it says so
# shellcheck disable=SC2016 # the inner shell expands them
unshare -rm sh -c 'mount -t tmpfs none /proc; cd "$1"; MEMOIR=leak.at_exit:on LD_PRELOAD=$2 ./pie' sh \
    "$place" "$MEMOIR_LIB" 2>err || fail "it does not run with leak.at_exit"
grep -q '^memoir: no scan for lost blocks: /proc, which tells of threads' err || fail "not told: $(cat err)"
finish
