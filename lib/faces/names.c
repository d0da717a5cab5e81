/* SPDX-License-Identifier: MIT */
/* See lib/faces/names.h. */
#include "lib/faces/names.h"

#include <string.h>

#include "base/message.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/faces/variables.h"

enum { LINE_SIZE = 256 };

/* libtcmalloc_debug, libtcmalloc_minimal_debug; NULL where neither is in the process. */
extern const char memoir_mode_debug[] __attribute__((weak));

void names_tell(void)
{
    char buffer[LINE_SIZE];
    struct print line;
    if (memoir_mode_debug == NULL)
        return;
    size_t length = strlen(memoir_mode_debug);
    if (told_before(memoir_mode_debug, length) || foreign_malloc())
        return;
    told_add(memoir_mode_debug, length);
    print_start(&line, buffer, sizeof buffer);
    print_format(&line,
                 "memoir: %s: not served: its checks and its messages are gperftools' own; "
                 "MEMOIR=guard:full finds overflows, uses after free and functions that do not "
                 "fit\n",
                 memoir_mode_debug);
    message_flush(&line);
}
