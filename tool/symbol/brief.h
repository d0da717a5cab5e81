/* SPDX-License-Identifier: MIT */
/*
 * Leaves out what is in the brackets of a name while a demangler writes it piece by piece:
 * Map<...>::insert<...>. Short contents stay: (anonymous namespace), <int>.
 */
#ifndef SYMBOL_BRIEF_H
#define SYMBOL_BRIEF_H

#include <stdbool.h>
#include <stddef.h>

/* Arguments up to 32 bytes stay as they are: "(...)" would save little. */
enum { BRIEF_DEPTH_MAX = 256, BRIEF_KEPT = 32, BRIEF_BEFORE = 16 };

struct brief {
    size_t length;              /* of all pieces so far */
    char before[BRIEF_BEFORE];  /* their last bytes */
    unsigned depth;             /* open brackets */
    char open[BRIEF_DEPTH_MAX]; /* those that have room */
    char kept[BRIEF_KEPT];      /* what is in the outermost one */
    size_t kept_length;         /* more than BRIEF_KEPT: it is not short */
};

/* Takes a piece and appends to `text`. False if either becomes too long. */
bool brief_add(struct brief *brief, const char *part, size_t length, char *text, size_t size,
               size_t *used);

#endif
