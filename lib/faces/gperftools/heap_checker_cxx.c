/* SPDX-License-Identifier: MIT */
/*
 * The classes of gperftools' heap-checker.h, HeapLeakChecker and HeapCleaner, as the functions that
 * a C++ compiler calls. An object of the first has the members of gperftools' and no others: it
 * lies in the program's memory.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/faces/gperftools/heap_checker.h"
#include "lib/heap/observer.h"

enum { NAME_SIZE = 192, CLEANERS_MAX = 1024 };

/* What a checker keeps beside its object. */
struct started {
    struct blocks_base *base;
    char name[NAME_SIZE];
};

struct checker {
    void *lock;
    const char *name; /* NULL: it does nothing */
    struct started *started;
    bool has_checked;
    ssize_t bytes, objects;
    bool unused;
};

typedef void cleaner(void);

/* The names are C++'s, mangled: construct and destruct, of the object alone and as a base. */
void _ZN15HeapLeakCheckerC1EPKc(struct checker *self, const char *name);
void _ZN15HeapLeakCheckerC2EPKc(struct checker *self, const char *name);
void _ZN15HeapLeakCheckerD1Ev(struct checker *self);
void _ZN15HeapLeakCheckerD2Ev(struct checker *self);
bool _ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE(struct checker *self, int symbolize);
ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const struct checker *self);
ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const struct checker *self);
bool _ZN15HeapLeakChecker8IsActiveEv(void);
struct checker *_ZN15HeapLeakChecker13GlobalCheckerEv(void);
bool _ZN15HeapLeakChecker13NoGlobalLeaksEv(void);
void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void);
void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *object);
void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *object);
void _ZN15HeapLeakChecker15DisableChecksInEPKc(const char *pattern);
void _ZN15HeapLeakChecker8DisablerC1Ev(void *self);
void _ZN15HeapLeakChecker8DisablerC2Ev(void *self);
void _ZN15HeapLeakChecker8DisablerD1Ev(void *self);
void _ZN15HeapLeakChecker8DisablerD2Ev(void *self);
void _ZN11HeapCleanerC1EPFvvE(void *self, cleaner *clean);
void _ZN11HeapCleanerC2EPFvvE(void *self, cleaner *clean);
void _ZN11HeapCleaner15RunHeapCleanupsEv(void);

static struct checker whole = {.name = "_main_"};
static BULK cleaner *cleaners[CLEANERS_MAX];
static unsigned cleaners_count;

/* ---- a checker ---- */

EXPORT void _ZN15HeapLeakCheckerC1EPKc(struct checker *self, const char *name)
{
    *self = (struct checker){0};
    if (!heap_checker_is_active()) {
        heap_checker_say(
            true, "Heap checker is not active, hence checker \"%s\" will do nothing!\n", name);
        heap_checker_say(true, "To activate set the HEAPCHECK environment variable.\n");
        return;
    }
    self->started = os_map(sizeof *self->started);
    if (self->started == NULL)
        return;
    size_t length = strlen(name);
    memcpy(self->started->name, name, length < NAME_SIZE ? length : NAME_SIZE - 1);
    self->started->base = blocks_base_take();
    self->name = self->started->name;
}

EXPORT void _ZN15HeapLeakCheckerC2EPKc(struct checker *self, const char *name)
    __attribute__((alias("_ZN15HeapLeakCheckerC1EPKc")));

EXPORT void _ZN15HeapLeakCheckerD1Ev(struct checker *self)
{
    if (self->name != NULL && !self->has_checked)
        heap_checker_fatal("Some *NoLeaks|SameHeap method must be called on any created "
                           "HeapLeakChecker\n");
    if (self->started != NULL) {
        blocks_base_free(self->started->base);
        os_unmap(self->started, sizeof *self->started);
    }
    self->started = NULL;
    self->name = NULL;
}

EXPORT void _ZN15HeapLeakCheckerD2Ev(struct checker *self)
    __attribute__((alias("_ZN15HeapLeakCheckerD1Ev")));

