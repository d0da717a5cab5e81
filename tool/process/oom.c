/* SPDX-License-Identifier: MIT */
/* See tool/process/oom.h. A line of /proc/self/cgroup is NUMBER:CONTROLLERS:PATH; version 2 has
 * number 0 and no controllers. */
#include "tool/process/oom.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t count_in(const char *path);

uint64_t oom_kills(void)
{
    char line[PATH_MAX], path[PATH_MAX + 64];
    uint64_t count = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && count == 0 && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.events", group);
        else if (strcmp(controllers + 1, "memory") == 0)
            snprintf(path, sizeof path, "/sys/fs/cgroup/memory%s/memory.oom_control", group);
        else
            continue;
        count = count_in(path);
    }
    if (file)
        fclose(file);
    return count;
}

static uint64_t count_in(const char *path)
{
    static const char key[] = "oom_kill ";
    char line[256];
    uint64_t count = 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, sizeof key - 1) == 0)
            count = strtoull(line + sizeof key - 1, NULL, 10);
    if (file)
        fclose(file);
    return count;
}
