/* SPDX-License-Identifier: MIT */
/* helper of dlopen_and_dlclose.sh: loads the library named by its argument again and again, from
 * several threads, and passes blocks across the border in both directions. */
#include <dlfcn.h>

#include "tests/programs/work.h"

enum { TURNS = 200, THREADS = 3 };

static const char *path;

static void *load_often(void *unused)
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        void *library = dlopen(path, turn % 2 ? RTLD_NOW : RTLD_LAZY);
        if (!CHECK(library != NULL)) {
            check_say("%s\n", dlerror());
            return unused;
        }
        void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "user_allocate");
        void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(library, "user_resize");
        void (*release)(void *) = (void (*)(void *))dlsym(library, "user_free");
        if (CHECK(allocate != NULL && resize != NULL && release != NULL)) {
            void *theirs = allocate(work_size(turn % 100)), *ours = malloc(work_size(turn % 90));
            CHECK(malloc_usable_size(theirs) >= work_size(turn % 100));
            ours = resize(ours, 700);
            release(ours);
            free(theirs);
        }
        /* The failing lookup makes the loader allocate an error, too. */
        CHECK(dlsym(library, "no_such_symbol") == NULL && dlerror() != NULL);
        CHECK(dlopen("/no/such/library.so", RTLD_NOW) == NULL && dlerror() != NULL);
        CHECK_EQ(dlclose(library), 0);
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    if (count < 2) {
        return 2;
    }
    path = arguments[1];
    alarm(100);
    noise_start(1);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, load_often, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    noise_end(1);
    CHECK(heap_works(1));
    return check_result();
}
