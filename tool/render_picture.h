/* SPDX-License-Identifier: MIT */
/*
 * Pictures of a profile, by the ending of the file and the flags of `memoir export`: --picture,
 * --inverted, --reversed, --title, --width. Verbs whose --output has such an ending draw, too: the
 * plots of `time` and `sizes`, the flame graph or the call graph of all others.
 */
#ifndef TOOL_RENDER_PICTURE_H
#define TOOL_RENDER_PICTURE_H

#include "tool/session.h"

/* Writes it. `moment`: the metric may become that of the peak (request_moment). */
bool picture_write(struct request *request, const char *path, bool moment, struct error *error);

#endif
