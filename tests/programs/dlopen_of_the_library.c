/* SPDX-License-Identifier: MIT */
/* helper of dlopen_of_the_library.sh: a program that was started without the library loads it late,
 * as a plugin would, uses it through its handle beside the C library's malloc, and closes it. */
#include <dlfcn.h>

#include "tests/programs/work.h"

typedef void *(*allocate_function)(size_t);
typedef void (*free_function)(void *);

static allocate_function their_malloc;
static free_function their_free;

static void *use_in_thread(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        void *block = their_malloc((size_t)i * 3);
        CHECK(block != NULL);
        memset(block, 1, (size_t)i * 3);
        their_free(block);
    }
    return unused;
}

int main(int count, char **arguments)
{
    void *before = malloc(100);
    alarm(60);
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!CHECK(library != NULL)) {
        check_say("%s\n", dlerror());
        return check_result();
    }
    their_malloc = (allocate_function)dlsym(library, "malloc");
    their_free = (free_function)dlsym(library, "free");
    const char *(*version)(void) = (const char *(*)(void))dlsym(library, "memoir_version");
    if (!CHECK(their_malloc != NULL && their_free != NULL && version != NULL)) {
        return check_result();
    }
    CHECK((void *)their_malloc != (void *)malloc);
    CHECK(version()[0] >= '0' && version()[0] <= '9');
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, use_in_thread, NULL), 0);
    }
    use_in_thread(NULL);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    /* A block of the C library's in our free. */
    their_free(before);
    /* A text that the program frees: with the C library's free. */
    void (*start)(const char *) = (void (*)(const char *))dlsym(library, "HeapProfilerStart");
    void (*stop)(void) = (void (*)(void))dlsym(library, "HeapProfilerStop");
    char *(*profile)(void) = (char *(*)(void))dlsym(library, "GetHeapProfile");
    if (CHECK(start != NULL && stop != NULL && profile != NULL)) {
        char *text = profile();
        CHECK(text != NULL && text[0] == '\0');
        free(text);
        start("unused");
        text = profile();
        CHECK(text != NULL && strncmp(text, "heap profile:", 13) == 0);
        free(text);
        stop();
    }
    CHECK_EQ(dlclose(library), 0);
    /* It stays: blocks of it may be anywhere. */
    void *late = their_malloc(50);
    CHECK(late != NULL);
    their_free(late);
    CHECK(heap_works(1));
    return check_result();
}
