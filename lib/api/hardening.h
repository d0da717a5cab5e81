/* SPDX-License-Identifier: MIT */
/*
 * Hardened blocks (lib/window/harden.h) as malloc and free see them. All of this is called only
 * while `harden_on`; blocks of owners are as they always are, but for the pages behind their spans.
 */
#ifndef API_HARDENING_H
#define API_HARDENING_H

#include <stdbool.h>
#include <stddef.h>

struct heap;
struct span;

/* The short roads of malloc and free, from outside; NULL and false: take the long one. They are as
 * the hot path is: a signal handler that came upon them may do what it may do there. */
void *hardening_pop(size_t size);
bool hardening_push(void *p);
bool hardening_push_sized(void *p, size_t size); /* unless it was asked for another size */
/* realloc of a live block to another size; NULL: take the long road. */
void *hardening_realloc(void *p, size_t size);
/* The same, and the long road is jumped to, with its argument. */
void *hardening_malloc(size_t size, void *(*otherwise)(size_t size));
void hardening_release(void *p, void (*otherwise)(void *p));

/* Between `cold_begin` and `cold_end`: a block of 0 bytes; NULL: another must do. */
void *hardening_take_empty(void);
/* The same place: frees a block of a class that has no record and no owner. False: it is another
 * one. */
bool hardening_free(void *p, struct heap *heap);

/* From outside. Frees a block of 0 bytes; false if p is not one. */
bool hardening_free_empty(void *p);
/* Makes a live block in the window, of `before` bytes, one of `size`, if it can stay in place. */
bool hardening_resize(void *p, size_t before, size_t size);

#endif
