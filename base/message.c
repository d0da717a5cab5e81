/* SPDX-License-Identifier: MIT */
/* See base/message.h. */
#include "base/message.h"

#include <fcntl.h>

#include "base/confine.h"
#include "base/os.h"

enum { STANDARD_OUTPUT = 1, STANDARD_ERROR = 2 };

static bool known;
static struct os_file_id first; /* standard error at the start; all 0: closed */
static int first_access;

static int access_of(int fd);
static bool is_open(struct os_file_id id);
static bool may_write(void);

void message_init(void)
{
    first = os_file_id(STANDARD_ERROR);
    first_access = access_of(STANDARD_ERROR);
    known = true;
}

void message_write(const char *text, size_t length)
{
    if (may_write())
        os_write_all(STANDARD_ERROR, text, length);
}

void message_flush(struct print *print)
{
    if (may_write())
        print_flush(print, STANDARD_ERROR);
    else
        print_start(print, print->start, (size_t)(print->end - print->start));
}

void message_format(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    message_list(format, list);
    va_end(list);
}

void message_list(const char *format, va_list list)
{
    char buffer[MESSAGE_SIZE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_list(&line, format, list);
    message_flush(&line);
}

bool message_is_first(int fd)
{
    /* The kernel reuses the numbers of files: the access mode still tells a database, open for
     * reading and writing, from a log. */
    return known && is_open(first) && os_file_is(fd, first) && access_of(fd) == first_access;
}

/* O_RDONLY, O_WRONLY or O_RDWR, which stays the same while a file is open. */
static int access_of(int fd)
{
    int flags = os_file_flags(fd);
    return flags < 0 ? -1 : flags & O_ACCMODE;
}

static bool is_open(struct os_file_id id)
{
    return id.device != 0 || id.inode != 0;
}

/*
 * Standard error is the same file as at the start; or the program has replaced it by a terminal, a
 * pipe (to a process that collects the errors of a forked child), the file of standard output, or a
 * log that is only appended to and that child programs inherit. Anything else is treated as a file
 * or connection of the program's own.
 */
static bool may_write(void)
{
    if (confined(CONFINE_MESSAGES))
        return false;
    if (!known || message_is_first(STANDARD_ERROR))
        return true;
    struct os_file_id now = os_file_id(STANDARD_ERROR);
    if (!is_open(first) || !is_open(now))
        return false;
    if (os_file_is(STANDARD_OUTPUT, now) || os_is_terminal(STANDARD_ERROR) ||
        os_is_pipe(STANDARD_ERROR))
        return true;
    return access_of(STANDARD_ERROR) == O_WRONLY && (os_file_flags(STANDARD_ERROR) & O_APPEND) &&
           !os_closes_on_exec(STANDARD_ERROR);
}
