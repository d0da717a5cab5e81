/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's interface, as far as memoir has it, for programs that say #include
 * <jemalloc/jemalloc.h>: compile with -I.../include/memoir/compat. What each call does here is in
 * docs/COMPATIBILITY.md. Every function has a second name with the prefix je_.
 */
#ifndef JEMALLOC_H_
#define JEMALLOC_H_

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The release whose behaviour this is. */
#define JEMALLOC_VERSION           "5.3.0-0-gmemoir"
#define JEMALLOC_VERSION_MAJOR     5
#define JEMALLOC_VERSION_MINOR     3
#define JEMALLOC_VERSION_BUGFIX    0
#define JEMALLOC_VERSION_NREV      0
#define JEMALLOC_VERSION_GID       "memoir"
#define JEMALLOC_VERSION_GID_IDENT memoir

/* What jemalloc's own header says of its functions, for programs that declare theirs alike. */
#define JEMALLOC_HAVE_ATTR
#define JEMALLOC_ATTR(s)             __attribute__((s))
#define JEMALLOC_ALIGNED(s)          JEMALLOC_ATTR(aligned(s))
#define JEMALLOC_ALLOC_SIZE(s)       JEMALLOC_ATTR(alloc_size(s))
#define JEMALLOC_ALLOC_SIZE2(s1, s2) JEMALLOC_ATTR(alloc_size(s1, s2))
#define JEMALLOC_ALLOCATOR
#define JEMALLOC_COLD                JEMALLOC_ATTR(__cold__)
#define JEMALLOC_EXPORT              JEMALLOC_ATTR(visibility("default"))
#define JEMALLOC_FORMAT_ARG(i)       JEMALLOC_ATTR(__format_arg__(i))
#define JEMALLOC_FORMAT_PRINTF(s, i) JEMALLOC_ATTR(format(printf, s, i))
#define JEMALLOC_NOINLINE            JEMALLOC_ATTR(noinline)
#define JEMALLOC_NOTHROW             JEMALLOC_ATTR(nothrow)
#define JEMALLOC_SYS_NOTHROW         JEMALLOC_NOTHROW
#define JEMALLOC_SECTION(s)          JEMALLOC_ATTR(section(s))
#define JEMALLOC_RESTRICT_RETURN
#if defined(__GNUC__) && __GNUC__ >= 7
#define JEMALLOC_FALLTHROUGH JEMALLOC_ATTR(fallthrough)
#else
#define JEMALLOC_FALLTHROUGH
#endif
#ifdef __cplusplus
#define JEMALLOC_CXX_THROW throw()
#else
#define JEMALLOC_CXX_THROW
#endif
#define JEMALLOC_OVERRIDE_MEMALIGN
#define JEMALLOC_OVERRIDE_VALLOC
#define JEMALLOC_USABLE_SIZE_CONST

/* Flags of the functions that end in x. */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a)                                                  \
    ((int)(((size_t)(a) < (size_t)INT_MAX) ? __builtin_ctz((unsigned)(a)) \
                                           : __builtin_ctzl((unsigned long)(a))))
#define MALLOCX_ZERO        ((int)0x40)
#define MALLOCX_TCACHE(tc)  ((int)(((tc) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a)    ((int)((((unsigned)(a)) + 1) << 20))

/* In the place of an arena's number in a name of mallctl. */
#define MALLCTL_ARENAS_ALL       4096
#define MALLCTL_ARENAS_DESTROYED 4097

/* Options built into the program, "key:value,key:value"; where messages go. */
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder;
extern void (*malloc_message)(void *opaque, const char *text);
extern const char *je_malloc_conf;
extern const char *je_malloc_conf_2_conf_harder;
extern void (*je_malloc_message)(void *opaque, const char *text);

void *mallocx(size_t size, int flags);
void *rallocx(void *ptr, size_t size, int flags);
size_t xallocx(void *ptr, size_t size, size_t extra, int flags);
size_t sallocx(const void *ptr, int flags);
void dallocx(void *ptr, int flags);
void sdallocx(void *ptr, size_t size, int flags);
size_t nallocx(size_t size, int flags);

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp,
                 size_t newlen);
void malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque,
                        const char *opts);

void *je_malloc(size_t size);
void *je_calloc(size_t num, size_t size);
void *je_realloc(void *ptr, size_t size);
void je_free(void *ptr);
void *je_aligned_alloc(size_t alignment, size_t size);
int je_posix_memalign(void **memptr, size_t alignment, size_t size);
void *je_memalign(size_t alignment, size_t size);
void *je_valloc(size_t size);
void *je_pvalloc(size_t size);
size_t je_malloc_usable_size(void *ptr);
void je_free_sized(void *ptr, size_t size);
void je_free_aligned_sized(void *ptr, size_t alignment, size_t size);
void *je_mallocx(size_t size, int flags);
void *je_rallocx(void *ptr, size_t size, int flags);
size_t je_xallocx(void *ptr, size_t size, size_t extra, int flags);
size_t je_sallocx(const void *ptr, int flags);
void je_dallocx(void *ptr, int flags);
void je_sdallocx(void *ptr, size_t size, int flags);
size_t je_nallocx(size_t size, int flags);
int je_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int je_mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int je_mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp,
                    size_t newlen);
void je_malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque,
                           const char *opts);

/* Hooks for the memory of an arena that the program created. */
typedef struct extent_hooks_s extent_hooks_t;
struct extent_hooks_s {
    void *(*alloc)(extent_hooks_t *, void *, size_t, size_t, bool *, bool *, unsigned);
    bool (*dalloc)(extent_hooks_t *, void *, size_t, bool, unsigned);
    void (*destroy)(extent_hooks_t *, void *, size_t, bool, unsigned);
    bool (*commit)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
    bool (*decommit)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
    bool (*purge_lazy)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
    bool (*purge_forced)(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
    bool (*split)(extent_hooks_t *, void *, size_t, size_t, size_t, bool, unsigned);
    bool (*merge)(extent_hooks_t *, void *, size_t, void *, size_t, bool, unsigned);
};

#ifdef __cplusplus
}
#endif

#endif
