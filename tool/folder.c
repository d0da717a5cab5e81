/* SPDX-License-Identifier: MIT */
/* See tool/folder.h. */
#include "tool/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"

static bool is_folder(const char *path);
static bool folder_find(struct folder *folder, const char *path, struct error *error);
static bool is_profile(const char *name);
static bool is_before(const struct stat *a, const char *a_name, const struct stat *b,
                      const char *b_name);
static void keep(char **place, struct stat *place_stat, const char *path, const struct stat *stat_);

bool folder_operands(struct folder *folder, struct arguments *words,
                     const struct arguments *arguments, struct error *error)
{
    size_t count = 0;
    *words = *arguments;
    folder->operands = calloc(arguments->operands_count + 2, sizeof *folder->operands);
    if (!folder->operands)
        return error_memory(error);
    for (size_t i = 0; i < arguments->operands_count; i++) {
        char *operand = arguments->operands[i];
        if (operand[0] == '\0' || folder->first || !is_folder(operand)) {
            folder->operands[count++] = operand;
            continue;
        }
        if (!folder_find(folder, operand, error))
            return false;
        folder->operands[count++] = folder->first;
        folder->operands[count++] = folder->last;
    }
    words->operands = folder->operands;
    words->operands_count = count;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 && S_ISDIR(stat_.st_mode);
}

static bool folder_find(struct folder *folder, const char *path, struct error *error)
{
    struct stat first = {0}, last = {0};
    unsigned count = 0;
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        struct stat stat_;
        char name[4096];
        int length = snprintf(name, sizeof name, "%s%s%s", path,
                              path[strlen(path) - 1] == '/' ? "" : "/", entry->d_name);
        if (length < 0 || (size_t)length >= sizeof name || !is_profile(entry->d_name) ||
            stat(name, &stat_) != 0 || !S_ISREG(stat_.st_mode))
            continue;
        count++;
        if (!folder->first || is_before(&stat_, name, &first, folder->first))
            keep(&folder->first, &first, name, &stat_);
        if (!folder->last || is_before(&last, folder->last, &stat_, name))
            keep(&folder->last, &last, name, &stat_);
    }
    if (entries)
        closedir(entries);
    if (count >= 2 && folder->first && folder->last)
        return true;
    error_set(error, ERROR_INPUT, "%s has %s", path,
              count == 1 ? "a single profile" : "no profiles (*.memoir, *.heap, *.pb.gz, ...)");
    return error_hint(error, "memoir diff BEFORE AFTER");
}

static bool is_profile(const char *name)
{
    static const char *const endings[] = {".memoir", ".heap",   ".pb.gz", ".pb", ".prof",
                                          ".pprof",  ".folded", ".zst",   ".gz"};
    size_t length = strlen(name);
    for (size_t i = 0; i < COUNT_OF(endings) && name[0] != '.'; i++)
        if (length > strlen(endings[i]) &&
            strcmp(name + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return strncmp(name, "massif.out", 10) == 0 || strncmp(name, "callgrind.out", 13) == 0;
}

/* By time, then by name: dumps of one second have numbers. */
static bool is_before(const struct stat *a, const char *a_name, const struct stat *b,
                      const char *b_name)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
    if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
    return strcmp(a_name, b_name) < 0;
}

static void keep(char **place, struct stat *place_stat, const char *path, const struct stat *stat_)
{
    free(*place);
    *place = strdup(path);
    *place_stat = *stat_;
}

void folder_free(struct folder *folder)
{
    free(folder->first);
    free(folder->last);
    free(folder->operands);
    memset(folder, 0, sizeof *folder);
}
