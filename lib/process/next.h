/* SPDX-License-Identifier: MIT */
/* The functions behind ours: libc's, or those of a library that stands after us in the loader's
 * order. */
#ifndef PROCESS_NEXT_H
#define PROCESS_NEXT_H

#include <stdbool.h>

/* The next function of that name; NULL: there is none, or the program has no loader. */
void *next_find(const char *name);
/* The function of that name in the library that `there` is in, or in one that it needs; NULL: there
 * is none, or the program has no loader. The library is never unloaded afterwards. */
void *next_find_beside(const void *there, const char *name);
/* As `next_find`, but looked up once; `cached` begins as NULL. */
void *next_of(void **cached, const char *name);
/* Whether a library is loaded whose file's name begins so. What `next_find` does not find leaves an
 * error for the program's dlerror, and a block of its heap: it is for names that are there. */
bool next_has_library(const char *name);

#endif
