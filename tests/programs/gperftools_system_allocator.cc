// SPDX-License-Identifier: MIT
// helper
// An object of the program's that memory comes from (SysAllocator): one that passes the question
// on and may refuse, and one with memory of its own. It prints what gperftools' own library and
// ours must agree on.
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>
#include <new>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void answer(const char *what, bool yes)
{
    printf("%s: %s\n", what, yes ? "yes" : "NO");
    fflush(stdout);
}

static const size_t MIB = 1 << 20;
static void *volatile kept;

class Passing : public SysAllocator
{
  public:
    SysAllocator *next;
    size_t bytes;
    bool refuses;

    void *Alloc(size_t size, size_t *actual, size_t align)
    {
        void *got = refuses ? NULL : next->Alloc(size, actual, align);
        bytes += got != NULL ? size : 0;
        return got;
    }
};

class Array : public SysAllocator
{
  public:
    char *start, *end;

    bool has(const void *p) const
    {
        return p >= start && p < end;
    }
    void *Alloc(size_t size, size_t *actual, size_t align)
    {
        char *got = (char *)(((uintptr_t)at + align - 1) & ~(align - 1));
        if (got > end || size > (size_t)(end - got))
            return NULL;
        at = got + size;
        *actual = size;
        return got;
    }
    char *at;
};

// Never destroyed: the heap is in use until the last moment.
static Passing *passing;
static Array *array;
static char memory[64 * MIB];

static int handled;

static void handler()
{
    handled++;
    passing->refuses = false;
}

static void *work(void *)
{
    static const int COUNT = 500;
    unsigned char *blocks[COUNT];
    uintptr_t wrong = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            size_t size = 16 + (size_t)i * 37 % 6000;
            blocks[i] = (unsigned char *)malloc(size);
            memset(blocks[i], i & 255, size);
        }
        for (int i = 0; i < COUNT; i++) {
            size_t size = 16 + (size_t)i * 37 % 6000;
            for (size_t at = 0; at < size; at++)
                wrong += blocks[i][at] != (i & 255);
            free(blocks[i]);
        }
    }
    return (void *)wrong;
}

static bool threads_are_right()
{
    pthread_t thread[4];
    bool right = true;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        right &= wrong == NULL;
    }
    return right;
}

// `waits`: freed blocks are not used again at once.
static void passes_on(MallocExtension *all, SysAllocator *kernel, bool waits)
{
    passing->next = kernel;
    all->SetSystemAllocator(passing);
    char *block = new char[8 * MIB];
    kept = block;
    memset(block, 1, 8 * MIB);
    answer("it is asked", passing->bytes >= 8 * MIB);
    answer("the block is the heap's", MallocExtension_GetOwnership(block) == 1);
    delete[] block;
    size_t before = passing->bytes;
    block = new char[8 * MIB];
    kept = block;
    answer("what is free is used first", waits || passing->bytes == before);
    passing->refuses = true;
    answer("refused", (kept = malloc(100 * MIB)) == NULL);
    std::set_new_handler(handler);
    char *larger = new char[100 * MIB];
    kept = larger;
    std::set_new_handler(NULL);
    answer("the new handler is called", handled == 1 && larger != NULL);
    delete[] block;
    delete[] larger;
    answer("threads", threads_are_right());
    all->SetSystemAllocator(kernel);
}

static void own_memory(MallocExtension *all, SysAllocator *kernel)
{
    all->SetSystemAllocator(array);
    enum { COUNT = 6 };
    char *blocks[COUNT];
    int inside = 0;
    for (int i = 0; i < COUNT; i++) {
        kept = blocks[i] = (char *)malloc(7 * MIB + 12345);
        memset(blocks[i], i, 7 * MIB + 12345);
        inside += array->has(blocks[i]);
    }
    answer("blocks in its memory", inside >= 1);
    answer("it ends", (kept = malloc(60 * MIB)) == NULL);
    char *more = (char *)realloc(blocks[0], 8 * MIB);
    answer("realloc", more != NULL && more[7 * MIB] == 0);
    blocks[0] = more;
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    char *zero = (char *)calloc(1, 6 * MIB);
    bool clear = zero != NULL;
    for (size_t i = 0; clear && i < 6 * MIB; i++)
        clear = zero[i] == 0;
    answer("calloc", clear);
    free(zero);
    answer("threads in it", threads_are_right());
    pid_t child = fork();
    if (child == 0)
        _exit(threads_are_right() ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    answer("a child", status == 0);
    all->SetSystemAllocator(kernel);
    answer("the kernel again", (kept = malloc(200 * MIB)) != NULL && !array->has(kept));
    free(kept);
}

int main(int argc, char **)
{
    MallocExtension *all = MallocExtension::instance();
    SysAllocator *kernel = all->GetSystemAllocator();
    answer("there is one", kernel != NULL);
    passing = new Passing();
    array = new Array();
    array->start = array->at = memory;
    array->end = memory + sizeof memory;
    passes_on(all, kernel, argc > 1);
    // So that the next part needs more than the heap has.
    for (int i = 0; i < 1000; i++)
        if ((kept = malloc(MIB / 2)) == NULL)
            break;
    own_memory(all, kernel);
    return 0;
}
