/* SPDX-License-Identifier: MIT */
/*
 * A view turned back into a profile: what filters leave of one, for those who write profiles. All
 * columns are there; labels, addresses and the heap over time, which know no filters, are not.
 */
#ifndef REPORT_UNVIEW_H
#define REPORT_UNVIEW_H

#include "tool/report/view.h"

/* Whether the options leave anything out, or change stacks. */
bool unview_wanted(const struct view_options *options);
/* `to` is fresh (profile_start). options->type does not matter. */
bool unview_make(struct profile *to, const struct profile *from, const struct view_options *options,
                 struct view_error *error);

#endif
