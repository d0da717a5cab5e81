/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's face: its functions (mi_...), its variables (MIMALLOC_...), what it prints. Releases 2
 * and 3 differ in the numbers of options and in some layouts; the library name that the program was
 * linked with says which one it expects.
 */
#ifndef MIMALLOC_MIMALLOC_H
#define MIMALLOC_MIMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/print.h"

/* Defines a function that programs call. */
#define FUNCTION(result, name, args) \
    EXPORT result name args;         \
    EXPORT result name args

struct caller;
struct owner;

/* Reads the variables, once, when there is an environment. */
void mimalloc_init(void);
/* Before main: what MIMALLOC_VERBOSE prints at the start. */
void mimalloc_before_main(void);
/* The program ends: statistics, if asked for. */
void mimalloc_exit(void);

/* 2 or 3: which release the program was made for. */
unsigned mimalloc_release(void);
/* The number of the release as mi_version returns it. */
int mimalloc_version(void);
/* Whether code of mimalloc's own library stands at `pc`. Takes the loader's lock. */
bool mimalloc_is_theirs(void *pc);

/* Options (mimalloc_options.def), by names that both releases have. */
enum mimalloc_option {
#define OPTION(name, ...) MIMALLOC_##name,
#include "lib/faces/mimalloc/mimalloc_options.def"
#undef OPTION
    MIMALLOC_OPTIONS
};
long mimalloc_option(enum mimalloc_option option);

/* Where text goes: a function of the program's, or standard error. */
typedef void mimalloc_output(const char *text, void *arg);
/* Sends the text to `out`; if that is NULL, to the function of mi_register_output or to standard
 * error, and starts anew. */
void mimalloc_print(struct print *text, mimalloc_output *out, void *arg);
/* One line, "mimalloc: " and the text, if messages of this kind are wanted: warnings and errors
 * with MIMALLOC_SHOW_ERRORS or MIMALLOC_VERBOSE. */
void mimalloc_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mimalloc_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and tells the function of mi_register_error. */
void mimalloc_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for misuse of the heap, which is always printed. */
void mimalloc_misuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The options in force, as text. */
void mimalloc_print_options(mimalloc_output *out, void *arg);
/* mimalloc's table of statistics, and the line about the process. */
void mimalloc_print_stats(mimalloc_output *out, void *arg);
void mimalloc_print_process(mimalloc_output *out, void *arg);

/* What mi_process_info tells. */
struct mimalloc_process {
    size_t elapsed_ms, user_ms, system_ms, rss, rss_peak, commit, commit_peak, faults;
};
void mimalloc_process(struct mimalloc_process *process);

/* What is asked for. */
struct wish {
    size_t size;
    size_t align;        /* a power of two, */
    size_t offset;       /* in bytes from the block's start: the address there is aligned */
    bool zero;           /* to the last usable byte */
    struct owner *owner; /* the heap that it comes from; NULL: the thread's default */
};
/* A block, or NULL, with errno and the program told. */
void *mimalloc_take(const struct wish *wish, const struct caller *caller);
/* Another size for p, which may be NULL. If it fails, p stays. With `zero` the part behind the
 * smaller of both sizes is zero. */
void *mimalloc_resize(void *p, const struct wish *wish, const struct caller *caller);
/* The owner that a heap's handle stands for; NULL: it is the first heap. */
struct owner *mimalloc_owner(const struct owner *heap);
/* count * size, or more than can be. */
size_t mimalloc_product(size_t count, size_t size);
bool mimalloc_aligns(size_t align);
/* Calls the function of mi_register_deferred_free, if there is one. */
void mimalloc_deferred_free(bool force);
void mi_free(void *p);
int mi_reserve_os_memory(size_t size, bool commit, bool large);
int mi_reserve_huge_os_pages_at(size_t pages, int node, size_t ms);
size_t mi_usable_size(const void *p);

#endif
