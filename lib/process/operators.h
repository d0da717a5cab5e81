/* SPDX-License-Identifier: MIT */
/*
 * A C++ program may have an operator new and an operator delete of its own. The forms that it does
 * not replace (for arrays, nothrow, with a size) end in its own then, as C++ says: the array form
 * calls the plain one, a delete with a size that without. All forms are ours under preload, so they
 * must do the same, or a block of one side would reach the delete of the other (lib/api/cxx.c).
 */
#ifndef PROCESS_OPERATORS_H
#define PROCESS_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The forms that others end in; the C++ library's nothrow ones call those for arrays, too. */
struct operators {
    void *(*make)(size_t size);
    void *(*make_array)(size_t size);
    void *(*make_aligned)(size_t size, size_t align);
    void *(*make_array_aligned)(size_t size, size_t align);
    void (*drop)(void *p);
    void (*drop_array)(void *p);
    void (*drop_aligned)(void *p, size_t align);
    void (*drop_array_aligned)(void *p, size_t align);
};

/* What the program's references lead to; false: to ours. Absent in the static archive. */
bool operators_by_loader(struct operators *found, const struct operators *ours)
    __attribute__((weak));
/* A library with operators of its own may bind its own calls to them, and those call malloc and
 * free: its blocks are malloc's for us, and the program's deletes of them are ours. Whether the
 * code before a return address is in such a library: its operators may be part of any function.
 * With `frees`, operator delete counts, else operator new. Absent in the static archive. */
bool operators_of_library(uintptr_t pc, bool frees) __attribute__((weak));
/* The first as the linker decided it, by a member of the static archive for programs that use our
 * operators (packaging/archive/operators.c); absent elsewhere. */
bool memoir_operators_by_linker(struct operators *found) __attribute__((weak));

#endif
