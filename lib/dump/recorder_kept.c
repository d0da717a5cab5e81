/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/recorder_kept.h. A file is a killed program's if no process has its lock, and none
 * has the number in it: in a folder that containers share, the number alone would not prove it.
 */
#include "lib/dump/recorder_kept.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/recorder_format.h"
#include "base/os.h"
#include "base/os_socket.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/dump/recorder_paths.h"

#define FOLDER "/dev/shm"

/* Of killed programs, and how many names are looked at: many more mean that another program uses
 * such names. */
enum { KEPT_MAX = 8, LOOKS_MAX = 4096, BATCH_SIZE = 4096, NAME_SIZE = 320 };

/* What the head of a file begins with. */
struct head {
    uint8_t magic[8];
    uint16_t version, machine;
    uint32_t sheet_bytes, state, pid;
    uint64_t start_ticks, start_ms, start_wall_ns;
};
_Static_assert(offsetof(struct head, start_wall_ns) ==
                   offsetof(struct recorder_head, start_wall_ns),
               "as in the file");

/* The newest files of killed programs: one less than may stay, as this process makes the next. */
struct left {
    uint64_t since; /* 0: none */
    char path[NAME_SIZE];
};
static BULK struct left newest[KEPT_MAX - 1];

static void name_begin(struct print *text);
static void newest_add(const char *path, uint64_t since);
static bool is_left(const char *path, size_t pid_at, uint64_t *since);
static bool head_read(struct head *head, int fd);
static void unborn_remove(const char *path, const char *number, int fd);
static void orphan_remove(const char *name, size_t pid_at);

void kept_name(char *path, size_t size)
{
    struct print text;
    print_start(&text, path, size);
    print_text(&text, FOLDER "/");
    name_begin(&text);
    print_format(&text, "%d", (int)os_pid());
    print_string(&text);
}

/* How the names of this user's files begin. */
static void name_begin(struct print *text)
{
    struct os_ids ids;
    os_ids(&ids);
    print_format(text, "memoir-%u-end-", ids.user[1]);
}

void kept_sweep(void)
{
    static BULK _Alignas(struct os_folder_entry) char batch[BATCH_SIZE]; /* stacks may be small */
    char start[32], path[NAME_SIZE];
    uint64_t since;
    unsigned looks = 0;
    struct print text;
    ssize_t got;
    print_start(&text, start, sizeof start);
    name_begin(&text);
    size_t length = strlen(print_string(&text));
    memset(newest, 0, sizeof newest);
    int fd = os_open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    while (fd >= 0 && (got = os_folder_read(fd, batch, sizeof batch)) > 0)
        for (ssize_t at = 0; at < got && looks < LOOKS_MAX;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(batch + at);
            at += entry->length;
            bool hidden = entry->name[0] == '.';
            if (strncmp(entry->name + hidden, start, length) != 0)
                continue;
            looks++;
            if (hidden) {
                orphan_remove(entry->name + 1, length);
                continue;
            }
            print_start(&text, path, sizeof path);
            print_format(&text, FOLDER "/%s", entry->name);
            if (is_left(print_string(&text), sizeof FOLDER + length, &since))
                newest_add(path, since);
        }
    if (fd >= 0)
        os_close(fd);
}

/* Adds a file to the newest ones, and removes the oldest of them, which may be this one. */
static void newest_add(const char *path, uint64_t since)
{
    struct left *oldest = &newest[0];
    for (unsigned i = 1; i < COUNT_OF(newest); i++)
        if (newest[i].since < oldest->since)
            oldest = &newest[i];
    const char *gone = since < oldest->since ? path : oldest->path;
    if (gone[0] != '\0') {
        paths_remove(gone);
        os_unlink(gone);
    }
    if (gone == path)
        return;
    memcpy(oldest->path, path, sizeof oldest->path);
    oldest->since = since;
}

/* Whether it is a killed program's, of this user, and when that began. The number of the process is
 * at `pid_at` of the path. */
static bool is_left(const char *path, size_t pid_at, uint64_t *since)
{
    struct head head;
    struct os_ids ids;
    uint32_t owner;
    os_ids(&ids);
    if (!os_owner(path, &owner) || owner != ids.user[1])
        return false;
    int fd = os_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool begun = head_read(&head, fd);
    bool left = begun && !os_process_alive((pid_t)head.pid) && os_lock_for_process(fd);
    if (!begun)
        unborn_remove(path, path + pid_at, fd);
    os_close(fd);
    if (left)
        *since = head.start_wall_ns;
    return left;
}

void kept_remove_own(const char *path, uint64_t ticks)
{
    struct head head;
    int fd = os_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (head_read(&head, fd) && head.pid == (uint32_t)os_pid() && head.start_ticks == ticks) {
        paths_remove(path);
        os_unlink(path);
    }
    os_close(fd);
}

static bool head_read(struct head *head, int fd)
{
    return os_read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
           memcmp(head->magic, RECORDER_MAGIC, sizeof head->magic) == 0 &&
           (head->state & RECORDER_KEPT) != 0;
}

/* A program that was killed while it made its file leaves one without a head, which holds nothing
 * and counts among none. `number` is the part of its name that tells the process. */
static void unborn_remove(const char *path, const char *number, int fd)
{
    static const uint8_t none[sizeof RECORDER_MAGIC];
    uint8_t magic[sizeof none] = {0};
    pid_t pid = text_pid(&number);
    if (pid > 0 && os_read_at(fd, magic, sizeof magic, 0) >= 0 &&
        memcmp(magic, none, sizeof magic) == 0 && !os_process_alive(pid) &&
        os_lock_for_process(fd)) {
        paths_remove(path);
        os_unlink(path);
    }
}

/* A list of paths whose recorder file is gone. `name` is without the dot; its process
 * is told at `pid_at`. */
static void orphan_remove(const char *name, size_t pid_at)
{
    char path[NAME_SIZE];
    struct print text;
    struct os_ids ids;
    uint32_t owner;
    const char *number = name + pid_at;
    pid_t pid = text_pid(&number);
    size_t length = text_until(number, '.');
    if (pid == 0 || os_process_alive(pid) ||
        (strcmp(number + length, ".paths") != 0 && strcmp(number + length, ".paths.new") != 0))
        return;
    os_ids(&ids);
    print_start(&text, path, sizeof path);
    print_text(&text, FOLDER "/");
    print_bytes(&text, name, (size_t)(number + length - name));
    if (os_owner(print_string(&text), &owner))
        return; /* the file is there */
    print_start(&text, path, sizeof path);
    print_format(&text, FOLDER "/.%s", name);
    if (os_owner(print_string(&text), &owner) && owner == ids.user[1])
        os_unlink(path);
}
