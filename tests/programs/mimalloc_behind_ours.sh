#!/bin/sh
# SPDX-License-Identifier: MIT
# A program is linked with mimalloc's own library and preloads memoir. That library's constructor and
# destructor ask for options through us, by the numbers of its own release: all are off for it, whatever
# they are for the program, and what it sets changes none of ours. It also calls mi_process_init, which must
# reach its own. The same where memoir is preloaded by a name of mimalloc's, of that release or the other
# one: the program's release is that of the code of mimalloc's own library.
. "$(dirname "$0")/common.sh"
settle
cat >library.c <<'C'
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
enum { NUMBERS = 64, LIMIT = 1000, SET = 15, DELAY = 4711 };
long mi_option_get(int option);
long mi_option_get_clamp(int option, long min, long max);
size_t mi_option_get_size(int option);
bool mi_option_is_enabled(int option);
void mi_option_set(int option, long value);
void mi_option_set_default(int option, long value);
void mi_option_set_enabled(int option, bool enable);
void mi_process_init(void);
int mi_version(void);
static bool initialized;
void mi_process_init(void) { initialized = true; }
int mi_version(void) { return RELEASE; }
long mi_option_get(int option) { return option; }
long mi_option_get_clamp(int option, long min, long max) { return option + min + max; }
size_t mi_option_get_size(int option) { return (size_t)option; }
bool mi_option_is_enabled(int option) { return option >= 0; }
void mi_option_set(int option, long value) { fprintf(stderr, "%d %ld\n", option, value); }
void mi_option_set_default(int option, long value) { mi_option_set(option, value); }
void mi_option_set_enabled(int option, bool enable) { mi_option_set(option, enable); }
static void look(const char *when)
{
    for (int i = 0; i < NUMBERS; i++)
        if (mi_option_is_enabled(i) || mi_option_get(i) != 0 || mi_option_get_size(i) != 0 ||
            mi_option_get_clamp(i, -1, LIMIT) != 0) {
            fprintf(stderr, "%s: option %d is on\n", when, i);
            _exit(3);
        }
}
__attribute__((constructor)) static void load(void)
{
    mi_process_init();
    if (!initialized) {
        fprintf(stderr, "mi_process_init did not reach this library\n");
        _exit(3);
    }
    look("constructor");
    mi_option_set(SET, DELAY);
    mi_option_set_default(SET, DELAY);
    mi_option_set_enabled(SET, true);
}
__attribute__((destructor)) static void unload(void)
{
    look("destructor");
}
C
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
long mi_option_get(int option);
void mi_option_set(int option, long value);
int main(void)
{
    long before = mi_option_get(15);
    mi_option_set(15, 77);
    free(malloc(100));
    return printf("%ld %ld %ld\n", before, mi_option_get(15), mi_option_get(28)) < 0;
}
C
names=$(dirname "$MEMOIR_LIB")/compat
behind() { # RELEASE SONAME OUTPUT OURS...
    release=$1 soname=$2 wanted=$3
    shift 3
    build -shared -fPIC -DRELEASE="$release" -Wl,-soname,"$soname" library.c -o "$soname"
    build program.c -Wl,--no-as-needed "./$soname" -Wl,-rpath,"$PWD" -o program
    for ours in "$MEMOIR_LIB" "$@"; do
        [ -e "$ours" ] || continue
        got=$(LD_PRELOAD=$ours ./program 2>err) || fail "$release as $soname behind $ours: status $?, $(cat err)"
        [ "$got" = "$wanted" ] || fail "options of the program, $release as $soname behind $ours: $got"
    done
}
behind 209 libmimalloc.so.2 "10 77 400" "$names/libmimalloc.so.3"
behind 20401 libmimalloc.so.2 "10 77 400" "$names/libmimalloc.so.3"
behind 30403 libmimalloc.so.3 "1000 77 0" "$names/libmimalloc.so.2"
behind 30403 libmimalloc.so.2 "1000 77 0" "$names/libmimalloc.so.3"

# And the real one, where there is one.
if "$CC" program.c -Wl,--no-as-needed -lmimalloc -o with_mimalloc 2>/dev/null; then
    got=$(preload ./with_mimalloc 2>err) || fail "libmimalloc: status $?, $(cat err)"
    [ ! -s err ] || fail "libmimalloc: $(cat err)"
    MIMALLOC_SHOW_STATS=1 preload ./with_mimalloc >out 2>err || fail "libmimalloc, statistics: status $?"
    [ "$(grep -c '^heap stats' err)" -eq 1 ] || fail "libmimalloc: statistics are printed $(grep -c '^heap stats' err) times"
fi
finish
