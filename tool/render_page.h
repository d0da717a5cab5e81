/* SPDX-License-Identifier: MIT */
/* A profile as one page of HTML: what the flags say, and what the doctor has to say of it. */
#ifndef TOOL_RENDER_PAGE_H
#define TOOL_RENDER_PAGE_H

#include "tool/session.h"

/* request->options has the metric that is shown first. */
bool page_write(const struct request *request, FILE *file, struct error *error);

#endif
