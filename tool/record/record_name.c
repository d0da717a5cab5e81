/* SPDX-License-Identifier: MIT */
/* See tool/record/record_name.h. */
#include "tool/record/record_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/record/summary.h"

static const char *size_short(char text[16], uint64_t bytes);

/* The time is when the recording ended, which is when its file was last written. */
void record_name(const char *program, const struct summary *summary, const char *from,
                 const char *folder, const char *suffix, char *path, size_t size)
{
    char date[32] = "", peak[16];
    struct stat ended;
    struct tm now;
    time_t seconds = stat(from, &ended) == 0 ? ended.st_mtim.tv_sec : time(NULL);
    if (localtime_r(&seconds, &now))
        strftime(date, sizeof date, "%Y%m%d-%H%M%S", &now);
    bool known = summary_counted(summary) || summary_peak(summary) > 0 ||
                 summary_rate(summary) <= 0; /* or no sample tells */
    bool slash = folder[0] && folder[strlen(folder) - 1] == '/';
    int length = snprintf(path, size, "%s%s%s-%s-%ld%s%s", folder, slash ? "" : "/", program, date,
                          (long)summary_pid(summary), known ? "-peak" : "",
                          known ? size_short(peak, summary_peak(summary)) : "");
    if (length < 0 || (size_t)length >= size)
        return;
    snprintf(path + length, size - (size_t)length, "%s", suffix);
    for (unsigned number = 2; access(path, F_OK) == 0; number++) /* no recording replaces another */
        snprintf(path + length, size - (size_t)length, "-%u%s", number, suffix);
}

/* "1.3G": a size for the name of a file. */
static const char *size_short(char text[16], uint64_t bytes)
{
    static const char units[] = "BKMGT";
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit < sizeof units - 2; unit++)
        value /= 1024;
    snprintf(text, 16, unit == 0 || value >= 10 ? "%.0f%c" : "%.1f%c", value, units[unit]);
    return text;
}

/* An argument with spaces is in quotes: a path, or what setproctitle made, "nginx: worker process"
 * or "redis-server *:6379". */
const char *record_name_program(const struct summary *summary, char *text, size_t size)
{
    const char *command = summary_command(summary);
    bool quoted = command[0] == '\'';
    command += quoted;
    size_t length = strcspn(command, " "), from = 0;
    bool titled = length > 1 && command[length - 1] == ':';
    bool path = quoted && memchr(command, '/', length) != NULL;
    length = titled ? length - 1 : path ? strcspn(command, "'") : length;
    for (size_t i = 0; i + 1 < length; i++)
        from = command[i] == '/' ? i + 1 : from;
    snprintf(text, size, "%.*s", (int)(length - from), command + from);
    for (char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._+-", *at))
            *at = '_';
    return text[0] ? text : "process";
}
