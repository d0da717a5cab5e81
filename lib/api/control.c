/* SPDX-License-Identifier: MIT */
/* See lib/api/control.h. */
#include "lib/api/control.h"

#include <errno.h>

int control_command(const char *line, size_t length, int fd, struct sink *sink)
{
    (void)fd;
    sink_text(sink, "no command ");
    sink_bytes(sink, line, length);
    return EOPNOTSUPP;
}