static bool check(struct checker *self, const struct roots_thread *here)
{
    struct heap_checker_sums sums;
    if (self->name == NULL)
        return true;
    bool none = self == &whole ? heap_checker_check_global(here, &sums)
                               : heap_checker_check(self->name, self->started->base, here, &sums);
    self->bytes = (ssize_t)sums.bytes;
    self->objects = (ssize_t)sums.objects;
    self->has_checked = true;
    return none;
}

EXPORT bool _ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE(struct checker *self,
                                                                 int symbolize)
{
    struct roots_thread here = {0};
    roots_here(&here);
    (void)symbolize;
    return check(self, &here);
}

static void has_checked(const struct checker *self)
{
    if (!self->has_checked)
        heap_checker_fatal("*NoLeaks|SameHeap must execute before this call\n");
}

EXPORT ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const struct checker *self)
{
    has_checked(self);
    return self->bytes;
}

EXPORT ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const struct checker *self)
{
    has_checked(self);
    return self->objects;
}

/* ---- the whole program ---- */

EXPORT bool _ZN15HeapLeakChecker8IsActiveEv(void)
{
    return heap_checker_is_active();
}

EXPORT struct checker *_ZN15HeapLeakChecker13GlobalCheckerEv(void)
{
    return heap_checker_is_global() ? &whole : NULL;
}

EXPORT bool _ZN15HeapLeakChecker13NoGlobalLeaksEv(void)
{
    struct roots_thread here = {0};
    roots_here(&here);
    return !heap_checker_is_global() || check(&whole, &here);
}

EXPORT void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void)
{
    heap_checker_cancel();
}

/* ---- what is no leak ---- */

EXPORT void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *object)
{
    struct found block;
    if (!heap_checker_is_active())
        return;
    if (!leaks_block_at((uintptr_t)object, &block)) {
        heap_checker_say(true, "No live heap object at 0x%lx to ignore\n", (unsigned long)object);
        return;
    }
    if (leaks_ignore_end((const void *)block.start))
        heap_checker_say(true, "Object at 0x%lx is already being ignored\n",
                         (unsigned long)block.start);
    leaks_ignore((const void *)block.start);
}

EXPORT void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *object)
{
    struct found block;
    if (!heap_checker_is_active())
        return;
    if (!leaks_block_at((uintptr_t)object, &block))
        heap_checker_fatal("No live heap object at 0x%lx to un-ignore\n", (unsigned long)object);
    if (!leaks_ignore_end((const void *)block.start))
        heap_checker_fatal("Object at 0x%lx has not been ignored\n", (unsigned long)block.start);
}

EXPORT void _ZN15HeapLeakChecker15DisableChecksInEPKc(const char *pattern)
{
    heap_checker_say(true, "DisableChecksIn(%s) is ignored\n", pattern);
}

EXPORT void _ZN15HeapLeakChecker8DisablerC1Ev(void *self)
{
    (void)self;
    track_set_thread_kept(1);
}

EXPORT void _ZN15HeapLeakChecker8DisablerC2Ev(void *self)
    __attribute__((alias("_ZN15HeapLeakChecker8DisablerC1Ev")));

EXPORT void _ZN15HeapLeakChecker8DisablerD1Ev(void *self)
{
    (void)self;
    track_set_thread_kept(-1);
}

EXPORT void _ZN15HeapLeakChecker8DisablerD2Ev(void *self)
    __attribute__((alias("_ZN15HeapLeakChecker8DisablerD1Ev")));

/* ---- HeapCleaner ---- */

EXPORT void _ZN11HeapCleanerC1EPFvvE(void *self, cleaner *clean)
{
    (void)self;
    if (cleaners_count < CLEANERS_MAX)
        cleaners[cleaners_count++] = clean;
}

EXPORT void _ZN11HeapCleanerC2EPFvvE(void *self, cleaner *clean)
    __attribute__((alias("_ZN11HeapCleanerC1EPFvvE")));

EXPORT void _ZN11HeapCleaner15RunHeapCleanupsEv(void)
{
    heap_checker_cleanups();
}

void heap_checker_cleanups(void)
{
    unsigned count = cleaners_count;
    cleaners_count = 0;
    for (unsigned i = 0; i < count; i++)
        cleaners[i]();
}
