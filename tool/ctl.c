/* SPDX-License-Identifier: MIT */
/*
 * `memoir ctl`: its words become one line for the process. A file to write is made here, with the
 * rights of whoever asks, and only its descriptor goes to the process.
 */
#include "base/attach.h"
#include "tool/arguments.h"
#include "tool/attach.h"
#include "tool/commands.h"
#include "tool/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool pid_read(const char *word, pid_t *pid, struct error *error);
static bool line_make(char *line, size_t size, char **words, struct error *error);
static bool file_make(const char *path, int *fd, struct error *error);

bool ctl_run(const struct arguments *arguments, struct error *error)
{
    char line[ATTACH_LINE_MAX + 1];
    char **words = arguments->operands + 1;
    const char *file = NULL;
    char *answer = NULL;
    struct process process;
    pid_t pid = 0;
    int fd = -1;

    if (!pid_read(arguments->operands[0], &pid, error))
        return false;
    if (words[0] && strcmp(words[0], "dump") == 0 && words[1]) {
        file = words[1];
        words[1] = NULL;
    }
    if (!line_make(line, sizeof line, words, error))
        return false;
    if (!process_read(&process, pid)) {
        error_set(error, ERROR_TARGET, "no process %d", pid);
        return error_hint(error, "memoir ps");
    }
    if (file && !file_make(file, &fd, error))
        return false;
    bool right = attach_ask(&process, line, fd, &answer, error);
    if (fd >= 0 && close(fd) != 0 && right)
        right = error_set(error, ERROR_INPUT, "%s: %s", file, strerror(errno));
    if (fd >= 0 && !right)
        unlink(file);
    if (right && answer)
        fputs(answer, stdout);
    free(answer);
    return right;
}

static bool pid_read(const char *word, pid_t *pid, struct error *error)
{
    char *end;
    long value = strtol(word, &end, 10);
    if (*end == '\0' && value > 0 && value <= 1 << 22) {
        *pid = (pid_t)value;
        return true;
    }
    error_set(error, ERROR_USAGE, "'%s' is no process id", word);
    return error_hint(error, "memoir ps");
}

/* The words in one line; none is `show`, and key=value alone is `set key=value`. */
static bool line_make(char *line, size_t size, char **words, struct error *error)
{
    size_t length = 0;
    const char *first = words[0] ? (strchr(words[0], '=') ? "set" : "") : "show";
    length += (size_t)snprintf(line, size, "%s", first);
    for (; *words; words++) {
        size_t more = strlen(*words);
        if (strchr(*words, '\n') || length + more + 2 > size)
            return error_set(error, ERROR_USAGE, "the words are too long, or of several lines");
        length +=
            (size_t)snprintf(line + length, size - length, "%s%s", length > 0 ? " " : "", *words);
    }
    return true;
}

static bool file_make(const char *path, int *fd, struct error *error)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd >= 0)
        return true;
    error_set(error, ERROR_INPUT, "%s can't be made: %s", path, strerror(errno));
    return errno == EEXIST ? error_hint(error, "rm %s, or give another name", path) : false;
}
