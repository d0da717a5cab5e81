/* SPDX-License-Identifier: MIT */
/* See lib/api/control.h: for now, who is there. */
#include "lib/api/control.h"

#include <errno.h>
#include <string.h>

int control_command(const char *line, size_t length, int fd, struct sink *sink)
{
    static const char version[] = "version";
    (void)fd;
    if (length != sizeof version - 1 || memcmp(line, version, length) != 0)
        return EOPNOTSUPP;
    sink_text(sink, "memoir " MEMOIR_VERSION "\n");
    return 0;
}
