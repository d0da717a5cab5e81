/* SPDX-License-Identifier: MIT */
/* See lib/process/attach_access.h. */
#include "lib/process/attach_access.h"

#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"

enum {
    ROOT = 0,
    OVERFLOW_USER = 65534,
    IDS = 3,            /* real, effective, saved */
    STATUS_SIZE = 8192, /* more than the kernel writes, but for very many groups */
};

static const char *blanks_skip(const char *text);
static bool status_read(char *text);
static const char *status_value(const char *text, const char *key);
static bool status_agrees(const char *one, const char *other, const char *key);
static bool user_is_certain(uint32_t user);
static bool file_read(const char *path, char *text, size_t size);

bool access_is_current(void)
{
    static const char *const keys[] = {
        "\nUid:",    "\nGid:",        "\nGroups:",  "\nCapInh:",         "\nCapPrm:",
        "\nCapEff:", "\nNoNewPrivs:", "\nSeccomp:", "\nSeccomp_filters:"};
    char program[STATUS_SIZE], helper[STATUS_SIZE];
    if (confined(CONFINE_CONTROL) || !status_read(program) ||
        !file_read("/proc/thread-self/status", helper, sizeof helper))
        return false;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (!status_agrees(program, helper, keys[i]))
            return false;
    return true;
}

/*
 * Root is user 0 as the process sees it, in its own user namespace. If a process is not dumpable,
 * its memory file belongs to root of the namespace in which it was started. If that is not root of
 * this namespace, no client may ask.
 */
bool access_allows(const struct os_ids *ids, const struct os_peer *peer)
{
    char text[STATUS_SIZE];
    uint32_t owner;
    if (!os_dumpable())
        return peer->user == ROOT && os_owner("/proc/self/mem", &owner) && owner == ROOT;
    if (peer->user == ROOT)
        return true;
    for (unsigned i = 0; i < IDS; i++)
        if (ids->user[i] != peer->user || ids->group[i] != peer->group)
            return false;
    if (!status_read(text))
        return false;
    const char *rights = status_value(text, "\nCapPrm:");
    while (rights != NULL && *rights == '0')
        rights++;
    return rights != NULL && *rights == '\n' && user_is_certain(peer->user);
}

static const char *blanks_skip(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* The status of the program's first thread, as a string. By "self", not by number: /proc may be
 * that of another namespace, where the process has another number. */
static bool status_read(char *text)
{
    return file_read("/proc/self/status", text, STATUS_SIZE);
}

static const char *status_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    while (strncmp(text, key, length) != 0)
        if (*text++ == '\0')
            return NULL;
    return blanks_skip(text + length);
}

/* Whether the line is the same in both; old kernels lack some. */
static bool status_agrees(const char *one, const char *other, const char *key)
{
    const char *here = status_value(one, key), *there = status_value(other, key);
    if (here == NULL || there == NULL)
        return here == there;
    while (*here == *there && *here != '\0' && *here != '\n') {
        here++;
        there++;
    }
    return *here == *there;
}

uint32_t access_numberless(void)
{
    return user_is_certain(OVERFLOW_USER) ? ROOT : OVERFLOW_USER;
}

/* The kernel shows all users without a number in our namespace as the same one, "nobody". That
 * number means a single user only where all users have a number. */
static bool user_is_certain(uint32_t user)
{
    static const char everyone[] = "0 0 4294967295";
    char text[256];
    size_t matched = 0;
    if (user != OVERFLOW_USER)
        return true;
    if (!file_read("/proc/self/uid_map", text, sizeof text))
        return false;
    const char *at = blanks_skip(text);
    while (matched < sizeof everyone - 1 && *at == everyone[matched]) {
        at = *at == ' ' ? blanks_skip(at) : at + 1;
        matched++;
    }
    return matched == sizeof everyone - 1;
}

/* The start of a file as a string. */
static bool file_read(const char *path, char *text, size_t size)
{
    int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    ssize_t got = os_read(fd, text, size - 1);
    os_close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}
