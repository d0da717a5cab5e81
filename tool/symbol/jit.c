/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/jit.h. Every user may write to /tmp: a file there is text that is not believed.
 * It counts only if it is root's, the reader's or the process's user's, since any other user could
 * name the code of a process; and if it was written while the process ran, since process numbers
 * are used again. In a container the file has the inner pid in its name and lies below the
 * process's own root.
 */
#include "tool/symbol/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/profile/profile.h"

/* Code is thrown away and its place used again: this many entries before an address are looked
 * at. */
enum { FILE_MAX = 1 << 28, JIT_NAME_MAX = 1000, OVERLAPS_MAX = 64 };
enum { OWNER_ANY = -1 }; /* a folder that the user named */

static char *file_find(struct jit *jit, const struct profile *profile,
                       const struct symbol_options *options, size_t *size);
static long long inner_pid(int64_t pid);
static char *file_read(const char *path, const struct profile *profile, int64_t owned_by_pid,
                       size_t *size);
static bool owner_fits(const struct stat *found, int64_t pid);
static bool time_fits(const struct profile *profile, const struct stat *stat);
static bool entry_read(struct jit_entry *entry, char *line, const char *text);
static int entry_order(const void *left, const void *right);

bool jit_read(struct jit *jit, const struct profile *profile, const struct symbol_options *options)
{
    size_t size = 0, lines = 1;
    memset(jit, 0, sizeof *jit);
    jit->text = file_find(jit, profile, options, &size);
    if (!jit->text)
        return true;
    for (size_t i = 0; i < size; i++)
        lines += jit->text[i] == '\n';
    jit->entries = calloc(lines, sizeof *jit->entries);
    if (!jit->entries)
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(jit->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct jit_entry *entry = &jit->entries[jit->count];
        entry->order = (uint32_t)jit->count;
        jit->count += entry_read(entry, line, jit->text);
    }
    qsort(jit->entries, jit->count, sizeof *jit->entries, entry_order);
    return true;
}

/* Where it may be: as the process sees /tmp, below --sysroot, here, and in --debug-path. */
static char *file_find(struct jit *jit, const struct profile *profile,
                       const struct symbol_options *options, size_t *size)
{
    long long pid = options->pid > 0 ? inner_pid(options->pid) : (long long)profile->pid;
    const char *list = options->debug_path;
    char *text = NULL;
    if (options->pid > 0)
        snprintf(jit->path, sizeof jit->path, "/proc/%lld/root/tmp/perf-%lld.map",
                 (long long)options->pid, pid);
    else
        snprintf(jit->path, sizeof jit->path, "%.4000s/tmp/perf-%lld.map",
                 options->sysroot ? options->sysroot : "", pid);
    if (pid > 0)
        text = file_read(jit->path, profile, options->pid, size);
    while (!text && pid > 0 && list && *list) {
        int length = (int)strcspn(list, ":");
        snprintf(jit->path, sizeof jit->path, "%.*s/perf-%lld.map", length < 4000 ? length : 4000,
                 list, pid);
        text = file_read(jit->path, profile, OWNER_ANY, size);
        list += length + (list[length] == ':');
    }
    if (!text)
        jit->path[0] = '\0';
    return text;
}

/* The number that a process has in its own container. */
static long long inner_pid(int64_t pid)
{
    char path[64], line[256];
    long long found = pid;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0) {
            char *last = strrchr(line, '\t');
            found = last ? strtoll(last, NULL, 10) : pid;
        }
    if (file)
        fclose(file);
    return found;
}

/* All of the file, ended by 0; NULL: none that will do. `owned_by_pid`: the process whose user may
 * own it, too, 0 for none, or OWNER_ANY. */
static char *file_read(const char *path, const struct profile *profile, int64_t owned_by_pid,
                       size_t *size)
{
    struct stat stat;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size < FILE_MAX &&
        owner_fits(&stat, owned_by_pid) && time_fits(profile, &stat))
        text = malloc((size_t)stat.st_size + 1);
    *size = 0;
    while (text && *size < (size_t)stat.st_size) {
        ssize_t got = read(fd, text + *size, (size_t)stat.st_size - *size);
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    if (text)
        text[*size] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

static bool owner_fits(const struct stat *found, int64_t pid)
{
    char path[64];
    struct stat process;
    if (pid == OWNER_ANY || found->st_uid == 0 || found->st_uid == geteuid())
        return true;
    snprintf(path, sizeof path, "/proc/%lld", (long long)pid);
    return pid > 0 && stat(path, &process) == 0 && process.st_uid == found->st_uid;
}

/* Whether a file that was written last at that time can be of this very process. */
static bool time_fits(const struct profile *profile, const struct stat *stat)
{
    /* Seconds: a virtual machine writes its file once more when it ends. */
    enum { AROUND_S = 60 };
    int64_t start_s = profile->time_ns / 1000000000, end_s = start_s;
    if (profile->time_ns == 0)
        return true;
    end_s += profile->duration_ns / 1000000000;
    return stat->st_mtim.tv_sec >= start_s - 1 &&
           (!profile->ended || stat->st_mtim.tv_sec <= end_s + AROUND_S);
}

/* One line, which is cut off its end; false: it is none. */
static bool entry_read(struct jit_entry *entry, char *line, const char *text)
{
    char *end;
    entry->start = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return false;
    char *name;
    entry->size = strtoull(end, &name, 16);
    if (name == end || *name != ' ')
        return false;
    name += strspn(name, " ");
    if (strlen(name) > JIT_NAME_MAX)
        name[JIT_NAME_MAX] = '\0';
    entry->name = (uint32_t)(name - text);
    return *name != '\0' && entry->size > 0;
}

static int entry_order(const void *left, const void *right)
{
    const struct jit_entry *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void jit_free(struct jit *jit)
{
    free(jit->text);
    free(jit->entries);
}

const char *jit_find(const struct jit *jit, uint64_t address)
{
    const struct jit_entry *found = NULL;
    size_t low = 0, high = jit->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (jit->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 0; back < OVERLAPS_MAX && back < low; back++) {
        const struct jit_entry *entry = &jit->entries[low - 1 - back];
        if (address - entry->start < entry->size && (!found || entry->order > found->order))
            found = entry;
    }
    return found ? jit->text + found->name : NULL;
}
