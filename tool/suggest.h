/* SPDX-License-Identifier: MIT */
/* What was meant by a word that fits nothing: a function of the profile, or a file here. */
#ifndef TOOL_SUGGEST_H
#define TOOL_SUGGEST_H

#include "tool/load.h"

/* Both return false, for `return suggest_...`; the hint names the nearest, where one is near. */
/* A verb about one function, loaded->rest[0], was refused with this text. */
bool suggest_refuse(const struct loaded *loaded, const char *text, struct error *error);
bool suggest_file(const char *word, const char *otherwise, struct error *error);
/* A word as a shell reads it: in quotes if it must be. Answers `text`. */
const char *suggest_quoted(char *text, size_t size, const char *word);
/* A warning: there is nothing in the profile, or nothing of its metric, and what to do. */
void suggest_nothing(const struct loaded *loaded);
/* A warning, if the filters left nothing: which word fits nothing, and what may be meant. */
void suggest_filters(const struct loaded *loaded, const struct view *view);

#endif
