/* SPDX-License-Identifier: MIT */
/* What was meant by a word that fits nothing: a function of the profile, or a file here. */
#ifndef TOOL_SUGGEST_H
#define TOOL_SUGGEST_H

#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

struct request;

/* A verb about one function, request->rest[0], was refused. False, for `return
 * suggest_...`; the hint names the nearest, where one is near. */
bool suggest_refuse(const struct request *request, const struct view_error *reason,
                    struct error *error);
/* A warning: there is nothing in the profile, or nothing of its metric, and what to do. */
void suggest_nothing(const struct request *request);
/* A warning, if the filters left nothing: which word fits nothing, and what may be meant. */
void suggest_filters(const struct request *request, const struct view *view);

#endif
