/* SPDX-License-Identifier: MIT */
/* See lib/leak/descriptors.h. The kernel tells all of it as text in /proc. */
#include "lib/leak/descriptors.h"

#include <fcntl.h>
#include <string.h>

#include "base/confine.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"

enum {
    TEXT = 32 << 10,     /* read at once */
    WORDS_MAX = 1 << 20, /* address space, touched as far as needed */
};

static void descriptor_look(struct descriptors *found, unsigned fd);
static void lines_take(struct descriptors *found, int fd, char *text, const char *before);

void descriptors_look(struct descriptors *found)
{
    _Alignas(uint64_t) char names[4096];
    *found = (struct descriptors){0};
    if (confined(CONFINE_FILES))
        return;
    int folder = os_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return;
    for (ssize_t got; (got = os_folder_read(folder, names, sizeof names)) > 0;)
        for (ssize_t at = 0; at < got;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(names + at);
            if (entry->name[0] != '.')
                descriptor_look(found, (unsigned)text_number(entry->name, 10));
            at += entry->length;
        }
    os_close(folder);
}

static int open_about(unsigned fd)
{
    char path[64];
    struct print print;
    print_start(&print, path, sizeof path);
    print_format(&print, "/proc/self/fdinfo/%u", fd);
    return os_open(print_string(&print), O_RDONLY | O_CLOEXEC, 0);
}

/* "API:", a tab, the version, a colon, and the features that were asked for, in hexadecimal. */
static bool announces(unsigned fd)
{
    enum { FORKS = 2 }; /* UFFD_FEATURE_EVENT_FORK */
    static const char name[] = "API:\t";
    char text[512];
    int about = open_about(fd);
    ssize_t got = about < 0 ? 0 : os_read(about, text, sizeof text - 1);
    if (about >= 0)
        os_close(about);
    text[got < 0 ? 0 : got] = '\0';
    const char *at = strstr(text, name);
    at = at == NULL ? NULL : strchr(at, ':');
    at = at == NULL ? NULL : strchr(at + 1, ':');
    return at == NULL || (text_number(at + 1, 16) & FORKS) != 0;
}

static void descriptor_look(struct descriptors *found, unsigned fd)
{
    static const char faults[] = "anon_inode:[userfaultfd]", polls[] = "anon_inode:[eventpoll]";
    char path[64], text[64];
    struct print print;
    print_start(&print, path, sizeof path);
    print_format(&print, "/proc/self/fd/%u", fd);
    ssize_t got = os_link(print_string(&print), text, sizeof text);
    if (got == sizeof faults - 1 && memcmp(text, faults, sizeof faults - 1) == 0)
        found->announce_forks |= announces(fd);
    else if (got == sizeof polls - 1 && memcmp(text, polls, sizeof polls - 1) == 0 &&
             found->polls_count < DESCRIPTORS_POLLS)
        found->polls[found->polls_count++] = fd;
}

void descriptors_take(struct descriptors *found)
{
    if (confined(CONFINE_FILES))
        return;
    int timers = os_open("/proc/self/timers", O_RDONLY | O_CLOEXEC, 0);
    if (timers < 0 && found->polls_count == 0)
        return;
    size_t room = TEXT + WORDS_MAX * sizeof *found->words;
    char *memory = os_map(room);
    if (memory != NULL) {
        found->room = room;
        found->words = (uintptr_t *)memory;
        char *text = memory + WORDS_MAX * sizeof *found->words;
        for (unsigned i = 0; i < found->polls_count; i++) {
            int about = open_about(found->polls[i]);
            lines_take(found, about, text, " data:");
            if (about >= 0)
                os_close(about);
        }
        lines_take(found, timers, text, "/");
    }
    if (timers >= 0)
        os_close(timers);
}

void descriptors_free(struct descriptors *found)
{
    if (found->words != NULL)
        os_unmap(found->words, found->room);
    found->words = NULL;
    found->bytes = 0;
}

/* "tfd: 5 events: 19 data: 7f0000001000 pos:..." and "signal: 60/00007f0000001000" */
static void line_take(struct descriptors *found, const char *line, const char *before)
{
    const char *at = strstr(line, before);
    if (at == NULL || found->bytes == WORDS_MAX * sizeof *found->words)
        return;
    at += strlen(before);
    while (*at == ' ')
        at++;
    found->words[found->bytes / sizeof *found->words] = (uintptr_t)text_number(at, 16);
    found->bytes += sizeof *found->words;
}

static void lines_take(struct descriptors *found, int fd, char *text, const char *before)
{
    size_t kept = 0; /* the beginning of a line */
    for (ssize_t got; fd >= 0 && (got = os_read(fd, text + kept, TEXT - 1 - kept)) > 0;) {
        char *line = text, *end;
        text[kept + (size_t)got] = '\0';
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            line_take(found, line, before);
        }
        kept = strlen(line);
        memmove(text, line, kept);
        if (kept == TEXT - 1)
            return; /* no such line */
    }
}
