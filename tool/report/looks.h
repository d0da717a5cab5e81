/* SPDX-License-Identifier: MIT */
/*
 * What a scan tells of blocks beside how many are lost: how old they are, cycles, what they look
 * like, which lost block points to them; and which reachable ones are forgotten.
 */
#ifndef REPORT_LOOKS_H
#define REPORT_LOOKS_H

#include "tool/report/view.h"

/* Of the lost blocks of one site. */
struct looks {
    bool known;
    int64_t oldest_us, youngest_us;     /* ages; 0: not known */
    int64_t cycles;                     /* blocks that lead back to themselves */
    int64_t owned_objects, owned_space; /* indirectly lost ones that they lead to */
    const struct profile_look *example; /* of the largest row of the site */
};
/* But for samples that are left out, as of `view_sum_without`. */
struct looks looks_of(const struct view *view, uint32_t frame, const bool *left_out);
/* The beginning of a block as text in quotes, if it is one. */
bool looks_text(const struct profile_look *look, char *text, size_t size);

/* Blocks of one site that a column counts: indirectly lost ones, or forgotten ones. */
struct looks_row {
    uint32_t frame, stack; /* stack: the heaviest one, in view->stacks */
    uint32_t from;         /* the site of a block that points to one of them; UINT32_MAX */
    bool from_known;
    int64_t objects, bytes;
};
/* Largest first, but for samples that are left out. To be freed; NULL when memory is out. */
struct looks_row *looks_rows(const struct view *view, const char *objects, const char *space,
                             const bool *left_out, size_t *count);

#endif
