/* SPDX-License-Identifier: MIT */
/*
 * gperftools' heap profiler begins by removing the files of an earlier run under its prefix, so
 * that files of two runs are not mixed up. HEAP_PROFILE_CLEANUP=false keeps them.
 */
#include <fcntl.h>
#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/faces/gperftools/gperftools.h"

enum { FOLDER_SIZE = 4096, PATH_SIZE = CONFIG_PATH_SIZE + 300 };

static void remove_profiles(const char *buffer, size_t length, const char *folder,
                            size_t folder_length, const char *start);

void gperftools_cleanup(const char *prefix, int pid)
{
    _Alignas(8) char buffer[FOLDER_SIZE];
    char folder[PATH_SIZE], start[PATH_SIZE];
    struct print text;
    const char *name = strrchr(prefix, '/');
    name = name == NULL ? prefix : name + 1;
    size_t folder_length = (size_t)(name - prefix);

    print_start(&text, start, sizeof start);
    print_text(&text, name);
    if (pid != 0)
        print_format(&text, "_%d", pid);
    print_char(&text, '.');
    print_string(&text);
    print_start(&text, folder, sizeof folder);
    print_bytes(&text, prefix, folder_length);
    if (folder_length == 0)
        print_char(&text, '.');
    int fd = os_open(print_string(&text), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    ssize_t got;
    while ((got = os_folder_read(fd, buffer, sizeof buffer)) > 0)
        remove_profiles(buffer, (size_t)got, prefix, folder_length, start);
    os_close(fd);
}

static bool is_profile(const char *name, const char *start)
{
    static const char end[] = ".heap";
    size_t length = strlen(name), start_length = strlen(start);
    return length >= start_length + sizeof end - 1 && strncmp(name, start, start_length) == 0 &&
           strcmp(name + length - (sizeof end - 1), end) == 0;
}

/* `buffer` holds `length` bytes of entries. */
static void remove_profiles(const char *buffer, size_t length, const char *folder,
                            size_t folder_length, const char *start)
{
    char path[PATH_SIZE];
    struct print text;
    for (size_t at = 0; at < length;) {
        const struct os_folder_entry *entry = (const struct os_folder_entry *)(buffer + at);
        at += entry->length;
        if (!is_profile(entry->name, start))
            continue;
        print_start(&text, path, sizeof path);
        print_bytes(&text, folder, folder_length);
        print_text(&text, entry->name);
        os_unlink(print_string(&text));
    }
}
