/* SPDX-License-Identifier: MIT */
/* See tool/terminal/suggest_file.h. */
#include "tool/terminal/suggest_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "tool/terminal/screen.h"

bool suggest_file_nearest(const char *word, char name[SUGGEST_ROOM])
{
    const char *slash = strrchr(word, '/'), *file = slash ? slash + 1 : word;
    int folder_length = (int)(file - word);
    char folder[SUGGEST_ROOM / 4];
    size_t best = nearest_max(strlen(file)) + 1;
    name[0] = '\0';
    if (folder_length >= SUGGEST_ROOM / 4)
        return false;
    snprintf(folder, sizeof folder, "%.*s", folder_length, word);
    DIR *listing = opendir(slash ? folder : ".");
    for (struct dirent *entry; listing && (entry = readdir(listing)) != NULL;)
        if (entry->d_name[0] != '.' &&
            suggest_is_nearer(file, entry->d_name, strlen(entry->d_name), &best))
            snprintf(name, SUGGEST_ROOM, "%s%.*s", folder, NAME_MAX, entry->d_name);
    if (listing)
        closedir(listing);
    terminal_clean(name, strlen(name));
    return name[0] != '\0';
}

bool suggest_is_nearer(const char *word, const char *name, size_t length, size_t *best)
{
    size_t distance = nearest_distance(word, strlen(word), name, length);
    if (length == 0 || distance >= *best)
        return false;
    *best = distance;
    return true;
}

bool suggest_file(const char *word, const char *otherwise, struct error *error)
{
    char name[SUGGEST_ROOM];
    return suggest_file_nearest(word, name) ? error_hint(error, "did you mean %s?", name)
                                            : error_hint(error, "%s", otherwise);
}

const char *suggest_quoted(char *text, size_t size, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.,/+=@%-";
    size_t used = 0;
    if (word[0] && word[strspn(word, plain)] == '\0') {
        snprintf(text, size, "%s", word);
        return text;
    }
    text[used++] = '\'';
    for (; *word && used + 6 < size; word++)
        used += (size_t)snprintf(text + used, size - used, *word == '\'' ? "'\\''" : "%c", *word);
    snprintf(text + used, size - used, "'");
    return text;
}
