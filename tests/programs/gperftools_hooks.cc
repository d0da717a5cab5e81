// SPDX-License-Identifier: MIT
// helper
// Hooks of gperftools' see every block that any function hands out or takes back, in every thread,
// also those whose thread was busy when the hook was set, and none after it was removed. It prints
// what gperftools' own library and ours must agree on.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gperftools/malloc_hook.h>

static const void *last_new, *last_delete;
static size_t last_size;
static long news, deletes;
static int depth;
static void *frames[32];

extern "C" void on_new(const void *p, size_t size)
{
    last_new = p;
    last_size = size;
    __atomic_fetch_add(&news, 1, __ATOMIC_RELAXED);
}
extern "C" void on_delete(const void *p)
{
    last_delete = p;
    __atomic_fetch_add(&deletes, 1, __ATOMIC_RELAXED);
}
extern "C" void on_new_too(const void *, size_t)
{
    depth = MallocHook::GetCallerStackTrace(frames, 32, 0);
}

static void answer(const char *what, bool yes)
{
    fprintf(stderr, "%s: %s\n", what, yes ? "yes" : "NO");
}

static bool got(const void *p, size_t size)
{
    return p != NULL && last_new == p && last_size == size;
}

// Volatile, so that no pair of calls is left out by the compiler.
static void *volatile kept;

static void all_functions()
{
    for (size_t size = 10; size <= 1000000; size = size * 10 - 7) {
        void *p = kept = malloc(size);
        answer("malloc", got(p, size));
        free(p);
        answer("free", last_delete == p);
        p = kept = calloc(2, size);
        answer("calloc", got(p, 2 * size));
        void *q = kept = realloc(p, 4 * size);
        answer("realloc", got(q, 4 * size) && last_delete == p);
        p = kept = realloc(q, 4 * size - 1);
        answer("realloc in place", got(p, 4 * size - 1) && last_delete == q);
        free(p);
        p = kept = memalign(256, size);
        answer("memalign", last_new == p);
        free(p);
        char *array = new char[size];
        kept = array;
        answer("new[]", got(array, size));
        delete[] array;
        answer("delete[]", last_delete == array);
    }
}

static pthread_barrier_t barrier;

static void *thread(void *)
{
    for (int i = 0; i < 1000; i++)
        free(kept = malloc(100));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 1000; i++)
        free(kept = malloc(100));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 1000; i++)
        free(kept = malloc(100));
    return NULL;
}

static void other_threads()
{
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, thread, NULL);
    pthread_barrier_wait(&barrier);
    news = deletes = 0;
    answer("added", MallocHook_AddNewHook(on_new) && MallocHook_AddDeleteHook(on_delete));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    answer("another thread", news == 1000 && deletes == 1000);
    answer("removed", MallocHook_RemoveNewHook(on_new) && MallocHook_RemoveDeleteHook(on_delete));
    answer("not there", !MallocHook_RemoveNewHook(on_new));
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    answer("nothing more", news == 1000 && deletes == 1000);
}

__attribute__((noinline)) void *caller_of_malloc()
{
    void *p = malloc(50);
    kept = p;
    return p;
}

static void stacks()
{
    MallocHook::AddNewHook(on_new_too);
    free(caller_of_malloc());
    MallocHook::RemoveNewHook(on_new_too);
    uintptr_t start = (uintptr_t)caller_of_malloc;
    answer("the caller's stack", depth > 1 && (uintptr_t)frames[0] - start < 100);
}

// The program's own calls of mmap and its family.
static char seen[64];
static const void *seen_result;

static void note(const char *call)
{
    strncat(seen, call, sizeof seen - strlen(seen) - 1);
}
extern "C" void pre_mmap(const void *, size_t size, int, int, int, off_t)
{
    note(size == 4096 ? "[" : "?");
}
extern "C" void after_mmap(const void *result, const void *, size_t, int, int, int, off_t)
{
    seen_result = result;
    note("m]");
}
extern "C" void before_munmap(const void *start, size_t size)
{
    note(start == seen_result && size == 4096 ? "u" : "?");
}
extern "C" void after_mremap(const void *result, const void *before, size_t, size_t size, int,
                             const void *)
{
    note(before == seen_result && size == 4096 ? "r" : "?");
    seen_result = result;
}
extern "C" void pre_sbrk(ptrdiff_t more)
{
    note(more == 16 || more == -16 ? "(" : "?");
}
extern "C" void after_sbrk(const void *result, ptrdiff_t)
{
    note(result != (void *)-1 ? "s)" : "?");
}
static char replaced[4096];
extern "C" int instead_of_mmap(const void *, size_t, int, int, int fd, off_t, void **result)
{
    *result = replaced;
    return fd == 77;
}
extern "C" int instead_of_munmap(const void *start, size_t, int *result)
{
    *result = 0;
    return start == replaced;
}

static void mappings()
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    answer("added all",
           MallocHook::AddPreMmapHook(pre_mmap) && MallocHook::AddMmapHook(after_mmap) &&
               MallocHook::AddMunmapHook(before_munmap) &&
               MallocHook::AddMremapHook(after_mremap) && MallocHook::AddPreSbrkHook(pre_sbrk) &&
               MallocHook::AddSbrkHook(after_sbrk));
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    void *moved = mremap(page, 4096, 4096, MREMAP_MAYMOVE);
    munmap(moved, 4096);
    sbrk(16);
    sbrk(0); /* is no request: hooks are not called */
    sbrk(-16);
    answer("each is called", strcmp(seen, "[m]ru(s)(s)") == 0);
    answer("errors pass", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED &&
                              seen_result == MAP_FAILED);
    answer("replaced", MallocHook::SetMmapReplacement(instead_of_mmap) &&
                           MallocHook::SetMunmapReplacement(instead_of_munmap));
    answer("in its place", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 77, 0) == replaced &&
                               munmap(replaced, 4096) == 0);
    answer("all removed",
           MallocHook::RemoveMmapReplacement(instead_of_mmap) &&
               MallocHook::RemoveMunmapReplacement(instead_of_munmap) &&
               MallocHook::RemovePreMmapHook(pre_mmap) && MallocHook::RemoveMmapHook(after_mmap) &&
               MallocHook::RemoveMunmapHook(before_munmap) &&
               MallocHook::RemoveMremapHook(after_mremap) &&
               MallocHook::RemovePreSbrkHook(pre_sbrk) && MallocHook::RemoveSbrkHook(after_sbrk));
    seen[0] = '\0';
    munmap(mmap(NULL, 4096, PROT_READ, flags, -1, 0), 4096);
    answer("and silent", seen[0] == '\0');
}

int main()
{
    setvbuf(stderr, NULL, _IONBF, 0);
    answer("set", MallocHook::SetNewHook(on_new) == NULL);
    answer("set delete", MallocHook::SetDeleteHook(on_delete) == NULL);
    all_functions();
    answer("set back", MallocHook::SetNewHook(NULL) == on_new);
    answer("set back delete", MallocHook::SetDeleteHook(NULL) == on_delete);
    other_threads();
    stacks();
    mappings();
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *page = MallocHook::UnhookedMMap(NULL, 4096, PROT_READ, flags, -1, 0);
    answer("mmap", page != MAP_FAILED && MallocHook::UnhookedMUnmap(page, 4096) == 0);
    return 0;
}
