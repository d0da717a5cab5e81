/* SPDX-License-Identifier: MIT */
/*
 * The client's side. A process that has no helper yet is called by its signal, at first through the
 * thread that it disturbs least; where the signal does not get through, or is not answered,
 * by its bell. The socket counts only if its folder belongs to the user of the
 * process alone, and if the process itself is behind it.
 */
#include "tool/process/attach_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/attach_protocol.h"
#include "base/os_socket.h"
#include "tool/process/bell.h"
#include "tool/terminal/terminal.h"

enum {
    ESTOPPED = -1,         /* beside the values of errno: it was stopped while it had our request */
    ANSWER_MS = 30 * 1000, /* a dump of a large heap takes its time */
    WATCH_MAX_MS = 5 * 60 * 1000,
    TRY_MS = 10,         /* between two tries to connect */
    CALL_EVERY = 30,     /* tries between two calls */
    CALL_MS = 3000,      /* for the signal to be heard, */
    BELL_MS = 10 * 1000, /* and for the bell: it is when the program next allocates */
};

static bool hears_signal(const struct process *process);
static bool refuse(const struct process *process, struct error *error);
static bool refuse_closed(const struct process *process, struct error *error);
static bool refuse_stopped(const struct process *process, struct error *error);
static bool refuse_deaf(const struct process *process, struct error *error);
static bool channel_open(const struct process *process, int *channel, struct error *error);
static bool has_proc(pid_t pid);
static bool refuse_threadless(pid_t pid, int reason, struct error *error);
static int channel_try(const struct process *process);
static bool folder_is_right(const char *path, unsigned user);
static bool process_call(const struct process *process, pid_t thread, struct error *error);
static bool line_send(int channel, const char *line, int fd);
static unsigned answer_ms(const char *line);
static bool answer_take(pid_t pid, int channel, unsigned ms_max, int32_t *status, char **answer);

static bool still_there(struct process *process, unsigned *asleep, struct error *error);
static ssize_t packet_take(pid_t pid, int channel, unsigned ms_max, void *buffer, size_t size);
static bool is_left_over(pid_t pid, const char *path);

const char *attach_refusal(const struct process *process)
{
    if (process->headless)
        return "its main thread has ended";
    if (process->state == 'Z' || process->state == 'X')
        return "ended";
    if (geteuid() != 0 && process->user != geteuid())
        return "owned by another user";
    if (process->closed && geteuid() != 0)
        return "protected from its own user; use sudo";
    if (process->library == PROCESS_WITHOUT)
        return "without memoir";
    if (process->library == PROCESS_UNKNOWN)
        return "its files can't be read";
    if (process->secure)
        return "runs setuid, setgid or with capabilities";
    if (process->unmapped)
        return "its user is not mapped in its user namespace";
    if (!hears_signal(process) && process->bell != PROCESS_BELL_HANGS) {
        if (process->filtered && process->bell == PROCESS_BELL_OFF)
            return "its seccomp filter forbids control, or control is off";
        if (process->bell == PROCESS_BELL_CLOSED)
            return "does not receive SIGURG; try sudo";
        return process->deaf && process->bell != PROCESS_BELL_OFF ? "blocks SIGURG"
                                                                  : "control is off";
    }
    if (process->frozen)
        return "frozen";
    return process->state == 'T' || process->state == 't' ? "stopped" : NULL;
}

static bool hears_signal(const struct process *process)
{
    return process->listens && !process->deaf;
}

