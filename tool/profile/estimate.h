/* SPDX-License-Identifier: MIT */
/*
 * That the numbers of a profile are estimates, in files of formats that have no field for it: a
 * mark "[estimate: sampled every 524288 bytes]" behind the command or the title, which viewers
 * show. It is taken off when such a file is read, and the errors of the numbers follow from it.
 */
#ifndef PROFILE_ESTIMATE_H
#define PROFILE_ESTIMATE_H

#include "tool/profile/model.h"

enum { ESTIMATE_TEXT = 64 };

/* The mark; "": the numbers are exact. Answers `text`. */
const char *estimate_text(const struct profile *profile, char text[ESTIMATE_TEXT]);
/* The command, or else the program, and the mark behind it. NULL: memory is out. */
char *estimate_command(const struct profile *profile);
/* Takes the mark in, where the text has it: the period of the profile. */
void estimate_see(struct profile *profile, const char *text, size_t length);
/* The same for the profile's own texts, which lose it; then the weights. */
void estimate_take(struct profile *profile);
/* How many objects one that was recorded stands for, from the period of a sampled heap. */
void estimate_weights(struct profile *profile);

#endif
