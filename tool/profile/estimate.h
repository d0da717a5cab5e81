/* SPDX-License-Identifier: MIT */
/*
 * Says that numbers are estimates in files of formats that have no field for it: a
 * mark "[estimate: sampled every 524288 bytes]" behind the command or the title, which viewers
 * show. It is taken off when such a file is read, and the errors of the numbers follow from it.
 */
#ifndef PROFILE_ESTIMATE_H
#define PROFILE_ESTIMATE_H

#include "tool/profile/model.h"

enum { ESTIMATE_TEXT = 64 };

/* The mark, or "" if the numbers are exact. Returns `text`. */
const char *estimate_text(const struct profile *profile, char text[ESTIMATE_TEXT]);
/* A title with the mark behind it, to be freed. NULL when memory is out. */
char *estimate_title(const struct profile *profile, const char *title);
/* The same with the command as the title, or the program if there is none. */
char *estimate_command(const struct profile *profile);
/* Sets the period of the profile, if the text has a mark. */
void estimate_see(struct profile *profile, const char *text, size_t length);
/* The same for the profile's own texts, from which the mark is removed; then sets the weights. */
void estimate_take(struct profile *profile);
/* How many objects one that was recorded stands for, from the period of a sampled heap. */
void estimate_weights(struct profile *profile);

#endif
