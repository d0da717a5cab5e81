/* SPDX-License-Identifier: MIT */
/* What was meant by a word that fits nothing: a function of the profile, or a file here. */
#ifndef TOOL_SUGGEST_H
#define TOOL_SUGGEST_H

#include "tool/load.h"

/* A verb about one function, loaded->rest[0], was refused with this text. False, for `return
 * suggest_...`; the hint names the nearest, where one is near. */
bool suggest_refuse(const struct loaded *loaded, const char *text, struct error *error);
/* A warning: there is nothing in the profile, or nothing of its metric, and what to do. */
void suggest_nothing(const struct loaded *loaded);
/* A warning, if the filters left nothing: which word fits nothing, and what may be meant. */
void suggest_filters(const struct loaded *loaded, const struct view *view);

#endif
