/* SPDX-License-Identifier: MIT */
/* A profile as one page of HTML: what the flags say, and what the doctor has to say of it. */
#ifndef TOOL_RENDER_PAGE_H
#define TOOL_RENDER_PAGE_H

#include "tool/command/command.h"
#include "tool/load.h"

/* loaded->view has the metric that is shown first. */
bool page_write(const struct arguments *arguments, const struct loaded *loaded, FILE *file,
                struct error *error);

#endif
