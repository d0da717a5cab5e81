#!/bin/sh
# SPDX-License-Identifier: MIT
# Users' libraries loaded and unloaded in a loop, with the library preloaded and with it linked. A library
# that takes the place of another with the same name is told from it.
. "$(dirname "$0")/common.sh"

build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libuser.so"
build "$root/tests/programs/dlopen_and_dlclose.c" -o "$place/preloaded"
build "$root/tests/programs/dlopen_and_dlclose.c" -o "$place/linked" -Wl,--no-as-needed "$MEMOIR_LIB" \
    -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
expect 0 preload "$place/preloaded" "$place/libuser.so"
expect 0 "$place/linked" "$place/libuser.so"

cd "$place" || exit 2
cat >replaced.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(void)
{
    void *first = NULL;
    for (int i = 0; i < 2; i++) {
        if (link(i == 0 ? "one.so" : "two.so", "replaced.so") != 0)
            return 3;
        void *library = dlopen("./replaced.so", RTLD_NOW), *at = dlsym(library, "value");
        if (i == 1 && at != first)
            return 77; /* elsewhere: nothing to tell apart */
        first = at;
        dlclose(library);
        unlink("replaced.so");
    }
    return 0;
}
END
echo 'int value = 1;' >one.c
echo 'int value = 2;' >two.c
build -shared -fPIC -Wl,--build-id one.c -o one.so
build -shared -fPIC -Wl,--build-id two.c -o two.so
build replaced.c -o replaced
MEMOIR=heap.rate:0,capture:$place/run.memoir preload ./replaced
status=$?
[ $status -eq 77 ] || {
    expect 0 test $status -eq 0
    [ "$(grep -a -o 'replaced\.so' run.memoir | wc -l)" -eq 2 ] || fail "not two libraries that were unloaded"
}
finish
