/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/memory_limit.h. Reads two files of the kernel: `cgroup` has the groups of the
 * process, one line a hierarchy; `mountinfo` has the mount points of the hierarchies and the group
 * at each mount's root (a container often sees its own group as the root).
 */
#include "lib/dump/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/os.h"
#include "base/print.h"

enum { LINE_MAX_SIZE = 1024, PATH_SIZE = 1024, CHUNK = 512 }; /* on the stack, 3 KiB in all */

/* Reads a file line by line; skips lines that are too long. */
struct lines {
    int fd;
    size_t at, got;
    char chunk[CHUNK];
};

static bool lines_open(struct lines *lines, const char *folder, const char *name);
static bool lines_next(struct lines *lines, char *line);
static void find_groups(const char *proc, char *first, char *second);
static uint64_t mount_limit(const char *root, char *line, const char *first, const char *second);

uint64_t memory_limit(const char *proc, const char *root)
{
    char first[PATH_SIZE], second[PATH_SIZE], line[LINE_MAX_SIZE + 1];
    struct lines lines;
    uint64_t min = os_limit(RLIMIT_AS);
    find_groups(proc, first, second);
    if (!lines_open(&lines, proc, "mountinfo"))
        return min;
    while (lines_next(&lines, line)) {
        uint64_t limit = mount_limit(root, line, first, second);
        min = limit < min ? limit : min;
    }
    os_close(lines.fd);
    return min;
}

static bool lines_open(struct lines *lines, const char *folder, const char *name)
{
    char path[PATH_SIZE];
    struct print text;
    print_start(&text, path, sizeof path);
    print_format(&text, "%s/%s", folder, name);
    print_string(&text);
    lines->at = lines->got = 0;
    lines->fd = text.cut ? -1 : os_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    return lines->fd >= 0;
}

static bool lines_next(struct lines *lines, char *line)
{
    size_t length = 0;
    unsigned tries = 0;
    for (;;) {
        if (lines->at == lines->got) {
            ssize_t got = os_read(lines->fd, lines->chunk, sizeof lines->chunk);
            if (os_again(got, &tries))
                continue;
            if (got <= 0 && length == 0)
                return false;
            lines->at = 0;
            lines->got = got <= 0 ? 0 : (size_t)got;
            if (got <= 0)
                break;
        }
        char c = lines->chunk[lines->at++];
        if (c == '\n')
            break;
        if (length < LINE_MAX_SIZE)
            line[length++] = c;
    }
    line[length == LINE_MAX_SIZE ? 0 : length] = '\0';
    return true;
}

/* Cuts the next word, up to `end`, off a text. */
static char *word(char **text, char end)
{
    char *start = *text, *at = start;
    while (*at != '\0' && *at != end)
        at++;
    *text = *at == '\0' ? at : at + 1;
    *at = '\0';
    return start;
}

static bool has_word(char *list, const char *wanted)
{
    while (*list != '\0')
        if (strcmp(word(&list, ','), wanted) == 0)
            return true;
    return false;
}

/* The groups of the process in both versions, such as "/user.slice"; empty if there is none. */
static void find_groups(const char *proc, char *first, char *second)
{
    struct lines lines;
    char line[LINE_MAX_SIZE + 1];
    first[0] = second[0] = '\0';
    if (!lines_open(&lines, proc, "cgroup"))
        return;
    while (lines_next(&lines, line)) { /* "4:cpu,memory:/group", "0::/group" */
        char *rest = line;
        const char *number = word(&rest, ':');
        char *controllers = word(&rest, ':');
        if (rest[0] != '/' || strlen(rest) >= PATH_SIZE)
            continue;
        if (strcmp(number, "0") == 0 && controllers[0] == '\0')
            memcpy(second, rest, strlen(rest) + 1);
        else if (has_word(controllers, "memory"))
            memcpy(first, rest, strlen(rest) + 1);
    }
    os_close(lines.fd);
}

static uint64_t read_limit(const char *folder, const char *name)
{
    struct lines lines;
    char line[LINE_MAX_SIZE + 1];
    uint64_t value = 0;
    if (!lines_open(&lines, folder, name))
        return UINT64_MAX;
    bool got = lines_next(&lines, line);
    os_close(lines.fd);
    if (!got || line[0] < '0' || line[0] > '9') /* "max" */
        return UINT64_MAX;
    for (const char *at = line; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return UINT64_MAX;
    return value >= UINT64_C(1) << 62 ? UINT64_MAX : value; /* version 1 writes a huge number for
                                                               "no limit" */
}

/* The lowest limit of the group and its ancestors, up to the mount point of the hierarchy. */
static uint64_t walk_up(const char *root, const char *mount, const char *mounted, const char *group,
                        const char *name)
{
    char path[PATH_SIZE];
    struct print text;
    size_t skipped = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    bool below =
        strncmp(group, mounted, skipped) == 0 && (group[skipped] == '/' || group[skipped] == '\0');
    print_start(&text, path, sizeof path);
    print_format(&text, "%s%s", root, mount);
    size_t top = print_length(&text);
    print_text(&text, below ? group + skipped : "");
    print_string(&text);
    if (text.cut)
        return UINT64_MAX;
    uint64_t min = UINT64_MAX;
    for (size_t length = strlen(path);;) {
        uint64_t limit = read_limit(path, name);
        min = limit < min ? limit : min;
        while (length > top && path[length - 1] != '/')
            length--;
        if (length <= top)
            return min;
        path[--length] = '\0';
    }
}

/* One line of mountinfo: id, parent, device, root, mount point, options, ..., "-", type, source,
 * options of the hierarchy. */
static uint64_t mount_limit(const char *root, char *line, const char *first, const char *second)
{
    char *rest = line;
    for (int i = 0; i < 3; i++)
        word(&rest, ' ');
    const char *mounted = word(&rest, ' '), *mount = word(&rest, ' ');
    while (*rest != '\0' && strcmp(word(&rest, ' '), "-") != 0)
        continue;
    const char *type = word(&rest, ' ');
    word(&rest, ' ');
    if (strcmp(type, "cgroup2") == 0 && second[0] != '\0')
        return walk_up(root, mount, mounted, second, "memory.max");
    if (strcmp(type, "cgroup") == 0 && first[0] != '\0' && has_word(rest, "memory"))
        return walk_up(root, mount, mounted, first, "memory.limit_in_bytes");
    return UINT64_MAX;
}
