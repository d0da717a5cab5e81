#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that bring an allocator of their own, sanitizers, other preloaded libraries: they work,
# or something says clearly why not; nothing hangs at the start.
. "$(dirname "$0")/common.sh"
need timeout

build "$root/tests/programs/own_allocator.c" -o "$place/own"
said=$(LD_PRELOAD=$MEMOIR_LIB timeout 60 "$place/own" 2>&1)
[ "$said" = "its own" ] || fail "a program with its own malloc: $said"

build "$root/tests/programs/environment.c" -o "$place/program"

# AddressSanitizer wants to come first, and says so; told not to insist it shares the process with
# us or ends with a message, within a minute.
for sanitizer in address undefined; do
    build -fsanitize=$sanitizer "$root/tests/programs/environment.c" -o "$place/$sanitizer" 2>/dev/null || continue
    for insist in 0 1; do
        ASAN_OPTIONS=verify_asan_link_order=$insist LD_PRELOAD=$MEMOIR_LIB timeout 60 "$place/$sanitizer" \
            >"$place/out" 2>&1
        code=$?
        case $code in
        0) grep -q '^works$' "$place/out" || fail "$sanitizer $insist: exit code 0 without working" ;;
        124 | 137) fail "$sanitizer $insist: it hangs" ;;
        *) [ -s "$place/out" ] || fail "$sanitizer $insist: exit code $code without a word" ;;
        esac
    done
done

# Another library in front and behind.
build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libuser.so"
for order in "$place/libuser.so:$MEMOIR_LIB" "$MEMOIR_LIB:$place/libuser.so"; do
    said=$(LD_PRELOAD=$order timeout 60 "$place/program" 2>&1)
    [ "$said" = works ] || fail "preloaded as $order: $said"
done
# Addresses that language runtimes put their heaps at (sbcl, Go, the JVM, clisp) are free.
build -x c - -o "$place/fixed" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
    static const unsigned long places[][2] = {
        {0x1000000000, 8ul << 30}, {0xc000000000, 64ul << 30}, {0x40000000000, 12ul << 40}, {0x100000000000, 16ul << 40}};
    void *volatile block = malloc(100);
    for (int i = 0; i < 4; i++)
        if (mmap((void *)places[i][0], places[i][1], PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (void *)places[i][0])
            printf("%lx is taken\n", places[i][0]);
    free(block);
    return 0;
}
END
bare=$("$place/fixed")
said=$(LD_PRELOAD=$MEMOIR_LIB "$place/fixed")
[ "$said" = "$bare" ] || fail "fixed addresses: $said"

# One that stands in for functions of libc's, allocates before it knows theirs, and can't bear a call meanwhile.
cat >"$place/stand_in.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#define STAND_IN(result, name, parameters, arguments)                                               \
    result name parameters                                                                         \
    {                                                                                              \
        static int busy;                                                                           \
        static result(*real) parameters;                                                           \
        if (busy++)                                                                                \
            abort();                                                                               \
        void *volatile block = malloc(100000);                                                     \
        free(block);                                                                               \
        if (real == NULL)                                                                          \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        busy = 0;                                                                                  \
        return real arguments;                                                                     \
    }
STAND_IN(int, clock_gettime, (clockid_t clock, struct timespec *now), (clock, now))
STAND_IN(char *, getenv, (const char *name), (name))
STAND_IN(int, getrusage, (int who, struct rusage *usage), (who, usage))
END
build -shared -fPIC "$place/stand_in.c" -o "$place/libstand_in.so"
for order in "$place/libstand_in.so:$MEMOIR_LIB" "$MEMOIR_LIB:$place/libstand_in.so"; do
    for options in heap:on heap.rate:1 harden:on debug:on guard:full cpu:on; do
        said=$(MEMOIR=$options,capture:$place/c.memoir LD_PRELOAD=$order timeout 60 "$place/program" 2>&1)
        [ "$said" = works ] || fail "preloaded as $order, $options: $said"
    done
done
if command -v fakeroot >/dev/null 2>&1; then
    said=$(LD_PRELOAD=$MEMOIR_LIB timeout 60 fakeroot sh -c 'touch "$1" && chown 12:34 "$1" && stat -c %u:%g "$1"' \
        sh "$place/file" 2>&1)
    [ "$said" = 12:34 ] || fail "fakeroot: $said"
fi
# Twice the same library, and linked and preloaded at once.
said=$(LD_PRELOAD="$MEMOIR_LIB:$MEMOIR_LIB" timeout 60 "$place/program" 2>&1)
[ "$said" = works ] || fail "preloaded twice: $said"
build "$root/tests/programs/environment.c" -o "$place/linked" -Wl,--no-as-needed "$MEMOIR_LIB" \
    -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
said=$(LD_PRELOAD=$MEMOIR_LIB timeout 60 "$place/linked" 2>&1)
[ "$said" = works ] || fail "linked and preloaded: $said"
# A static copy inside a program that also gets the shared one.
build "$root/tests/programs/environment.c" "$MEMOIR_STATIC" -o "$place/archive"
said=$(LD_PRELOAD=$MEMOIR_LIB timeout 60 "$place/archive" 2>&1)
[ "$said" = works ] || fail "archive inside, shared outside: $said"
finish
