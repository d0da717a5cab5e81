/* SPDX-License-Identifier: MIT */
/*
 * The control group of a process. Version 2 is mounted below version 1 where both are in use. A
 * group that is out of sight, of another cgroup namespace, is one whose files can't be opened.
 */
#ifndef PROCESS_CGROUP_H
#define PROCESS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

/* `controller` is that of version 1 which has the group ("memory"), NULL: it is of version 2;
 * `group` is its path. True ends the search. */
typedef bool cgroup_found(const char *controller, const char *group, void *context);

/* The groups of a process, 0 being this one, that are of version 2 or have this controller, until
 * `found` is true for one; whether it was. */
bool cgroup_find(pid_t pid, const char *controller, cgroup_found *found, void *context);

#endif