bool attach_ask(const struct process *process, const char *line, int fd, char **answer,
                struct error *error)
{
    static bool swept;
    int channel = -1;
    int32_t status = 0;
    *answer = NULL;
    if (!swept)
        attach_sweep();
    swept = true;
    if (attach_refusal(process))
        return refuse(process, error);
    if (!has_proc(process->pid)) {
        error_set(error, ERROR_TARGET,
                  "process %d can't answer: it changed its root folder (chroot) and has no /proc, "
                  "so it can't check the client's rights",
                  process->pid);
        return error_hint(error, "start it with: memoir run -- COMMAND");
    }
    if (!channel_open(process, &channel, error))
        return false;
    bool ok = line_send(channel, line, fd) &&
              answer_take(process->pid, channel, answer_ms(line), &status, answer);
    int reason = errno;
    close(channel);
    if (!ok && reason == ESTOPPED)
        return refuse_stopped(process, error);
    if (!ok) {
        error_set(error, ERROR_TARGET, "process %d closed the connection: %s", process->pid,
                  reason == ECONNRESET
                      ? "it ended, executed another program or changed its credentials"
                      : strerror(reason));
        return error_hint(error, "try again: memoir ctl %d", process->pid);
    }
    if (status == 0)
        return true;
    if (status == EPERM && **answer == '\0') {
        free(*answer);
        *answer = NULL;
        return refuse_closed(process, error);
    }
    const char *text = strncmp(*answer, "error: ", 7) == 0 ? *answer + 7 : *answer;
    bool file = status == ENOSPC || status == EDQUOT || status == EFBIG || status == EIO;
    enum error_status kind = file ? ERROR_INPUT : ERROR_TARGET;
    if (*text)
        error_set(error, kind, "process %d: %.*s", process->pid, (int)strcspn(text, "\n"), text);
    else
        error_set(error, kind, "process %d: '%s': %s", process->pid, line, strerror(status));
    error->code = status;
    return false;
}

/* Says at length what attach_refusal says in short. */
static bool refuse(const struct process *process, struct error *error)
{
    pid_t pid = process->pid;
    struct passwd *owner = getpwuid(process->user);
    if (process->headless) {
        error_set(error, ERROR_TARGET,
                  "process %d can't be controlled: its main thread has ended, and the "
                  "kernel then hides the process's files",
                  pid);
        return error_hint(error, "start it with: memoir run --set dump.signal=12 -- COMMAND");
    }
    if (process->state == 'Z' || process->state == 'X')
        return error_set(error, ERROR_TARGET, "process %d has ended", pid);
    if (geteuid() != 0 && process->user != geteuid()) {
        error_set(error, ERROR_TARGET,
                  "process %d belongs to %s: only that user and root may control it", pid,
                  owner ? owner->pw_name : "another user");
        return error_hint(error, "sudo memoir ...");
    }
    if (process->closed && geteuid() != 0)
        return refuse_closed(process, error);
    if (process->library == PROCESS_WITHOUT) {
        error_set(error, ERROR_TARGET, "process %d runs without memoir: %.60s", pid,
                  process->command);
        return error_hint(error, "start it with: memoir run -- COMMAND");
    }
    if (process->library == PROCESS_UNKNOWN) {
        error_set(error, ERROR_TARGET,
                  "process %d: can't tell whether it runs with memoir, because the "
                  "kernel hides its files",
                  pid);
        return error_hint(error, "%s",
                          geteuid() == 0
                              ? "try again with CAP_SYS_PTRACE, which root may lack in a container "
                                "(docker run --cap-add SYS_PTRACE)"
                              : "sudo memoir ...");
    }
    if (process->secure)
        return error_set(error, ERROR_TARGET,
                         "process %d runs setuid, setgid or with file capabilities, and "
                         "therefore ignores control",
                         pid);
    if (process->unmapped) {
        error_set(error, ERROR_TARGET,
                  "process %d can't create a socket: its user is not mapped in its user "
                  "namespace",
                  pid);
        return error_hint(error, "map the user: unshare --map-root-user");
    }
    if (!hears_signal(process) && process->bell != PROCESS_BELL_HANGS)
        return refuse_deaf(process, error);
    return refuse_stopped(process, error);
}

/* The kernel protects the process from its own user, and the process refuses that user, too. */
static bool refuse_closed(const struct process *process, struct error *error)
{
    error_set(error, ERROR_TARGET,
              "process %d answers only root: the kernel protects it from its own "
              "user, because it dropped privileges or is not dumpable",
              process->pid);
    return geteuid() == 0 ? error_hint(error, "ask from the user namespace that it was started in")
                          : error_hint(error, "sudo memoir ...");
}

