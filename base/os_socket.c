/* SPDX-License-Identifier: MIT */
/*
 * See base/os_socket.h. Plain kernel calls, one a function. Sockets are non-blocking and closed
 * on exec from the start, and a socket's file never has more rights than its owner's.
 */
#include "base/os_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "base/arch.h"
#include "base/os.h"

enum { HERE = -100 };
static long call3(long number, long a, long b, long c);

void os_ids(struct os_ids *ids)
{
    call3(SYS_getresuid, (long)&ids->user[0], (long)&ids->user[1], (long)&ids->user[2]);
    call3(SYS_getresgid, (long)&ids->group[0], (long)&ids->group[1], (long)&ids->group[2]);
}

/* AT_FDCWD */

static long call3(long number, long a, long b, long c)
{
    return arch_syscall(number, a, b, c, 0, 0, 0);
}

static bool folder_stat(const char *path, long flags, struct stat *found)
{
    int fd = os_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (int)flags, 0);
    if (fd < 0)
        return false;
    bool ok = call3(SYS_fstat, fd, (long)found, 0) == 0;
    os_close(fd);
    return ok;
}

bool os_private_folder(const char *path, uint32_t owner, uint32_t other)
{
    enum { PRIVATE = 0700, MODE = 07777, OTHERS_WRITE = 022, STICKY = 01000 };
    char above[256];
    struct stat found = {.st_size = 0};
    size_t slash = strlen(path);
    while (slash > 0 && path[slash] != '/')
        slash--;
    if (slash == 0 || slash >= sizeof above)
        return false;
    memcpy(above, path, slash);
    above[slash] = '\0';
    if (!folder_stat(above, 0, &found) ||
        (found.st_uid != 0 && found.st_uid != owner && found.st_uid != other) ||
        ((found.st_mode & OTHERS_WRITE) && !(found.st_mode & STICKY)))
        return false;
    call3(SYS_mkdirat, HERE, (long)path, PRIVATE);
    return folder_stat(path, O_NOFOLLOW, &found) && found.st_uid == owner &&
           (found.st_mode & MODE) == PRIVATE;
}

void os_remove(const char *path)
{
    call3(SYS_unlinkat, HERE, (long)path, 0);
}

bool os_owner(const char *path, uint32_t *owner)
{
    struct stat found = {.st_size = 0};
    if (arch_syscall(SYS_newfstatat, HERE, (long)path, (long)&found, 0, 0, 0) != 0)
        return false;
    *owner = found.st_uid;
    return true;
}

bool os_file_owner(int fd, uint32_t *owner)
{
    struct stat found = {.st_size = 0};
    if (call3(SYS_fstat, fd, (long)&found, 0) != 0)
        return false;
    *owner = found.st_uid;
    return true;
}

void os_file_empty(int fd)
{
    call3(SYS_ftruncate, fd, 0, 0);
}

bool os_dumpable(void)
{
    enum { YES = 1 }; /* 2: a core file for root alone */
    return call3(SYS_prctl, PR_GET_DUMPABLE, 0, 0) == YES;
}

bool os_is_file(int fd)
{
    struct stat found = {.st_size = 0};
    return call3(SYS_fstat, fd, (long)&found, 0) == 0 && S_ISREG(found.st_mode);
}

/* A socket for the address, which gets the path. A descriptor, or a negative errno value. */
static int socket_make(struct sockaddr_un *address, const char *path)
{
    size_t length = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length >= sizeof address->sun_path)
        return -ENAMETOOLONG;
    memcpy(address->sun_path, path, length);
    return (int)call3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool os_socket_is_dead(const char *path)
{
    int fd = os_connect(path);
    if (fd >= 0)
        os_close(fd);
    return fd == -ECONNREFUSED;
}

int os_connect(const char *path)
{
    struct sockaddr_un address;
    int fd = socket_make(&address, path);
    if (fd < 0)
        return fd;
    long got = call3(SYS_connect, fd, (long)&address, sizeof address);
    if (got == 0)
        return fd;
    os_close(fd);
    return (int)got;
}

int os_listen(const char *path, int backlog)
{
    struct sockaddr_un address;
    int fd = socket_make(&address, path);
    if (fd < 0)
        return fd;
    /* The file gets the mode that the socket has when it is bound: never a moment of 0777. */
    call3(SYS_fchmod, fd, 0600, 0);
    long got = call3(SYS_bind, fd, (long)&address, sizeof address);
    if (got == 0)
        got = call3(SYS_listen, fd, backlog, 0);
    if (got == 0)
        return fd;
    os_close(fd);
    return (int)got;
}

int os_accept(int fd)
{
    return (int)arch_syscall(SYS_accept4, fd, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0);
}

bool os_peer(int fd, struct os_peer *peer)
{
    struct ucred ids = {0, 0, 0};
    socklen_t size = sizeof ids;
    if (arch_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&ids, (long)&size, 0) != 0)
        return false;
    *peer = (struct os_peer){ids.uid, ids.gid, ids.pid};
    return true;
}

ssize_t os_receive(int fd, void *buffer, size_t size, int *passed)
{
    enum { PASSED_MAX = 8 };
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PASSED_MAX * sizeof(int))] = {0};
    struct iovec part = {buffer, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    unsigned count = 0;
    *passed = -1;
    ssize_t got = call3(SYS_recvmsg, fd, (long)&message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return got;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (at->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++, count++) {
            int one;
            memcpy(&one, CMSG_DATA(at) + i * sizeof one, sizeof one);
            if (count > 0)
                os_close(one);
            else
                *passed = one;
        }
    }
    if (count > 1) {
        os_close(*passed);
        *passed = -1;
    }
    return got;
}

ssize_t os_send(int fd, const void *buffer, size_t size)
{
    return arch_syscall(SYS_sendto, fd, (long)buffer, (long)size, MSG_NOSIGNAL, 0, 0);
}

bool os_pass(int fd, int passed)
{
    char byte = 0;
    struct iovec part = {&byte, sizeof byte};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof passed)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &passed, sizeof passed);
    return call3(SYS_sendmsg, fd, (long)&message, MSG_NOSIGNAL) == sizeof byte;
}

bool os_poll(int fd, bool writing, uint32_t timeout_ms)
{
    struct pollfd one = {fd, (short)(writing ? POLLOUT : POLLIN), 0};
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    return arch_syscall(SYS_ppoll, (long)&one, 1, (long)&timeout, 0, 0, 0) > 0;
}
