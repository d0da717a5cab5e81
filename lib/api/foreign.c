/* SPDX-License-Identifier: MIT */
/* See lib/api/foreign.h. The layout of glibc's blocks is all that memoir knows about another
 * allocator; a pointer that does not fit it is never passed on.
 *
 * Blocks of libc reach us through free and realloc. Each is checked word by word, because it may be
 * any invalid pointer, and then passed to libc's function behind ours. */
#include "lib/api/foreign.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"
#include "lib/api/libc.h"
#include "lib/process/process.h"

/* Absent in static programs, where there is no other allocator. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern int dladdr(const void *address, Dl_info *info) __attribute__((weak));

/* The object that this code is part of, from the linker. */
extern HIDDEN const char __ehdr_start[], _end[];

enum {
    CHUNK_HEADER = 16, /* glibc: length of the previous chunk, own length and three flags */
    CHUNK_IN_USE = 1,  /* of the chunk before */
    CHUNK_MAPPED = 2,
    CHUNK_ARENA = 4,
    ARENA_ALIGN = 64 << 20,
};

static void *libc_function(const void *p, const char *name);
static bool looks_like_glibc(uintptr_t p);
static bool word_at(uintptr_t address, uintptr_t *word);
static uintptr_t segment_start(void);

bool foreign_free(void *p)
{
    void (*real_free)(void *) = (void (*)(void *))libc_function(p, "free");
    if (real_free == NULL)
        return false;
    real_free(p);
    return true;
}

/* libc's function behind ours, for a block of libc. */
static void *libc_function(const void *p, const char *name)
{
    return looks_like_glibc((uintptr_t)p) ? next_find(name) : NULL;
}

static bool looks_like_glibc(uintptr_t p)
{
    uintptr_t before, own, next, arena;
    if (p % 16 != 0 || p < CHUNK_HEADER || !word_at(p - 16, &before) || !word_at(p - 8, &own))
        return false;
    uintptr_t length = own & ~(uintptr_t)7, chunk = p - CHUNK_HEADER;
    if (length < 32 || length % 16 != 0 || length >> 47 != 0)
        return false;
    if (own & CHUNK_MAPPED) {
        uintptr_t page = os_page_size();
        return (chunk - before) % page == 0 && (before + length) % page == 0;
    }
    if (!word_at(chunk + length + 8, &next) || !(next & CHUNK_IN_USE))
        return false;
    if (own & CHUNK_ARENA)
        return word_at(p & ~(uintptr_t)(ARENA_ALIGN - 1), &arena) && os_readable((void *)arena, 8);
    return chunk >= segment_start() && chunk + length <= os_break();
}

/* Reads a word that may not be mapped. */
static bool word_at(uintptr_t address, uintptr_t *word)
{
    if (address % sizeof *word != 0 || !os_readable((const void *)address, sizeof *word))
        return false;
    *word = *(const uintptr_t *)address;
    return true;
}

/* Where the kernel's heap segment starts: "[heap]" in the list of mappings. */
static uintptr_t segment_start(void)
{
    static uintptr_t known;
    static const char name[] = "[heap]";
    if (load_relaxed(&known) != 0)
        return known;
    int fd = os_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return UINTPTR_MAX;
    char buffer[256];
    uintptr_t start = 0;
    size_t matched = 0;
    bool in_address = true, found = false;
    for (ssize_t got; !found && (got = os_read(fd, buffer, sizeof buffer)) > 0;)
        for (ssize_t i = 0; i < got && !found; i++) {
            char c = buffer[i];
            if (c == '\n') {
                start = 0;
                in_address = true;
            } else if (in_address && c != '-') {
                start = start * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            } else {
                in_address = false;
            }
            matched = c == name[matched] ? matched + 1 : c == name[0];
            found = matched == sizeof name - 1;
        }
    os_close(fd);
    store_relaxed(&known, found ? start : UINTPTR_MAX);
    return known;
}

size_t foreign_usable(const void *p)
{
    size_t (*libc_usable)(const void *) =
        (size_t(*)(const void *))libc_function(p, "malloc_usable_size");
    return libc_usable == NULL ? 0 : libc_usable(p);
}

static bool can_look_up(void)
{
    return dlsym != NULL && !os_static();
}

static bool malloc_probe(void)
{
    void *(*their_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    void (*their_free)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    if (their_malloc == NULL || their_free == NULL || their_malloc == malloc)
        return false;
    void *block = their_malloc(1);
    bool ours = block != NULL && cold_owns(block);
    their_free(block);
    return !ours;
}

/* The name may lead to a wrapper around our malloc (fakeroot's, a tracer's), or to the stub of a
 * program at a fixed address that takes malloc's (Debian's python3), so this allocates one block:
 * its address decides. */
bool foreign_malloc(void)
{
    enum { UNKNOWN, OURS, THEIRS };
    static uint8_t known;
    if (!can_look_up())
        return false;
    if (load_relaxed(&known) == UNKNOWN)
        store_relaxed(&known, malloc_probe() ? THEIRS : OURS);
    return load_relaxed(&known) == THEIRS;
}

/* Called only where needed: libc allocates a message for a name that it does not find. */
bool foreign_serves(const char *function)
{
    const char *found = can_look_up() ? dlsym(RTLD_DEFAULT, function) : NULL;
    return found != NULL && (found < __ehdr_start || found >= _end);
}

const char *foreign_malloc_file(void)
{
    Dl_info info;
    void *found = can_look_up() ? dlsym(RTLD_DEFAULT, "malloc") : NULL;
    if (found == NULL || dladdr == NULL || dladdr(found, &info) == 0 || info.dli_fname == NULL)
        return "another library";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash == NULL ? info.dli_fname : slash + 1;
}