/* The signal does not get through, and there is no bell to ring. */
static bool refuse_deaf(const struct process *process, struct error *error)
{
    pid_t pid = process->pid;
    const char *how = process->deaf ? "all of its threads block SIGURG" : "it has reset SIGURG";
    if (process->bell == PROCESS_BELL_CLOSED) {
        error_set(error, ERROR_TARGET,
                  "process %d can't be controlled: %s, and writing to its memory is not "
                  "permitted: %s",
                  pid, how, strerror(process->bell_reason));
        return geteuid() == 0
                   ? error_hint(error, "start it with: memoir run --set dump.signal=12 -- COMMAND")
                   : error_hint(error, "sudo memoir ...");
    }
    if (process->deaf && process->bell != PROCESS_BELL_OFF) {
        error_set(error, ERROR_TARGET,
                  "process %d can't be controlled: all of its threads block SIGURG", pid);
        return error_hint(error, "unblock SIGURG in one of its threads");
    }
    if (process->filtered && process->bell == PROCESS_BELL_OFF) {
        error_set(error, ERROR_TARGET,
                  "process %d does not listen: its seccomp filter would kill it for "
                  "answering, or its option control is off",
                  pid);
        return error_hint(error, "allow the system calls that docs/CONTROL.md lists, or start it "
                                 "with: memoir run -- COMMAND");
    }
    error_set(error, ERROR_TARGET, "process %d does not listen: its option control is off%s", pid,
              process->bell == PROCESS_BELL_OFF ? "" : ", or the program has reset SIGURG");
    return error_hint(error, "start it with: memoir run --set control=on -- COMMAND");
}

static bool refuse_stopped(const struct process *process, struct error *error)
{
    if (process->frozen) {
        error_set(error, ERROR_TARGET, "process %d is frozen: its control group stands still",
                  process->pid);
        return error_hint(error, "thaw it: docker unpause, systemctl thaw, or write 0 to its "
                                 "cgroup.freeze");
    }
    if (process_state(process->pid) == 't') {
        error_set(error, ERROR_TARGET, "process %d is stopped by a debugger", process->pid);
        return error_hint(error, "let it go on there");
    }
    error_set(error, ERROR_TARGET, "process %d is stopped", process->pid);
    return error_hint(error, "kill -CONT %d", process->pid);
}

static bool channel_open(const struct process *process, int *channel, struct error *error)
{
    unsigned asleep = 0;
    struct timespec pause = {0, TRY_MS * 1000000L};
    struct process target = *process;
    unsigned wait_ms = CALL_MS;
    int threadless = 0;
    for (unsigned i = 0; i < wait_ms / TRY_MS; i++) {
        *channel = channel_try(process);
        if (*channel >= 0)
            return true;
        if (i > 0 && i % CALL_EVERY == 0 && !still_there(&target, &asleep, error))
            return false;
        pid_t thread = i == 0 ? process_calmest_thread(process) : 0;
        if (i % CALL_EVERY == 0 && hears_signal(&target) && !process_call(process, thread, error))
            return false;
        if (i % CALL_EVERY == 0 && (i > 0 || !hears_signal(&target))) {
            bell_look(&target, true);
            threadless = target.threadless != 0 ? target.threadless : threadless;
            if (target.bell == PROCESS_BELL_HANGS)
                wait_ms = process->wait_ms > 0 ? process->wait_ms : BELL_MS;
            if (threadless != 0 && wait_ms > CALL_MS)
                wait_ms = CALL_MS;
        }
        nanosleep(&pause, NULL);
    }
    if (threadless != 0)
        return refuse_threadless(process->pid, threadless, error);
    if (target.bell == PROCESS_BELL_HANGS) {
        error_set(error, ERROR_TARGET,
                  "process %d did not answer within %g s: the program uses SIGURG "
                  "itself, so the library answers at the next allocation; or it may not "
                  "open a socket",
                  process->pid, wait_ms / 1000.0);
        return error_hint(error, "try again while it allocates: memoir ctl %d", process->pid);
    }
    error_set(error, ERROR_TARGET,
              "process %d did not answer within %d s: the program handles SIGURG "
              "itself, is too busy, or may not open a socket",
              process->pid, CALL_MS / 1000);
    if (target.bell == PROCESS_BELL_CLOSED && geteuid() != 0)
        return error_hint(error, "try sudo memoir ..., which can reach it without the signal");
    return error_hint(error, "grep -E 'Seccomp|SigCgt|State' /proc/%d/status", process->pid);
}

