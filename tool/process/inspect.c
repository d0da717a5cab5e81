/* SPDX-License-Identifier: MIT */
/*
 * Judging a program by its ELF header, its mode and its attributes. Scripts are judged by their
 * interpreter. "Ours" is the file of this command: it was built with the library.
 */
#include "tool/process/inspect.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tool/process/proc.h"
#include "tool/terminal/terminal.h"

enum {
    INTERPRETERS_MAX = 4, /* the kernel follows as many */
    SCRIPT_LINE_MAX = 256,
    HEADERS_MAX = 128,
};

/* What is known of one file. */
struct image {
    bool elf;
    bool secure;
    bool whole; /* its program headers were read */
    unsigned machine;
    char script[SCRIPT_LINE_MAX]; /* the interpreter of a script, or "" */
    char loader[PATH_MAX];
};

static void image_read(struct image *image, const char *path);
static void image_read_script(struct image *image, const char *line);
static void image_read_headers(struct image *image, int fd);
static bool file_is_secure(const char *path, const struct stat *stat);

void inspect_program(struct inspection *inspection, const char *path)
{
    struct image image;
    struct image ours;

    inspection->verdict = INSPECT_FINE;
    inspection->loader[0] = '\0';
    inspection->linked = false;
    snprintf(inspection->file, sizeof inspection->file, "%s", path);
    image_read(&image, path);
    for (int i = 0; i < INTERPRETERS_MAX && image.script[0]; i++) {
        snprintf(inspection->file, sizeof inspection->file, "%s", image.script);
        image_read(&image, inspection->file);
    }
    if (!image.elf)
        return;
    image_read(&ours, "/proc/self/exe");
    memcpy(inspection->loader, image.loader, sizeof inspection->loader);
    char version[32];
    inspection->linked = process_file_has_library(inspection->file, version, sizeof version);
    if (image.secure)
        inspection->verdict = INSPECT_SECURE;
    else if (inspection->linked)
        inspection->verdict = INSPECT_FINE;
    else if (ours.elf && image.machine != ours.machine)
        inspection->verdict = INSPECT_MACHINE;
    else if (image.whole && image.loader[0] == '\0')
        inspection->verdict = INSPECT_STATIC;
    else if (ours.loader[0] && image.loader[0] &&
             strcmp(name_base(ours.loader), name_base(image.loader)) != 0)
        inspection->verdict = INSPECT_LOADER;
}

static void image_read(struct image *image, const char *path)
{
    char start[SCRIPT_LINE_MAX] = {0};
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(image, 0, sizeof *image);
    if (fd < 0)
        return;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        pread(fd, start, sizeof start - 1, 0) >= EI_NIDENT) {
        image->elf = memcmp(start, ELFMAG, SELFMAG) == 0;
        if (image->elf) {
            image->secure = file_is_secure(path, &stat);
            image_read_headers(image, fd);
        } else if (start[0] == '#' && start[1] == '!') {
            image_read_script(image, start + 2);
        }
    }
    close(fd);
}

static void image_read_script(struct image *image, const char *line)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t\n");
    memcpy(image->script, line, length);
    image->script[length] = '\0';
}

static void image_read_headers(struct image *image, int fd)
{
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return;
    /* e_machine is at the same place in both word sizes. */
    image->machine = header.e_ident[EI_CLASS] << 16 | header.e_machine;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > HEADERS_MAX ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(header.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != (ssize_t)sizeof part)
            return;
        if (part.p_type != PT_INTERP || part.p_filesz == 0 || part.p_filesz >= sizeof image->loader)
            continue;
        if (pread(fd, image->loader, part.p_filesz, (off_t)part.p_offset) < 0)
            return;
    }
    image->whole = true;
}

/* Whether starting it gives rights that we don't have: then the loader trusts no variable. */
static bool file_is_secure(const char *path, const struct stat *stat)
{
    if ((stat->st_mode & S_ISUID) && stat->st_uid != getuid())
        return true;
    if ((stat->st_mode & S_ISGID) && (stat->st_mode & S_IXGRP) && stat->st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}
