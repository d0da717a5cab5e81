/* SPDX-License-Identifier: MIT */
/* See base/message.h. */
#include "base/message.h"

#include <fcntl.h>

#include "base/confine.h"
#include "base/os.h"

enum { STANDARD_OUTPUT = 1, STANDARD_ERROR = 2 };

/* What standard error was when the program made it so. */
struct target {
    struct os_file_id id; /* all 0: closed */
    int access;
};

static bool known;
static struct target first, latest; /* at the start; by the last dup2 */

static int access_of(int fd);
static bool is_open(struct os_file_id id);
static struct target target_now(void);
static bool is_target(int fd, const struct target *target);
static bool may_write(void);

void message_init(void)
{
    first = target_now();
    known = true;
}

void message_redirected(void)
{
    if (!confined(CONFINE_MESSAGES))
        latest = target_now();
}

static struct target target_now(void)
{
    return (struct target){os_file_id(STANDARD_ERROR), access_of(STANDARD_ERROR)};
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
    return known && is_target(fd, &first);
}

/* The kernel reuses the numbers of files: the access mode still tells a database, open for reading
 * and writing, from a log. */
static bool is_target(int fd, const struct target *target)
{
    return is_open(target->id) && os_file_is(fd, target->id) && access_of(fd) == target->access;
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
 * Standard error is the same file as at the start, or as the program made it with dup2; or the
 * program has replaced it by a terminal, a pipe (to a process that collects the errors of a forked
 * child), the file of standard output, or a log that is only appended to and that child programs
 * inherit. Anything else is treated as a file or connection of the program's own.
 */
static bool may_write(void)
{
    if (confined(CONFINE_MESSAGES))
        return false;
    if (!known || message_is_first(STANDARD_ERROR) || is_target(STANDARD_ERROR, &latest))
        return true;
    struct os_file_id now = os_file_id(STANDARD_ERROR);
    if (!is_open(first.id) || !is_open(now))
        return false;
    if (os_file_is(STANDARD_OUTPUT, now) || os_is_terminal(STANDARD_ERROR) ||
        os_is_pipe(STANDARD_ERROR))
        return true;
    return access_of(STANDARD_ERROR) == O_WRONLY && (os_file_flags(STANDARD_ERROR) & O_APPEND) &&
           !os_closes_on_exec(STANDARD_ERROR);
}
