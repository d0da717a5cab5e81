/* SPDX-License-Identifier: MIT */
/* See lib/guard/debug_trace.h. */
#include "lib/guard/debug_trace.h"

#include <fcntl.h>
#include <stddef.h>

#include "base/message.h"
#include "base/os.h"
#include "base/os_socket.h"
#include "base/print.h"
#include "lib/watch/watch.h"

enum { FRAMES = 16, LINE = 512 };

static const char *file; /* NULL: none */
static struct os_file_id id;

static int file_open(const char *path);

void debug_trace_start(const char *path)
{
    char buffer[2 * LINE];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    int fd = file_open(path);
    file = fd >= 0 ? path : NULL;
    id = os_file_id(fd);
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

/* The usual name is in /tmp, where any user may have put a link, a file or a pipe before: it is
 * made, or it is this user's own or root's. */
static int file_open(const char *path)
{
    enum { OPEN = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, MODE = 0600, ROOT = 0 };
    struct os_ids ids;
    uint32_t owner;
    int fd = os_open(path, OPEN | O_CREAT | O_EXCL, MODE);
    if (fd >= 0)
        return fd;
    fd = os_open(path, OPEN, 0);
    if (fd < 0)
        return fd;
    os_ids(&ids);
    if (!os_file_owner(fd, &owner) || (owner != ids.user[1] && owner != ROOT)) {
        os_close(fd);
        return -1;
    }
    os_file_empty(fd);
    return fd;
}

void debug_trace(const char *call, size_t size, const void *p, const struct cell_event *event)
{
    uintptr_t pcs[FRAMES];
    char buffer[LINE];
    struct print line;
    if (file == NULL)
        return;
    int fd = os_open(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (!os_file_is(fd, id)) {
        if (fd >= 0)
            os_close(fd);
        return;
    }
    unsigned count = stacks_frames(event->stack, pcs, FRAMES);
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "%s\t%zu\t%p\t%u", call, size, p, event->thread);
    for (unsigned i = 0; i < count && i < FRAMES; i++)
        print_format(&line, "\t%p", (void *)pcs[i]);
    print_char(&line, '\n');
    print_flush(&line, fd);
    os_close(fd);
}