static bool has_proc(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root/proc/self", pid);
    struct stat found;
    return lstat(path, &found) == 0 || errno != ENOENT;
}

static bool refuse_threadless(pid_t pid, int reason, struct error *error)
{
    error_set(error, ERROR_TARGET, "process %d can't start the two threads that answer: %s", pid,
              reason == EAGAIN ? "its user has as many threads as the limit allows (ulimit -u, or "
                                 "pids.max of its control group)"
                               : strerror(reason));
    return reason == EAGAIN ? error_hint(error, "prlimit --nproc=1000 --pid %d", pid)
                            : error_hint(error, "cat /proc/%d/limits", pid);
}

/* A connection to the process, or -1. */
static int channel_try(const struct process *process)
{
    for (unsigned i = 0; i < 2 * ATTACH_FOLDERS; i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct ucred ids = {0, 0, 0};
        socklen_t size = sizeof ids;
        struct print path;
        /* As the process sees it; and for those whose /proc/PID/root is closed to us, as we do. */
        print_start(&path, address.sun_path, sizeof address.sun_path);
        if (i < ATTACH_FOLDERS)
            print_format(&path, "/proc/%d/root", process->pid);
        attach_folder(i % ATTACH_FOLDERS, process->inner_user, &path);
        if (!folder_is_right(print_string(&path), process->user))
            continue;
        print_format(&path, "/%d.sock", process->inner_pid);
        print_string(&path);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ids, &size) == 0 && ids.pid == process->pid)
            return fd;
        close(fd);
    }
    return -1;
}

static bool folder_is_right(const char *path, unsigned user)
{
    struct stat found;
    return lstat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == user &&
           (found.st_mode & 07777) == 0700;
}

/* Looks at the process again, a while after it was called: it may have ended or stopped, become
 * another program, hear signals that it had blocked for a moment, or sleep where none wakes it.
 * `asleep` counts how often it did. */
static bool still_there(struct process *process, unsigned *asleep, struct error *error)
{
    /* Calls, 0.3 s apart: a read of a slow disk is over by then, a dead NFS server is not. */
    enum { ASLEEP_MAX = 4 };
    pid_t pid = process->pid;
    if (!process_read(process, pid))
        return error_set(error, ERROR_TARGET, "process %d has ended", pid);
    if (attach_refusal(process))
        return refuse(process, error);
    *asleep = process_state(process->pid) == 'D' ? *asleep + 1 : 0;
    if (*asleep < ASLEEP_MAX)
        return true;
    error_set(error, ERROR_TARGET,
              "process %d can't receive signals: all of its threads wait in the "
              "kernel, for a disk, a network file system or a child of vfork (state "
              "D)",
              process->pid);
    return error_hint(error, "try again later: memoir ctl %d", process->pid);
}

/* Queues the signal, for one thread or (0) for whichever the kernel likes. */
static bool process_call(const struct process *process, pid_t thread, struct error *error)
{
    siginfo_t info = {0};
    info.si_signo = ATTACH_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = ATTACH_VALUE;
    long got = thread > 0
                   ? syscall(SYS_rt_tgsigqueueinfo, process->pid, thread, ATTACH_SIGNAL, &info)
                   : syscall(SYS_rt_sigqueueinfo, process->pid, ATTACH_SIGNAL, &info);
    if (got == 0 || (thread > 0 && errno == ESRCH))
        return true;
    return errno == ESRCH ? error_set(error, ERROR_TARGET, "process %d has ended", process->pid)
                          : error_set(error, ERROR_TARGET, "process %d can't be signalled: %s",
                                      process->pid, strerror(errno));
}

