/* SPDX-License-Identifier: MIT */
/* See tool/process/frozen.h. A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH; version 2 has
 * number 0 and no controllers, and is mounted below version 1 where both are in use. A group that
 * is out of sight, of another cgroup namespace, is taken for one that runs. */
#include "tool/process/frozen.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool file_has(const char *folder, const char *group, const char *name, const char *line);

bool process_is_frozen(pid_t pid)
{
    char line[PATH_MAX];
    bool frozen = false;
    snprintf(line, sizeof line, "/proc/%d/cgroup", pid);
    FILE *file = fopen(line, "re");
    while (file && !frozen && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            frozen = file_has("", group, "cgroup.events", "frozen 1\n") ||
                     file_has("/unified", group, "cgroup.events", "frozen 1\n");
        else if (strcmp(controllers + 1, "freezer") == 0)
            frozen = file_has("/freezer", group, "freezer.state", "FROZEN\n");
    }
    if (file)
        fclose(file);
    return frozen;
}

static bool file_has(const char *folder, const char *group, const char *name, const char *line)
{
    char path[PATH_MAX + 64], text[64];
    bool has = false;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", folder, group, name);
    FILE *file = fopen(path, "re");
    while (file && !has && fgets(text, sizeof text, file))
        has = strcmp(text, line) == 0;
    if (file)
        fclose(file);
    return has;
}
