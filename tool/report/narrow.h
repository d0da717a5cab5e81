/* SPDX-License-Identifier: MIT */
/*
 * What filters leave of a profile, as a profile, for writers of files: samples and frames that
 * are not wanted go, all that is known of the others stays. If everything is wanted, the profile is
 * what it was. Else the heap over time and the exact counts go as well: they are of the whole.
 */
#ifndef REPORT_NARROW_H
#define REPORT_NARROW_H

#include "tool/report/view.h"

/* Only the filters of the options matter. False: a pattern is wrong, or memory is out. */
bool narrow(struct profile *profile, const struct view_options *options, struct view_error *error);

#endif
