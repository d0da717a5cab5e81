/* SPDX-License-Identifier: MIT */
/* See tool/record/record_folder.h. */
#include "tool/record/record_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void all_remove(DIR *listing, unsigned depth);

bool folder_hold(struct shelf_about *about)
{
    struct stat found;
    snprintf(about->inside, sizeof about->inside, "%s", about->folder);
    about->held = open(about->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (about->held < 0 && (errno == EMFILE || errno == ENFILE))
        return true;
    if (about->held < 0 || fstat(about->held, &found) != 0 || found.st_uid != geteuid() ||
        (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        folder_release(about);
        return false;
    }
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", about->held);
    if (access(name, X_OK) == 0) /* else there is no /proc */
        snprintf(about->inside, sizeof about->inside, "%s", name);
    return true;
}

void folder_release(struct shelf_about *about)
{
    if (about->inside[0] && about->held >= 0)
        close(about->held);
    about->inside[0] = '\0';
}

void folder_remove(struct shelf_about *about)
{
    if (!about->folder[0])
        return;
    if ((about->inside[0] || folder_hold(about)) && about->held >= 0) {
        folder_empty(about->held);
        about->held = -1;
    }
    folder_release(about);
    rmdir(about->folder);
    about->folder[0] = '\0';
}

void folder_empty(int fd)
{
    DIR *listing = fdopendir(fd);
    if (!listing) {
        close(fd);
        return;
    }
    rewinddir(listing);
    all_remove(listing, 0);
    closedir(listing);
}

/* Other users may make folders where the recorder files of a program of root's are. */
static void all_remove(DIR *listing, unsigned depth)
{
    enum { DEPTH_MAX = 16 };
    struct dirent *entry;
    while ((entry = readdir(listing))) {
        const char *name = entry->d_name;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        if (unlinkat(dirfd(listing), name, 0) == 0 || errno != EISDIR)
            continue;
        int below = depth < DEPTH_MAX ? openat(dirfd(listing), name,
                                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                      : -1;
        DIR *inner = below < 0 ? NULL : fdopendir(below);
        if (inner)
            all_remove(inner, depth + 1);
        if (inner)
            closedir(inner);
        else if (below >= 0)
            close(below);
        unlinkat(dirfd(listing), name, AT_REMOVEDIR);
    }
}
