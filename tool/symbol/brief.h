/* SPDX-License-Identifier: MIT */
/*
 * A name without what is in its brackets, made while a demangler writes it piece by piece:
 * Map<...>::insert<...>. What is short in them stays: (anonymous namespace), <int>.
 */
#ifndef SYMBOL_BRIEF_H
#define SYMBOL_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

enum { BRIEF_DEPTH_MOST = 256, BRIEF_KEPT = 32, BRIEF_BEFORE = 16 };

struct brief {
    size_t length;               /* of all that came */
    char before[BRIEF_BEFORE];   /* the last bytes of it */
    unsigned depth;              /* open brackets */
    char open[BRIEF_DEPTH_MOST]; /* those that have room */
    char kept[BRIEF_KEPT];       /* what is in the outermost one */
    size_t kept_length;          /* more than BRIEF_KEPT: it is not short */
};

/* Takes a piece and appends to `text`. False: it is too much, of the one or the other. */
bool brief_add(struct brief *brief, const char *part, size_t length, char *text, size_t size,
               size_t *used);

#endif
