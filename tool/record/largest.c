/* SPDX-License-Identifier: MIT */
/* See tool/record/largest.h. */
#include "tool/record/largest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

struct process_seen {
    int64_t pid, time_ns; /* when the last of its recordings began */
};

static struct summary *entry_read(const char *folder, const char *name);
static bool process_note(struct largest *largest, const struct summary *summary);

bool largest_find(struct largest *largest, const char *folder, pid_t pid)
{
    struct dirent *entry;
    DIR *listing = opendir(folder);
    memset(largest, 0, sizeof *largest);
    while (listing && (entry = readdir(listing))) {
        struct summary *best = largest->summary;
        struct summary *one = entry_read(folder, entry->d_name);
        if (!one || !process_note(largest, one) ||
            (best && (summary_peak(one) < summary_peak(best) ||
                      (summary_peak(one) == summary_peak(best) && summary_pid(one) != pid)))) {
            summary_free(one);
            continue;
        }
        summary_free(best);
        largest->summary = one;
        snprintf(largest->name, sizeof largest->name, "%s", entry->d_name);
    }
    if (listing)
        closedir(listing);
    return largest->summary != NULL;
}

static struct summary *entry_read(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return strncmp(name, "run", 3) == 0 ? summary_read(path) : NULL;
}

size_t largest_lost_beside(const struct largest *largest, const char *folder,
                           const struct suppressions *suppressions, int64_t *lost_pid)
{
    size_t count = 0;
    struct dirent *entry;
    DIR *listing = opendir(folder);
    while (listing && (entry = readdir(listing))) {
        struct summary *one =
            strcmp(entry->d_name, largest->name) == 0 ? NULL : entry_read(folder, entry->d_name);
        if (one && summary_lost(one, suppressions)) {
            *lost_pid = summary_pid(one);
            count++;
        }
        summary_free(one);
    }
    if (listing)
        closedir(listing);
    return count;
}

/* Programs that one process became are one process. False: memory is out. */
static bool process_note(struct largest *largest, const struct summary *summary)
{
    size_t i = 0;
    while (i < largest->count && largest->processes[i].pid != summary_pid(summary))
        i++;
    if (!list_reserve(&largest->processes, &largest->room, i + 1, sizeof *largest->processes))
        return false;
    struct process_seen *seen = &largest->processes[i];
    if (i == largest->count) {
        largest->count++;
        *seen = (struct process_seen){summary_pid(summary), summary_time_ns(summary)};
    }
    if (seen->time_ns < summary_time_ns(summary))
        seen->time_ns = summary_time_ns(summary);
    return true;
}

bool largest_has_later(const struct largest *largest)
{
    for (size_t i = 0; i < largest->count; i++)
        if (largest->processes[i].pid == summary_pid(largest->summary))
            return largest->processes[i].time_ns > summary_time_ns(largest->summary);
    return false;
}

void largest_free(struct largest *largest)
{
    summary_free(largest->summary);
    free(largest->processes);
    memset(largest, 0, sizeof *largest);
}
