/* SPDX-License-Identifier: MIT */
/*
 * The kernel calls of the control channel, under the rules of base/os.h. Descriptors are closed on
 * exec, and nothing here waits but os_poll.
 */
#ifndef BASE_OS_SOCKET_H
#define BASE_OS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Real, effective and saved ids of the calling thread. */
struct os_ids {
    uint32_t user[3], group[3];
};
void os_ids(struct os_ids *ids);

/* Makes the folder unless something of that name is there. Whether it is a folder, no link, of that
 * owner and with mode 0700, below one where others can't exchange it: that one belongs to root, to
 * the owner or to `other`. */
bool os_private_folder(const char *path, uint32_t owner, uint32_t other);
void os_remove(const char *path);
/* The user that owns the file at `path`; false if there is none. */
bool os_owner(const char *path, uint32_t *owner);
bool os_file_owner(int fd, uint32_t *owner);
/* An open file loses what it holds; pipes and devices stay as they are. */
void os_file_empty(int fd);
/* Whether the kernel lets processes of the same user look into this one (PR_SET_DUMPABLE; a change
 * of ids ends it). */
bool os_dumpable(void);
bool os_is_file(int fd);

/* Whether the socket (SOCK_SEQPACKET) at `path` has no listener. */
bool os_socket_is_dead(const char *path);
/* A socket (SOCK_SEQPACKET) with mode 0600 that listens at `path`, where nothing may be. */
int os_listen(const char *path, int backlog);
/* The next client; -EAGAIN: none now. */
int os_accept(int fd);
/* Connects to the socket at `path`; a negative errno if no process listens or the queue is full. */
int os_connect(const char *path);
/* Effective ids of the process at the other end when it connected; false: unknown. */
struct os_peer {
    uint32_t user, group;
    pid_t pid;
};
bool os_peer(int fd, struct os_peer *peer);
/* One packet, cut to `size`; its full length or a negative errno. A descriptor that came with it is
 * put in *passed, which is -1 otherwise; of more than one, all are closed. */
ssize_t os_receive(int fd, void *buffer, size_t size, int *passed);
/* One packet; never a signal. */
ssize_t os_send(int fd, const void *buffer, size_t size);
/* One byte, and a descriptor with it. */
bool os_pass(int fd, int passed);
/* Waits for something to read, or room to write. False: `timeout_ms` have passed, or an error. */
bool os_poll(int fd, bool writing, uint32_t timeout_ms);

#endif
