/* SPDX-License-Identifier: MIT */
/* See tool/process/cgroup.h. A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH; version 2 has
 * number 0 and no controllers. */
#include "tool/process/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool cgroup_find(pid_t pid, const char *controller, cgroup_found *found, void *context)
{
    char line[PATH_MAX];
    bool done = false;
    snprintf(line, sizeof line, "/proc/%d/cgroup", pid);
    FILE *file = fopen(pid == 0 ? "/proc/self/cgroup" : line, "re");
    while (file && !done && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            done = found(NULL, group, context);
        else if (strcmp(controllers + 1, controller) == 0)
            done = found(controller, group, context);
    }
    if (file)
        fclose(file);
    return done;
}
