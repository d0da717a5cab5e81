/* SPDX-License-Identifier: MIT */
/* See tool/process/package.h. dpkg keeps the files of each package in a list; elsewhere the word
 * for the distribution's own command is as far as it goes. */
#include "tool/process/package.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char lists[] = "/var/lib/dpkg/info";

static bool package_find(const char *path, char *package, size_t size);
static bool list_has(const char *name, const char *path);

bool package_debug(const char *path, char *command, size_t size)
{
    char package[256];
    if (strncmp(path, "/usr/", 5) != 0 && strncmp(path, "/lib", 4) != 0 &&
        strncmp(path, "/bin/", 5) != 0 && strncmp(path, "/sbin/", 6) != 0)
        return false;
    if (package_find(path, package, sizeof package)) {
        bool libc = strcmp(package, "libc6") == 0;
        snprintf(command, size, "apt-get install %s%s%s", package, libc ? "-dbg" : "-dbgsym",
                 libc ? "" : " (from the archive debian-debug)");
        return true;
    }
    return false;
}

/* The package that installed a file, without its machine. */
static bool package_find(const char *path, char *package, size_t size)
{
    DIR *listing = opendir(lists);
    const struct dirent *entry;
    bool found = false;
    while (listing && !found && (entry = readdir(listing)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".list") != 0 ||
            !list_has(entry->d_name, path))
            continue;
        snprintf(package, size, "%.*s", (int)strcspn(entry->d_name, ":"), entry->d_name);
        size_t used = strlen(package);
        if (used > 5 && strcmp(package + used - 5, ".list") == 0)
            package[used - 5] = '\0';
        found = true;
    }
    if (listing)
        closedir(listing);
    return found;
}

/* Whether a list has the path, on a line of its own, with or without /usr in front. */
static bool list_has(const char *name, const char *path)
{
    char line[4096], file[512];
    const char *bare = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
    bool found = false;
    snprintf(file, sizeof file, "%s/%s", lists, name);
    FILE *list = fopen(file, "re");
    while (list && !found && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        const char *its = strncmp(line, "/usr/", 5) == 0 ? line + 4 : line;
        found = strcmp(its, bare) == 0;
    }
    if (list)
        fclose(list);
    return found;
}
