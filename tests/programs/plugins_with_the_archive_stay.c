/* SPDX-License-Identifier: MIT */
/* helper */
/* plugins_with_the_archive_stay.sh runs it: opens and closes the library args[1] again and again,
 * works for a while, and gets a signal that the library has a handler for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int count, char **args)
{
    for (unsigned i = 0; i < 20; i++) {
        void *library = count > 1 ? dlopen(args[1], RTLD_NOW) : NULL;
        if (library == NULL) {
            puts(dlerror());
            return 2;
        }
        void *(*take)(size_t) = (void *(*)(size_t))dlsym(library, "plugin_take");
        void *block = take(1000);
        memset(block, 1, 1000);
        free(block);
        dlclose(library);
    }
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        free(malloc(100));
    raise(SIGURG);
    raise(SIGWINCH);
    puts("ok");
    return 0;
}
