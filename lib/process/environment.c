/* SPDX-License-Identifier: MIT */
/* See lib/process/environment.h. Called by one thread, while the library or the program starts. */
#include "lib/process/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/words.h"

enum {
    KEPT_SIZE = 8192,  /* for the values of all variables that are read before libc has them */
    CHUNK_SIZE = 2048, /* read at a time, on the stack */
    HIDDEN_MAX = 8,    /* variables: as many as lib/faces/faces.c hides */
    HIDDEN_BIT = 0x40, /* changes the first letter of a name, so that no search finds it */
};

static BULK char kept[KEPT_SIZE]; /* values that were read from the kernel */
static size_t kept_used;
static char *hidden[HIDDEN_MAX];
static unsigned hidden_count;

/* Copies the value, a byte at a time, into `kept`. NULL if it does not fit. */
struct search {
    const char *name;
    size_t matched; /* bytes of "name=" that match the current entry so far */
    bool missed;    /* the current entry is another variable */
    size_t start;
};

static const char *get_started(const char *name);
static char *entry_find(const char *name);

const char *environment_get(const char *name)
{
    if (os_secure())
        return NULL;
    if (environ == NULL)
        return get_started(name);
    const char *entry = entry_find(name);
    return entry == NULL ? NULL : entry + strlen(name) + 1;
}

void environment_hide(const char *name)
{
    char *entry = os_secure() ? NULL : entry_find(name);
    if (entry == NULL || hidden_count == HIDDEN_MAX)
        return;
    entry[0] ^= HIDDEN_BIT;
    hidden[hidden_count++] = entry;
}

void environment_show(void)
{
    while (hidden_count > 0)
        hidden[--hidden_count][0] ^= HIDDEN_BIT;
}

void environment_add(char *entry)
{
    size_t count = 0, name_length = text_until(entry, '=') + 1;
    while (environ != NULL && environ[count] != NULL)
        if (strncmp(environ[count], entry, name_length) == 0)
            break;
        else
            count++;
    if (environ != NULL && environ[count] != NULL) {
        environ[count] = entry;
        return;
    }
    /* libc's setenv would allocate, which would show in the program's profile. */
    char **longer = os_map((count + 2) * sizeof *longer);
    if (longer == NULL)
        return;
    if (count > 0)
        memcpy(longer, environ, count * sizeof *longer);
    longer[count] = entry;
    environ = longer;
}

/* True at the end of the wanted value. */
static bool search_byte(struct search *search, char c)
{
    size_t length = strlen(search->name);
    if (search->matched == length + 1) {
        if (kept_used < sizeof kept)
            kept[kept_used++] = c;
        return c == '\0';
    }
    if (c == '\0') {
        search->matched = 0;
        search->missed = false;
    } else if (!search->missed) {
        char wanted = search->matched == length ? '=' : search->name[search->matched];
        search->missed = c != wanted;
        search->matched = search->missed ? 0 : search->matched + 1;
    }
    return false;
}

static const char *get_started(const char *name)
{
    char chunk[CHUNK_SIZE];
    struct search search = {name, 0, false, kept_used};
    bool found = false;
    ssize_t got;
    unsigned tries = 0;
    int fd = os_open("/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    while (!found && ((got = os_read(fd, chunk, sizeof chunk)) > 0 || os_again(got, &tries)))
        for (ssize_t i = 0; i < got && !found; i++)
            found = search_byte(&search, chunk[i]);
    os_close(fd);
    if (!found || kept[kept_used - 1] != '\0') {
        kept_used = search.start;
        return NULL;
    }
    return kept + search.start;
}

static char *entry_find(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry;
    return NULL;
}
