/* SPDX-License-Identifier: MIT */
/*
 * `memoir ctl`: its words become one line for the process. A file to write is made here, with the
 * rights of whoever asks, and only its descriptor goes to the process.
 */
#include "base/attach.h"
#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool pid_read(const char *word, pid_t *pid, struct error *error);
static bool words_send(const struct process *process, const char *verb, char **words, int fd,
                       struct error *error);
static bool dump_make(const struct process *process, const char *file, const char *format,
                      struct error *error);
static bool file_make(const char *path, int *fd, struct error *error);

bool ctl_run(const struct arguments *arguments, struct error *error)
{
    char **words = arguments->operands + 1;
    struct process process;
    pid_t pid = 0;

    if (!pid_read(arguments->operands[0], &pid, error))
        return false;
    if (!process_read(&process, pid)) {
        attach_sweep();
        error_set(error, ERROR_TARGET, "no process %d", pid);
        return error_hint(error, "memoir ps");
    }
    if (words[0] && strcmp(words[0], "dump") == 0)
        return dump_make(&process, words[1], arguments_value(arguments, FLAG_FORMAT), error);
    if (words[0] && strcmp(words[0], "set") == 0 && words[1])
        words++;
    if (words[0] && strchr(words[0], '=')) {
        for (; *words; words++)
            if (!words_send(&process, "set", (char *[]){*words, NULL}, -1, error))
                return false;
        return true;
    }
    return words_send(&process, words[0] ? "" : "show", words, -1, error);
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

/* Sends `verb` (or "") and the words as one line, and prints the answer. */
static bool words_send(const struct process *process, const char *verb, char **words, int fd,
                       struct error *error)
{
    char line[ATTACH_LINE_MAX + 1];
    char *answer = NULL;
    size_t length = (size_t)snprintf(line, sizeof line, "%s", verb);
    for (; *words; words++) {
        if (strchr(*words, '\n') || length + strlen(*words) + 2 > sizeof line)
            return error_set(error, ERROR_USAGE, "the words are too long, or of several lines");
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s",
                                   length > 0 ? " " : "", *words);
    }
    if (!attach_ask(process, line, fd, &answer, error))
        return false;
    fputs(answer, stdout);
    free(answer);
    return true;
}

static bool dump_make(const struct process *process, const char *file, const char *format,
                      struct error *error)
{
    char *words[] = {(char *)format, NULL};
    int fd = -1;
    if (file && !file_make(file, &fd, error))
        return false;
    bool right = words_send(process, "dump", words, fd, error);
    if (fd >= 0 && close(fd) != 0 && right)
        right = error_set(error, ERROR_INPUT, "%s: %s", file, strerror(errno));
    if (fd >= 0 && !right)
        unlink(file);
    return right;
}

static bool file_make(const char *path, int *fd, struct error *error)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return true;
    int reason = errno;
    struct stat there;
    error_set(error, ERROR_INPUT, "%s can't be made: %s", path, strerror(reason));
    if (reason == ENOENT || reason == ENOTDIR)
        return error_hint(error, "make its folder first, or give another name");
    if (reason == EEXIST && lstat(path, &there) == 0 && S_ISREG(there.st_mode))
        return error_hint(error, "rm %s, or give another name", path);
    return error_hint(error, "give another name");
}
