/* SPDX-License-Identifier: MIT */
/* The functions behind ours: libc's, or those of a library that stands after us in the loader's
 * order. */
#ifndef PROCESS_NEXT_H
#define PROCESS_NEXT_H

/* The next function of that name; NULL: there is none, or the program has no loader. */
void *next_find(const char *name);
/* The same, looked up once; `cached` begins as NULL. */
void *next_of(void **cached, const char *name);

#endif
