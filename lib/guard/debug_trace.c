/* SPDX-License-Identifier: MIT */
/* See lib/guard/debug_trace.h. */
#include "lib/guard/debug_trace.h"

#include <fcntl.h>
#include <stddef.h>

#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/watch/watch.h"

enum { FRAMES = 16, LINE = 512 };

static const char *file; /* NULL: none */

void debug_trace_start(const char *path)
{
    char buffer[2 * LINE];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    int fd = os_open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    file = fd >= 0 ? path : NULL;
    if (file == NULL) {
        print_format(&text, "Can't open %s.  Logging disabled.\n", path);
        message_flush(&text);
        return;
    }
    print_format(&text,
                 "Trace started: %lu\nfunc\tsize\tptr\tthread_id\tstack pcs for tools/symbolize\n",
                 (unsigned long)(os_wall_ns() / 1000000000));
    print_flush(&text, fd);
    os_close(fd);
}

void debug_trace(const char *call, size_t size, const void *p, const struct cell_event *event)
{
    uintptr_t pcs[FRAMES];
    char buffer[LINE];
    struct print line;
    if (file == NULL)
        return;
    int fd = os_open(file, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    unsigned count = stacks_frames(event->stack, pcs, FRAMES);
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "%s\t%zu\t%p\t%u", call, size, p, event->thread);
    for (unsigned i = 0; i < count && i < FRAMES; i++)
        print_format(&line, "\t%p", (void *)pcs[i]);
    print_char(&line, '\n');
    print_flush(&line, fd);
    os_close(fd);
}