static bool line_send(int channel, const char *line, int fd)
{
    struct attach_request request = {ATTACH_REQUEST, (uint32_t)strlen(line)};
    struct iovec parts[] = {{&request, sizeof request}, {(char *)line, request.length}};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(channel, &message, MSG_NOSIGNAL) > 0;
}

/* How long the answer may take. `leaks MS` watches the process for that long at first. */
static unsigned answer_ms(const char *line)
{
    static const char watching[] = "leaks ";
    unsigned long ms = strncmp(line, watching, sizeof watching - 1) == 0
                           ? strtoul(line + sizeof watching - 1, NULL, 10)
                           : 0;
    return ANSWER_MS + (ms > WATCH_MAX_MS ? WATCH_MAX_MS : (unsigned)ms);
}

static bool answer_take(pid_t pid, int channel, unsigned ms_max, int32_t *status, char **answer)
{
    struct attach_answer head = {0};
    ssize_t got = packet_take(pid, channel, ms_max, &head, sizeof head);
    if (got < 0)
        return false;
    errno = got == 0 ? ECONNRESET : EPROTO;
    if (got != (ssize_t)sizeof head || head.magic != ATTACH_ANSWER || head.length > ATTACH_TEXT_MAX)
        return false;
    *status = head.status;
    char *text = calloc(1, (size_t)head.length + 1);
    if (!text)
        return false;
    for (size_t at = 0; at < head.length; at += (size_t)got) {
        got = packet_take(pid, channel, ANSWER_MS, text + at, head.length - at);
        if (got <= 0) {
            errno = got == 0 ? ECONNRESET : errno;
            free(text);
            return false;
        }
    }
    terminal_clean(text, head.length);
    *answer = text;
    return true;
}

/* One packet, within the time that an answer may take; a stopped process takes none. */
static ssize_t packet_take(pid_t pid, int channel, unsigned ms_max, void *buffer, size_t size)
{
    /* Between two looks at whether it was stopped, while nothing is to be read. */
    enum { LOOK_MS = 500 };
    struct pollfd one = {channel, POLLIN, 0};
    char state = 0;
    int ready = 0;
    for (unsigned i = 0; i < ms_max / LOOK_MS && ready == 0 && state != 'T' && state != 't'; i++) {
        ready = poll(&one, 1, LOOK_MS);
        state = ready == 0 ? process_state(pid) : 0;
    }
    if (ready == 0)
        errno = state == 'T' || state == 't' ? ESTOPPED : ETIMEDOUT;
    return ready > 0 ? recv(channel, buffer, size, 0) : -1;
}

const char *attach_fact(const char *answer, const char *key)
{
    size_t length = strlen(key);
    for (; *answer; answer += strcspn(answer, "\n"), answer += *answer == '\n')
        if (strncmp(answer, key, length) == 0 && answer[length] == ':')
            return answer + length + 1;
    return NULL;
}

void attach_sweep(void)
{
    for (unsigned which = 0; which < ATTACH_FOLDERS; which++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct dirent *entry;
        struct print path;
        print_start(&path, address.sun_path, sizeof address.sun_path);
        attach_folder(which, geteuid(), &path);
        DIR *listing =
            folder_is_right(print_string(&path), geteuid()) ? opendir(address.sun_path) : NULL;
        size_t length = strlen(address.sun_path);
        while (listing && (entry = readdir(listing))) {
            pid_t pid = atoi(entry->d_name);
            snprintf(address.sun_path + length, sizeof address.sun_path - length, "/%d.sock", pid);
            if (pid > 0 && is_left_over(pid, address.sun_path) &&
                os_socket_is_dead(address.sun_path))
                unlink(address.sun_path);
        }
        if (listing)
            closedir(listing);
    }
}

/* Whether the process of a socket is gone, or another one may have its number by now. A helper
 * binds its socket a moment before it listens, so a young socket of a live process is left alone.
 */
static bool is_left_over(pid_t pid, const char *path)
{
    /* Seconds: file systems keep whole ones, and two clocks may disagree by one. */
    enum { YOUNG_S = 2 };
    struct stat found;
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    return lstat(path, &found) == 0 && time(NULL) - found.st_mtime > YOUNG_S;
}
