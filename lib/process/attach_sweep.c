/* SPDX-License-Identifier: MIT */
/*
 * See lib/process/attach_sweep.h. A socket is removed if its process does not exist and it has no
 * listener: in a folder that containers share, the first alone would not prove it.
 */
#include "lib/process/attach_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/attach_protocol.h"
#include "base/os.h"
#include "base/os_socket.h"
#include "base/print.h"
#include "base/words.h"

enum { LOOKS_MAX = 64, BATCH_SIZE = 4096 }; /* sockets that one start removes at most; bytes */

static pid_t socket_owner(const char *name);
static void socket_look(const char *folder, pid_t pid);

void attach_sweep(const char *folder)
{
    _Alignas(struct os_folder_entry) char batch[BATCH_SIZE];
    unsigned looks = 0;
    ssize_t got;
    int fd = os_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    while (fd >= 0 && looks < LOOKS_MAX && (got = os_folder_read(fd, batch, sizeof batch)) > 0) {
        for (ssize_t at = 0; at < got && looks < LOOKS_MAX;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(batch + at);
            pid_t pid = socket_owner(entry->name);
            if (pid > 0 && !os_process_alive(pid)) {
                socket_look(folder, pid);
                looks++;
            }
            at += entry->length;
        }
    }
    if (fd >= 0)
        os_close(fd);
}

/* The process in "PID.sock"; 0 if the name is another one. */
static pid_t socket_owner(const char *name)
{
    pid_t pid = text_pid(&name);
    return strcmp(name, ".sock") == 0 ? pid : 0;
}

static void socket_look(const char *folder, pid_t pid)
{
    char name[ATTACH_PATH_MAX];
    struct print path;
    print_start(&path, name, sizeof name);
    print_format(&path, "%s/%d.sock", folder, pid);
    if (os_socket_is_dead(print_string(&path)) && !path.cut)
        os_remove(name);
}
