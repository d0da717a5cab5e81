/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/descendant.h. The parents of all processes are read in one pass over /proc;
 * processes come and go meanwhile, which the caller's next look sets right.
 */
#include "tool/process/descendant.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/memory/memory.h"
#include "tool/process/inspect.h"
#include "tool/process/proc.h"

struct relative {
    pid_t pid, parent;
    bool exiting;
};

enum look { LOOK_WITH, LOOK_WITHOUT, LOOK_STARTING, LOOK_ENDED };

static bool has_child(void);
static bool is_below_us(pid_t pid);
static bool relative_read(struct relative *relative, pid_t pid);
static size_t relatives_read(struct relative **relatives);
static size_t descendants_first(struct relative *relatives, size_t count);
static enum look look_at(pid_t pid);
static bool is_starting(pid_t pid);

pid_t descendant_with_library(pid_t last, bool *starting)
{
    struct relative *before = NULL;
    size_t count_before = 0;
    pid_t found = 0;
    *starting = false;
    if (last > 0 && is_below_us(last))
        return last;
    /* One that ends while the list is made may leave a child that is not in it: none is below us if
     * two lists are equal, or if we have no child: the children of ended processes become ours. */
    for (bool equal = false; found == 0 && !equal && has_child();) {
        struct relative *relatives = NULL;
        size_t all = relatives_read(&relatives);
        size_t count = descendants_first(relatives, all);
        equal = before != NULL && count == count_before &&
                (count == 0 || memcmp(relatives, before, count * sizeof *relatives) == 0);
        *starting = false;
        for (size_t i = 0; found == 0 && i < count; i++) {
            enum look look = look_at(relatives[i].pid);
            found = look == LOOK_WITH ? relatives[i].pid : 0;
            equal = equal && look != LOOK_ENDED;
            *starting |= look == LOOK_STARTING;
        }
        free(before);
        before = relatives;
        count_before = count;
    }
    free(before);
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

static bool has_child(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static bool is_below_us(pid_t pid)
{
    struct relative relative = {.pid = pid, .parent = pid};
    while (relative.parent > 1 && relative.parent != getpid())
        if (!relative_read(&relative, relative.parent))
            return false;
    return relative.parent == getpid();
}

/* False: it has ended, all of its threads. */
static bool relative_read(struct relative *relative, pid_t pid)
{
    struct process_stat stat = {0};
    if (!process_stat(&stat, pid) && (stat.state != 'Z' || process_state(pid) == 'Z'))
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

static enum look look_at(pid_t pid)
{
    struct process process;
    if (!process_read(&process, pid) || (process.state == 'Z' && !process.headless))
        return LOOK_ENDED;
    if (process.library == PROCESS_WITH || process.headless) /* nothing of those can be read */
        return LOOK_WITH;
    return is_starting(pid) ? LOOK_STARTING : LOOK_WITHOUT;
}

/* It has no file in memory, or two at most, the program and its loader: what is preloaded comes
 * next. */
static bool is_starting(pid_t pid)
{
    char path[64], before[PATH_MAX] = "", line[PATH_MAX + 128];
    unsigned files = 0;
    struct inspection program;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return false;
    while (fgets(line, sizeof line, maps)) {
        const char *file = strchr(line, '/');
        files += file && strcmp(file, before) != 0;
        snprintf(before, sizeof before, "%s", file ? file : "");
    }
    fclose(maps);
    if (files > 2)
        return false;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    inspect_program(&program, path);
    return files == 0 || program.loader[0] != '\0';
}
