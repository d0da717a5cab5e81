/* SPDX-License-Identifier: MIT */
/* See tool/process/oom.h. */
#include "tool/process/oom.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/process/cgroup.h"

static bool count_take(const char *controller, const char *group, void *context);

uint64_t oom_kills(void)
{
    uint64_t count = 0;
    cgroup_find(0, "memory", count_take, &count);
    return count;
}

static bool count_take(const char *controller, const char *group, void *context)
{
    static const char key[] = "oom_kill ";
    char path[PATH_MAX + 64], line[256];
    uint64_t *count = context;
    snprintf(path, sizeof path,
             controller ? "/sys/fs/cgroup/memory%s/memory.oom_control"
                        : "/sys/fs/cgroup%s/memory.events",
             group);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, sizeof key - 1) == 0)
            *count = strtoull(line + sizeof key - 1, NULL, 10);
    if (file)
        fclose(file);
    return *count > 0;
}
