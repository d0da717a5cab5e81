/* SPDX-License-Identifier: MIT */
/* See tool/process/smaps.h. The kernel does not say which mapping is a thread's stack; where a
 * thread waits in a system call it tells its stack pointer, which does. */
#include "tool/process/smaps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/process/attach_client.h"

struct mapping {
    uint64_t start, end;
    enum smaps_kind kind;
};

enum { OWN_MAX = 8 }; /* mappings that a process tells of itself; lib/control/stats.c tells three */

static size_t own_read(struct mapping own[OWN_MAX], const char *answer);
static bool pointers_read(struct list *pointers, pid_t pid);
static bool mapping_read(struct mapping *mapping, const char *line, const struct list *stacks);

bool smaps_read(struct smaps *smaps, pid_t pid, const char *answer)
{
    char path[64], *line = NULL;
    size_t room = 0;
    struct list stacks = {0};
    struct mapping mapping = {.kind = SMAPS_PLAIN}, own[OWN_MAX];
    size_t own_count = own_read(own, answer);
    *smaps = (struct smaps){0};
    snprintf(path, sizeof path, "/proc/%d/smaps", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL || !pointers_read(&stacks, pid)) {
        if (file != NULL)
            fclose(file);
        return false;
    }
    errno = 0;
    while (getline(&line, &room, file) > 0) {
        uint64_t kib;
        if (mapping_read(&mapping, line, &stacks)) {
            for (size_t i = 0; i < own_count; i++)
                if (mapping.start >= own[i].start && mapping.start < own[i].end)
                    mapping.kind = SMAPS_OWN;
            continue;
        }
        if (sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1) {
            smaps->bytes[mapping.kind] += kib << 10;
            smaps->all += kib << 10;
        }
    }
    bool whole = ferror(file) == 0 && errno == 0;
    fclose(file);
    free(line);
    list_free(&stacks);
    return whole && smaps->all > 0;
}

/* Lines "own.N:START-END". */
static size_t own_read(struct mapping own[OWN_MAX], const char *answer)
{
    size_t count = 0;
    for (unsigned i = 0; i < OWN_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "own.%u", i);
        const char *fact = attach_fact(answer, key);
        count +=
            fact && sscanf(fact, "%" SCNx64 "-%" SCNx64, &own[count].start, &own[count].end) == 2;
    }
    return count;
}

/* The stack pointers of threads that wait; of a running thread the kernel does not tell it. */
static bool pointers_read(struct list *pointers, pid_t pid)
{
    char path[64 + NAME_MAX];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        uint64_t pointer = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%s/syscall", pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (file == NULL)
            continue;
        if (fscanf(file, "%*s %*s %*s %*s %*s %*s %*s %" SCNx64, &pointer) == 1) {
            uint64_t *item = list_add(pointers, sizeof *item);
            if (item != NULL) /* otherwise the stack counts as a plain mapping */
                *item = pointer;
        }
        fclose(file);
    }
    closedir(folder);
    return true;
}

static bool mapping_read(struct mapping *mapping, const char *line, const struct list *stacks)
{
    char rights[8];
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &mapping->start, &mapping->end,
               rights, &at) != 3 ||
        at == 0)
        return false;
    const char *name = line + at;
    bool shared = strlen(rights) >= 4 && rights[3] == 's';
    if (strncmp(name, "[stack]", 7) == 0)
        mapping->kind = SMAPS_STACKS;
    else if (strncmp(name, "/memfd:", 7) == 0 || strncmp(name, "/dev/shm/", 9) == 0 ||
             strncmp(name, "/SYSV", 5) == 0 || strncmp(name, "/dev/zero", 9) == 0)
        mapping->kind = SMAPS_SHARED;
    else if (*name == '/' || strncmp(name, "[vdso]", 6) == 0)
        mapping->kind = SMAPS_FILES;
    else
        mapping->kind = shared ? SMAPS_SHARED : SMAPS_PLAIN;
    const uint64_t *pointers = stacks->items;
    for (size_t i = 0; mapping->kind == SMAPS_PLAIN && i < stacks->count; i++)
        if (pointers[i] >= mapping->start && pointers[i] < mapping->end)
            mapping->kind = SMAPS_STACKS;
    return true;
}
