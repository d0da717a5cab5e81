/* SPDX-License-Identifier: MIT */
/* helper of deepbind_libraries_mix_heaps.sh: a library loaded with RTLD_DEEPBIND binds malloc to
 * the C library first. With `theirs` the program resizes and frees what the library allocated, with
 * `ours` the library what the program did. */
#include <dlfcn.h>

#include "tests/programs/work.h"

int main(int count, char **arguments)
{
    alarm(60);
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
    if (!CHECK(library != NULL)) {
        check_say("%s\n", dlerror());
        return check_result();
    }
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "user_allocate");
    void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(library, "user_resize");
    char *(*duplicate)(const char *) = (char *(*)(const char *))dlsym(library, "user_duplicate");
    void (*release)(void *) = (void (*)(void *))dlsym(library, "user_free");
    bool theirs = count > 2 && strcmp(arguments[2], "theirs") == 0;
    for (unsigned turn = 0; turn < 300; turn++) {
        size_t size = work_size(turn % 100);
        unsigned char *block = theirs ? allocate(size) : malloc(size);
        CHECK(block != NULL && (!theirs || malloc_usable_size(block) >= size));
        pattern_fill(block, size, turn);
        if (turn % 2) {
            block = theirs ? realloc(block, size + 500) : resize(block, size + 500);
            CHECK_EQ(pattern_differs_at(block, size, turn), size);
        }
        (theirs ? free : release)(block);
        char *text = theirs ? duplicate("copied by their C library") : strdup("copied by ours");
        (theirs ? free : release)(text);
    }
    CHECK(heap_works(1));
    CHECK_EQ(dlclose(library), 0);
    return check_result();
}
