/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/descendant.h. Who is whose child is read in one pass over /proc; processes come
 * and go meanwhile, which the caller's next look sets right.
 */
#include "tool/process/descendant.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/process/proc.h"

struct relative {
    pid_t pid, parent;
    bool exiting;
};

static bool is_below_us(pid_t pid);
static bool relative_read(struct relative *relative, pid_t pid);
static size_t relatives_read(struct relative **relatives);
static size_t descendants_first(struct relative *relatives, size_t count);
static bool has_library(pid_t pid);

pid_t descendant_with_library(pid_t last)
{
    if (last > 0 && is_below_us(last))
        return last;
    struct relative *relatives = NULL;
    size_t all = relatives_read(&relatives);
    size_t count = descendants_first(relatives, all);
    pid_t found = 0;
    for (size_t i = 0; found == 0 && i < count; i++)
        if (has_library(relatives[i].pid))
            found = relatives[i].pid;
    free(relatives);
    return found;
}

bool descendant_is_exiting(void)
{
    struct relative *relatives = NULL;
    size_t all = relatives_read(&relatives);
    size_t count = descendants_first(relatives, all);
    bool found = false;
    for (size_t i = 0; !found && i < count; i++)
        found = relatives[i].exiting;
    free(relatives);
    return found;
}

static bool is_below_us(pid_t pid)
{
    struct relative relative = {.pid = pid, .parent = pid};
    while (relative.parent > 1 && relative.parent != getpid())
        if (!relative_read(&relative, relative.parent))
            return false;
    return relative.parent == getpid();
}

/* False: it has ended. */
static bool relative_read(struct relative *relative, pid_t pid)
{
    struct process_stat stat;
    if (!process_stat(&stat, pid))
        return false;
    *relative = (struct relative){pid, stat.parent, stat.exiting};
    return true;
}

/* All living processes and their parents. */
static size_t relatives_read(struct relative **relatives)
{
    size_t count = 0, room = 0;
    struct dirent *entry;
    DIR *listing = opendir("/proc");
    while (listing && (entry = readdir(listing))) {
        pid_t pid = atoi(entry->d_name);
        if (!list_reserve(relatives, &room, count + 1, sizeof **relatives))
            break;
        if (pid > 0 && relative_read(&(*relatives)[count], pid))
            count++;
    }
    if (listing)
        closedir(listing);
    return count;
}

/* Moves those below us to the front, parents before their children. How many. */
static size_t descendants_first(struct relative *relatives, size_t count)
{
    size_t done = 0;
    for (size_t above = 0; above <= done; above++) {
        pid_t parent = above == 0 ? getpid() : relatives[above - 1].pid;
        for (size_t i = done; i < count; i++) {
            struct relative moved = relatives[i];
            if (moved.parent != parent)
                continue;
            relatives[i] = relatives[done];
            relatives[done++] = moved;
        }
    }
    return done;
}

static bool has_library(pid_t pid)
{
    struct process process;
    return process_read(&process, pid) && process.library == PROCESS_WITH;
}
