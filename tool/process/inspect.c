/* SPDX-License-Identifier: MIT */
/*
 * Judging a program by its ELF header, its mode and its attributes. Scripts are judged by their
 * interpreter. "Ours" is the file of this command: it was built with the library.
 */
#include "tool/process/inspect.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tool/process/proc.h"
#include "tool/symbol/elf/elf.h"
#include "tool/terminal/terminal.h"

enum {
    INTERPRETERS_MAX = 4, /* the kernel follows as many */
    SCRIPT_LINE_MAX = 256,
};

/* What is known of one file. */
struct program {
    bool elf;
    bool secure;
    bool whole; /* its program headers were read */
    unsigned machine;
    char script[SCRIPT_LINE_MAX]; /* the interpreter of a script, or "" */
    char loader[PATH_MAX];
};

static void program_read(struct program *program, const char *path);
static void program_read_script(struct program *program, const char *line);
static void program_read_headers(struct program *program, int fd);
static bool file_is_secure(const char *path, const struct stat *stat);

void inspect_program(struct inspection *inspection, const char *path)
{
    struct program program;
    struct program ours;

    inspection->verdict = INSPECT_FINE;
    inspection->loader[0] = '\0';
    inspection->linked = false;
    snprintf(inspection->file, sizeof inspection->file, "%s", path);
    program_read(&program, path);
    for (int i = 0; i < INTERPRETERS_MAX && program.script[0]; i++) {
        snprintf(inspection->file, sizeof inspection->file, "%s", program.script);
        program_read(&program, inspection->file);
    }
    if (!program.elf)
        return;
    program_read(&ours, "/proc/self/exe");
    memcpy(inspection->loader, program.loader, sizeof inspection->loader);
    char version[32];
    inspection->linked = process_file_has_library(inspection->file, version, sizeof version);
    if (program.secure)
        inspection->verdict = INSPECT_SECURE;
    else if (inspection->linked)
        inspection->verdict = INSPECT_FINE;
    else if (ours.elf && program.machine != ours.machine)
        inspection->verdict = INSPECT_MACHINE;
    else if (program.whole && program.loader[0] == '\0')
        inspection->verdict = INSPECT_STATIC;
    else if (ours.loader[0] && program.loader[0] &&
             strcmp(name_base(ours.loader), name_base(program.loader)) != 0)
        inspection->verdict = INSPECT_LOADER;
}

static void program_read(struct program *program, const char *path)
{
    char start[SCRIPT_LINE_MAX] = {0};
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(program, 0, sizeof *program);
    if (fd < 0)
        return;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        pread(fd, start, sizeof start - 1, 0) >= EI_NIDENT) {
        program->elf = memcmp(start, ELFMAG, SELFMAG) == 0;
        if (program->elf) {
            program->secure = file_is_secure(path, &stat);
            program_read_headers(program, fd);
        } else if (start[0] == '#' && start[1] == '!') {
            program_read_script(program, start + 2);
        }
    }
    close(fd);
}

static void program_read_script(struct program *program, const char *line)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t\n");
    memcpy(program->script, line, length);
    program->script[length] = '\0';
}

static void program_read_headers(struct program *program, int fd)
{
    struct headers headers;
    headers_read_file(&headers, fd);
    program->machine = headers.machine;
    for (unsigned i = 0; i < headers.count; i++) {
        const Elf64_Phdr *part = &headers.parts[i];
        if (part->p_type != PT_INTERP || part->p_filesz == 0 ||
            part->p_filesz >= sizeof program->loader)
            continue;
        if (pread(fd, program->loader, part->p_filesz, (off_t)part->p_offset) < 0)
            return;
    }
    program->whole = headers.whole;
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
