/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/proc.h. Everything here is read from /proc and may be gone a moment later, or
 * hidden (hidepid, another user's process, a container without /proc): whatever can't be read is
 * taken for the likelier case, and the request itself, later, is what decides. Numbers of users and
 * processes are translated into the namespaces of the process, since the library answers with its
 * own.
 */
#include "tool/process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attach_protocol.h"
#include "base/os_socket.h"
#include "tool/process/bell.h"
#include "tool/process/frozen.h"
#include "tool/symbol/elf/elf.h"
#include "tool/terminal/terminal.h"

enum { TEXT_SIZE = 8192 };

static bool text_read(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool status_line(const char *text, const char *key, const char **value);
static bool blocks(const char *status);
static bool all_threads_block(pid_t pid);
static unsigned user_inside(pid_t pid, unsigned user);
static bool user_has_no_number(pid_t pid);
static bool is_secure(pid_t pid);
static bool is_closed(const struct process *process);
static void command_read(struct process *process);
static enum process_library library_find(struct process *process);
static unsigned disturbance(pid_t pid, pid_t thread);

bool process_read(struct process *process, pid_t pid)
{
    char text[TEXT_SIZE];
    const char *value;
    memset(process, 0, sizeof *process);
    process->pid = process->inner_pid = pid;
    if (!text_read(text, sizeof text, "/proc/%d/status", pid))
        return false;
    /* A thread has a folder there as well: it is its process that is meant. */
    if (status_line(text, "Tgid:", &value) && atoi(value) != pid)
        return false;
    if (status_line(text, "State:", &value))
        process->state = *value;
    if (status_line(text, "Uid:", &value)) {
        char *end;
        strtoul(value, &end, 10); /* the real one */
        process->user = (unsigned)strtoul(end, NULL, 10);
    }
    if (status_line(text, "NSpid:", &value)) {
        const char *last = value + strcspn(value, "\n");
        while (last > value && last[-1] != '\t' && last[-1] != ' ')
            last--;
        process->inner_pid = atoi(last);
    }
    if (status_line(text, "VmRSS:", &value))
        process->rss_bytes = strtoull(value, NULL, 10) * 1024;
    if (status_line(text, "RssAnon:", &value))
        process->own_bytes = strtoull(value, NULL, 10) * 1024;
    if (status_line(text, "Threads:", &value))
        process->threads = (unsigned)strtoul(value, NULL, 10);
    if (status_line(text, "Seccomp:", &value))
        process->filtered = *value == '2';
    if (status_line(text, "SigCgt:", &value))
        process->listens = strtoull(value, NULL, 16) >> (ATTACH_SIGNAL - 1) & 1;
    process->deaf = blocks(text) && all_threads_block(pid);
    process->inner_user = user_inside(pid, process->user);
    process->unmapped = user_has_no_number(pid);
    process->headless = process->state == 'Z' && process_state(pid) != 'Z';
    process->secure = is_secure(pid);
    process->closed = is_closed(process);
    command_read(process);
    process->library = library_find(process);
    process->frozen = process->library == PROCESS_WITH && process_is_frozen(pid);
    if (process->library == PROCESS_WITH && (process->deaf || !process->listens))
        bell_look(process, false);
    return true;
}

/* The start of a file of /proc as a string. */
static bool text_read(char *text, size_t size, const char *format, ...)
{
    char path[PATH_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(path, sizeof path, format, list);
    va_end(list);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    close(fd);
    text[length] = '\0';
    return length > 0;
}

/* The value behind a key at the start of a line. */
static bool status_line(const char *text, const char *key, const char **value)
{
    size_t length = strlen(key);
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        if (strncmp(text, key, length) == 0) {
            *value = text + length + strspn(text + length, " \t");
            return true;
        }
    }
    return false;
}

bool process_stat(struct process_stat *stat, pid_t pid)
{
    char text[1024];
    if (!text_read(text, sizeof text, "/proc/%d/stat", pid))
        return false;
    char *at = strrchr(text, ')'); /* a name may hold anything */
    if (!at || strlen(at) < 5)
        return false;
    enum { FLAGS = 9, START = 22, EXITING = 4 }; /* fields, from 1; the kernel's PF_EXITING */
    *stat = (struct process_stat){.state = at[2], .parent = atoi(at + 4)};
    for (int field = 2; at && field < START; field++) {
        at = strchr(at + 1, ' ');
        if (at && field + 1 == FLAGS)
            stat->exiting = strtoul(at + 1, NULL, 10) & EXITING;
    }
    stat->start_ticks = at ? strtoull(at + 1, NULL, 10) : 0;
    return stat->state != 'Z' && stat->state != 'X';
}

bool process_is_over(pid_t pid)
{
    struct process_stat stat;
    return !process_stat(&stat, pid) || stat.exiting;
}

char process_state(pid_t pid)
{
    char path[64], text[TEXT_SIZE], state = 0;
    const char *value;
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *listing = opendir(path);
    while (listing && (state == 0 || strchr("DTtZX", state)) && (entry = readdir(listing))) {
        pid_t thread = atoi(entry->d_name);
        if (thread <= 0 || !text_read(text, sizeof text, "/proc/%d/task/%d/status", pid, thread) ||
            !status_line(text, "State:", &value))
            continue;
        state = state == 0 || state == *value ? *value : '?';
    }
    if (listing)
        closedir(listing);
    return state;
}

static bool blocks(const char *status)
{
    const char *value;
    return status_line(status, "SigBlk:", &value) &&
           (strtoull(value, NULL, 16) >> (ATTACH_SIGNAL - 1) & 1);
}

static bool all_threads_block(pid_t pid)
{
    char path[64], text[TEXT_SIZE];
    struct dirent *entry;
    bool all = true;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *listing = opendir(path);
    while (all && listing && (entry = readdir(listing))) {
        pid_t thread = atoi(entry->d_name);
        if (thread > 0 && text_read(text, sizeof text, "/proc/%d/task/%d/status", pid, thread))
            all = blocks(text);
    }
    if (listing)
        closedir(listing);
    return all;
}

/* The number of the user in the process's own namespace. */
static unsigned user_inside(pid_t pid, unsigned user)
{
    char text[TEXT_SIZE], *at = text;
    if (!text_read(text, sizeof text, "/proc/%d/uid_map", pid))
        return user;
    while (*at) {
        unsigned long inside = strtoul(at, &at, 10);
        unsigned long outside = strtoul(at, &at, 10);
        unsigned long count = strtoul(at, &at, 10);
        if (user >= outside && user - outside < count)
            return (unsigned)(inside + (user - outside));
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return user;
}

/* A namespace without a map. */
static bool user_has_no_number(pid_t pid)
{
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool empty = fd >= 0 && read(fd, &byte, 1) == 0;
    if (fd >= 0)
        close(fd);
    return empty;
}

static bool is_secure(pid_t pid)
{
    enum { SECURE = 23 }; /* AT_SECURE */
    char text[TEXT_SIZE];
    uint64_t row[2];
    if (!text_read(text, sizeof text, "/proc/%d/auxv", pid))
        return false;
    for (size_t at = 0; at + sizeof row <= sizeof text; at += sizeof row) {
        memcpy(row, text + at, sizeof row);
        if (row[0] == SECURE)
            return row[1] != 0;
        if (row[0] == 0)
            break;
    }
    return false;
}

/* Whether the kernel protects it from its own user. What belongs to a process that is not dumpable
 * is root's in /proc; the other reasons (capabilities, a group of its own, ids that differ) show
 * when its memory map is opened. */
static bool is_closed(const struct process *process)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/mem", process->pid);
    if (stat(path, &found) == 0 && found.st_uid != process->user)
        return true;
    snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EACCES && process->user == geteuid();
}

/* The command line, or the name in brackets, without anything that a terminal would obey. */
static void command_read(struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, process->command, sizeof process->command - 1);
    if (fd >= 0)
        close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    while (length > 0 && process->command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (process->command[i] == '\0' || process->command[i] == '\n')
            process->command[i] = ' ';
    terminal_clean(process->command, length);
    process->command[length] = '\0';
}

static enum process_library library_find(struct process *process)
{
    char path[PATH_MAX + 64], before[PATH_MAX] = "", line[PATH_MAX + 128];
    snprintf(path, sizeof path, "/proc/%d/exe", process->pid);
    if (process_file_has_library(path, process->version, sizeof process->version))
        return PROCESS_WITH;
    snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
    FILE *maps = fopen(path, "re");
    enum process_library found = PROCESS_UNKNOWN;
    while (maps && found != PROCESS_WITH && fgets(line, sizeof line, maps)) {
        char *file = strchr(line, '/');
        found = PROCESS_WITHOUT;
        if (!file)
            continue;
        file[strcspn(file, "\n")] = '\0';
        if (strcmp(file, before) == 0)
            continue;
        snprintf(before, sizeof before, "%s", file);
        snprintf(path, sizeof path, "/proc/%d/root%s", process->pid, file);
        /* From another root folder (chroot) its files have the names that they have here. */
        if (process_file_has_library(path, process->version, sizeof process->version) ||
            (access(path, F_OK) != 0 &&
             process_file_has_library(file, process->version, sizeof process->version)) ||
            (strstr(file, "/libmemoir.so") && strstr(file, " (deleted)")))
            found = PROCESS_WITH;
    }
    if (maps)
        fclose(maps);
    return found;
}

bool process_file_has_library(const char *path, char *version, size_t size)
{
    enum { NOTES_MAX = 4096 };
    struct headers headers;
    char notes[NOTES_MAX];
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    if (os_is_file(fd) && headers_read_file(&headers, fd))
        for (unsigned i = 0; !found && i < headers.count; i++) {
            const Elf64_Phdr *part = &headers.parts[i];
            if (part->p_type != PT_NOTE || part->p_filesz > sizeof notes)
                continue;
            ssize_t got = pread(fd, notes, part->p_filesz, (off_t)part->p_offset);
            const char *about = got > 0 ? bell_note(notes, (size_t)got) : NULL;
            found = about != NULL;
            if (found)
                snprintf(version, size, "%.*s", ATTACH_NOTE_BELL, about);
        }
    close(fd);
    return found;
}

pid_t process_calmest_thread(const struct process *process)
{
    char path[64], text[TEXT_SIZE];
    struct dirent *entry;
    pid_t best = 0;
    unsigned min = UINT_MAX;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *listing = opendir(path);
    while (listing && min > 0 && (entry = readdir(listing))) {
        pid_t thread = atoi(entry->d_name);
        if (thread <= 0 ||
            !text_read(text, sizeof text, "/proc/%d/task/%d/status", process->pid, thread) ||
            blocks(text))
            continue;
        unsigned harm = disturbance(process->pid, thread);
        if (harm < min) {
            min = harm;
            best = thread;
        }
    }
    if (listing)
        closedir(listing);
    return best;
}

/* 0: it won't notice. 1: it may, its library copes. 2: unknown. 3: a call of it ends early. */
static unsigned disturbance(pid_t pid, pid_t thread)
{
    static const int interrupted[] = {
#ifdef SYS_poll
        SYS_poll,
        SYS_select,
        SYS_pause,
        SYS_epoll_wait,
#endif
        SYS_ppoll,
        SYS_pselect6,
        SYS_epoll_pwait,
        SYS_nanosleep,
        SYS_clock_nanosleep,
        SYS_rt_sigtimedwait,
        SYS_rt_sigsuspend,
        SYS_semop,
        SYS_semtimedop,
        SYS_msgrcv,
        SYS_msgsnd,
        SYS_io_getevents,
        426 /* io_uring_enter */,
        441 /* epoll_pwait2 */,
    };
    char text[256];
    if (!text_read(text, sizeof text, "/proc/%d/task/%d/syscall", pid, thread))
        return 2;
    if (text[0] < '0' || text[0] > '9')
        return 0;
    int call = atoi(text);
    for (size_t i = 0; i < sizeof interrupted / sizeof *interrupted; i++)
        if (call == interrupted[i])
            return 3;
    return call == SYS_futex ? 1 : 0;
}
