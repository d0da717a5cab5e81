/* SPDX-License-Identifier: MIT */
/* See tool/process/frozen.h. A group that is out of sight is taken for one that runs. */
#include "tool/process/frozen.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tool/process/cgroup.h"

static bool is_frozen(const char *controller, const char *group, void *context);
static bool file_has(const char *folder, const char *group, const char *name, const char *line);

bool process_is_frozen(pid_t pid)
{
    return cgroup_find(pid, "freezer", is_frozen, NULL);
}

static bool is_frozen(const char *controller, const char *group, void *context)
{
    (void)context;
    if (controller)
        return file_has("/freezer", group, "freezer.state", "FROZEN\n");
    return file_has("", group, "cgroup.events", "frozen 1\n") ||
           file_has("/unified", group, "cgroup.events", "frozen 1\n");
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
