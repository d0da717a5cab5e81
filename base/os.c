/* SPDX-License-Identifier: MIT */
/*
 * See base/os.h: threads, time, files and signals. One kernel call a function; the few that do more
 * say why. Calls go to the kernel directly: libc's wrappers set errno, may be replaced by the
 * program or a sandbox, and some take locks. Exceptions: sigaction, which installs
 * libc's return from handlers, clock_gettime, mostly without a system call, and getauxval.
 */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os_call.h"

/* Values of the kernel's interface that older headers lack. */
enum {
    CURRENT_DIRECTORY = -100,
};

size_t os_page_size(void)
{
    static size_t known;
    size_t size = load_relaxed(&known);
    if (unlikely(size == 0)) {
        size = getauxval(AT_PAGESZ);
        size = size == 0 ? 4096 : size;
        store_relaxed(&known, size);
    }
    return size;
}

uintptr_t os_break(void)
{
    return (uintptr_t)call3(SYS_brk, 0, 0, 0);
}

pid_t os_pid(void)
{
    return (pid_t)call3(SYS_getpid, 0, 0, 0);
}

bool os_static(void)
{
    return getauxval(AT_BASE) == 0;
}

bool os_thread_of_alive(pid_t process, pid_t tid)
{
    return confined(CONFINE_THREADS) || call3(SYS_tgkill, process, tid, 0) != -ESRCH;
}

void os_thread_name(char *name)
{
    if (confined(CONFINE_NAMES) || call3(SYS_prctl, PR_GET_NAME, (long)name, 0) != 0)
        name[0] = '\0';
}

unsigned os_node(void)
{
    unsigned cpu = 0, node = 0;
    if (arch_node(&node) || confined(CONFINE_NODE))
        return node;
    return call3(SYS_getcpu, (long)&cpu, (long)&node, 0) == 0 ? node : 0;
}

void os_wait(uint32_t *word, uint32_t value, uint32_t timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    arch_syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value,
                 timeout_ms == 0 ? 0 : (long)&timeout, 0, 0);
}

void os_wait_shared(uint32_t *word, uint32_t value, uint32_t timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    arch_syscall(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&timeout, 0, 0);
}

void os_wake_shared(uint32_t *word)
{
    call3(SYS_futex, (long)word, FUTEX_WAKE, 1);
}

void os_wake(uint32_t *word, int count)
{
    call3(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count);
}

uint64_t os_random(void)
{
    enum { NONBLOCK = 1 };
    uint64_t value = 0;
    if (call3(SYS_getrandom, (long)&value, sizeof value, NONBLOCK) == sizeof value)
        return value;
    const uint64_t *seed = (const uint64_t *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */
    return (seed == NULL ? 0 : seed[0] ^ seed[1]) ^ hash_word(os_now_ms());
}

int os_open(const char *path, int flags, int mode)
{
    if (confined(CONFINE_OPEN))
        return -EPERM;
    return (int)arch_syscall(SYS_openat, CURRENT_DIRECTORY, (long)path, flags, mode, 0, 0);
}

int os_open_own(const char *of_thread, const char *of_process)
{
    int fd = os_open(of_thread, O_RDONLY | O_CLOEXEC, 0);
    return fd >= 0 ? fd : os_open(of_process, O_RDONLY | O_CLOEXEC, 0);
}

ssize_t os_read(int fd, void *buffer, size_t size)
{
    return call3(SYS_read, fd, (long)buffer, (long)size);
}

bool os_again(ssize_t got, unsigned *tries)
{
    enum { TRIES_MAX = 10000 }; /* a handler that never lets the call through must not hold us */
    return got == -EINTR && ++*tries < TRIES_MAX;
}

ssize_t os_read_at(int fd, void *buffer, size_t size, uint64_t at)
{
    return arch_syscall(SYS_pread64, fd, (long)buffer, (long)size, (long)at, 0, 0);
}

ssize_t os_write(int fd, const void *buffer, size_t size)
{
    return call3(SYS_write, fd, (long)buffer, (long)size);
}

int os_close(int fd)
{
    return (int)call3(SYS_close, fd, 0, 0);
}

ssize_t os_link(const char *path, char *target, size_t size)
{
    return arch_syscall(SYS_readlinkat, CURRENT_DIRECTORY, (long)path, (long)target, (long)size, 0,
                        0);
}

size_t os_directory(char *path, size_t size)
{
    long length = call3(SYS_getcwd, (long)path, (long)size, 0); /* the end included */
    return length > 1 && path[0] == '/' ? (size_t)length - 1 : 0;
}

int os_memory_file(const char *title)
{
    enum { CLOSE_ON_EXEC = 1 };
    return (int)call3(SYS_memfd_create, (long)title, CLOSE_ON_EXEC, 0);
}

int os_duplicate(int fd)
{
    /* High, since programs compare descriptors with small numbers, and count on the lowest. */
    enum { DUPLICATE_CLOEXEC = 1030, FROM = 200 };
    long got = call3(SYS_fcntl, fd, DUPLICATE_CLOEXEC, FROM);
    return failed(got) ? fd : (int)got;
}

int os_move_up(int fd)
{
    int up = os_duplicate(fd);
    if (up != fd)
        os_close(fd);
    return up;
}

void os_host(char *name, size_t size)
{
    struct utsname machine;
    size_t length = 0;
    if (call3(SYS_uname, (long)&machine, 0, 0) == 0) {
        length = strlen(machine.nodename);
        length = length < size ? length : size - 1;
        memcpy(name, machine.nodename, length);
    }
    name[length] = '\0';
}

int os_rename(const char *from, const char *to, bool replace)
{
    enum { NOREPLACE = 1 };
    if (replace)
        return (int)arch_syscall(SYS_renameat, CURRENT_DIRECTORY, (long)from, CURRENT_DIRECTORY,
                                 (long)to, 0, 0);
    long got = arch_syscall(SYS_renameat2, CURRENT_DIRECTORY, (long)from, CURRENT_DIRECTORY,
                            (long)to, NOREPLACE, 0);
    if (got != -EINVAL && got != -ENOSYS)
        return (int)got;
    /* Not every file system knows the flag; a hard link never replaces a file, either. */
    got =
        arch_syscall(SYS_linkat, CURRENT_DIRECTORY, (long)from, CURRENT_DIRECTORY, (long)to, 0, 0);
    if (got == 0)
        os_unlink(from);
    return (int)got;
}

int os_unlink(const char *path)
{
    return (int)call3(SYS_unlinkat, CURRENT_DIRECTORY, (long)path, 0);
}

enum os_file os_file_at(const char *path)
{
    struct stat about = {0};
    if (arch_syscall(SYS_newfstatat, CURRENT_DIRECTORY, (long)path, (long)&about,
                     AT_SYMLINK_NOFOLLOW, 0, 0) != 0)
        return OS_FILE_NONE;
    switch (about.st_mode & S_IFMT) {
    case S_IFREG:
        return OS_FILE_PLAIN;
    case S_IFDIR:
        return OS_FILE_FOLDER;
    case S_IFLNK:
        return OS_FILE_LINK;
    case S_IFCHR:
        return OS_FILE_STREAM;
    default:
        return OS_FILE_OTHER;
    }
}

struct os_file_id os_file_id(int fd)
{
    struct stat about = {0};
    if (call3(SYS_fstat, fd, (long)&about, 0) != 0)
        return (struct os_file_id){0, 0};
    return (struct os_file_id){about.st_dev, about.st_ino};
}

bool os_file_is(int fd, struct os_file_id id)
{
    struct os_file_id now = os_file_id(fd);
    return fd >= 0 && now.device == id.device && now.inode == id.inode;
}

int os_open_again(const char *path, int flags, struct os_file_id id)
{
    int fd = os_open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return -1;
    if (os_file_is(fd, id))
        return os_move_up(fd);
    os_close(fd);
    return -1;
}

int os_file_flags(int fd)
{
    return (int)call3(SYS_fcntl, fd, F_GETFL, 0);
}

bool os_closes_on_exec(int fd)
{
    long flags = call3(SYS_fcntl, fd, F_GETFD, 0);
    return flags >= 0 && (flags & FD_CLOEXEC);
}

bool os_is_terminal(int fd)
{
    struct termios about;
    return call3(SYS_ioctl, fd, TCGETS, (long)&about) == 0;
}

bool os_is_pipe(int fd)
{
    struct stat about = {0};
    return call3(SYS_fstat, fd, (long)&about, 0) == 0 && S_ISFIFO(about.st_mode);
}

void os_folder_rewind(int fd)
{
    call3(SYS_lseek, fd, 0, SEEK_SET);
}

ssize_t os_folder_read(int fd, void *buffer, size_t size)
{
    return call3(SYS_getdents64, fd, (long)buffer, (long)size);
}

bool os_lock_file(int fd)
{
    return call3(SYS_flock, fd, LOCK_EX | LOCK_NB, 0) == 0;
}

bool os_lock_for_process(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return call3(SYS_fcntl, fd, F_SETLK, (long)&whole) == 0;
}

/* Where the file system can't give space ahead, zeros are written. */
static int zeros_write(int fd, uint64_t from, uint64_t size)
{
    static const BULK_CONSTANT char zeros[4096];
    for (uint64_t at = from; at < size;) {
        uint64_t more = size - at < sizeof zeros ? size - at : sizeof zeros;
        long got = arch_syscall(SYS_pwrite64, fd, (long)zeros, (long)more, (long)at, 0, 0);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? -ENOSPC : (int)got;
        at += (uint64_t)got;
    }
    return 0;
}

int os_file_grow(int fd, uint64_t from, uint64_t size)
{
    unsigned tries = 0;
    long got;
    if (size > os_limit(RLIMIT_FSIZE))
        return -EFBIG;
    do
        got = arch_syscall(SYS_fallocate, fd, 0, (long)from, (long)(size - from), 0, 0);
    while (os_again(got, &tries));
    return got == -EOPNOTSUPP || got == -ENOSYS ? zeros_write(fd, from, size) : (int)got;
}

bool os_file_copies(int fd)
{
    static const uint32_t kinds[] = {0x9123683e /* btrfs */, 0x2fc12fc1 /* ZFS */,
                                     0xca451a4e /* bcachefs */};
    struct statfs about = {0};
    if (call3(SYS_fstatfs, fd, (long)&about, 0) != 0)
        return false;
    for (unsigned i = 0; i < COUNT_OF(kinds); i++)
        if ((uint32_t)about.f_type == kinds[i])
            return true;
    return false;
}

bool os_process_alive(pid_t pid)
{
    return call3(SYS_kill, pid, 0, 0) != -ESRCH;
}

uint64_t os_memory_size(void)
{
    struct sysinfo system = {0};
    if (arch_syscall(SYS_sysinfo, (long)&system, 0, 0, 0, 0, 0) != 0)
        return UINT64_MAX;
    return (uint64_t)system.totalram * system.mem_unit;
}

uint64_t os_limit(int resource)
{
    uint64_t pair[2] = {UINT64_MAX, UINT64_MAX}; /* soft, hard */
    arch_syscall(SYS_prlimit64, 0, resource, 0, (long)pair, 0, 0);
    return pair[0];
}

bool os_signal(int number, void (*handler)(int number))
{
    /* libc's own call: it sets the return from the handler, and refuses libc's own signals. */
    struct sigaction action = {0}, before;
    if (sigaction(number, NULL, &before) != 0 || before.sa_flags & SA_SIGINFO ||
        (before.sa_handler != SIG_DFL && before.sa_handler != handler))
        return false;
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | alternate_flag((const void *)handler);
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

static uint64_t signal_bit(int number)
{
    return (uint64_t)1 << (number - 1);
}

void os_signals_set(uint64_t mask, uint64_t *before)
{
    enum { SET = 2 }; /* SIG_SETMASK */
    arch_syscall(SYS_rt_sigprocmask, SET, (long)&mask, (long)before, sizeof mask, 0, 0);
}

uint64_t os_signals_held(void)
{
    return ~(signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) | signal_bit(SIGILL) |
             signal_bit(SIGTRAP) | signal_bit(SIGSYS) | signal_bit(SIGABRT));
}

void os_signals_hold(struct os_signals *before)
{
    *before = (struct os_signals){0, 0};
    call3(SYS_rt_sigpending, (long)&before->pending, sizeof before->pending, 0);
    os_signals_set(os_signals_held(), &before->mask);
}

uint64_t os_signals_pending(void)
{
    uint64_t pending = 0;
    if (!confined(CONFINE_SIGNALS))
        call3(SYS_rt_sigpending, (long)&pending, sizeof pending, 0);
    return pending;
}

void os_signals_release(const struct os_signals *before)
{
    uint64_t ours = (signal_bit(SIGPIPE) | signal_bit(SIGXFSZ)) & ~before->pending;
    struct timespec at_once = {0, 0};
    /* Terminates: each turn removes a pending signal, and each of the two is pending at most once
     * for the thread and once for the process. */
    while (arch_syscall(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&at_once, sizeof ours, 0, 0) > 0)
        continue;
    os_signals_set(before->mask, NULL);
}

int os_write_whole(int fd, const void *buffer, size_t size)
{
    const char *at = buffer;
    unsigned tries = 0;
    while (size > 0) {
        ssize_t wrote = os_write(fd, at, size);
        if (os_again(wrote, &tries))
            continue;
        if (wrote <= 0)
            return wrote == 0 ? EIO : (int)-wrote;
        at += wrote;
        size -= (size_t)wrote;
    }
    return 0;
}

/* Other signals are not blocked: a write to a full pipe may take long. */
void os_write_all(int fd, const void *buffer, size_t size)
{
    uint64_t ours = signal_bit(SIGPIPE) | signal_bit(SIGXFSZ);
    struct os_signals before = {0, 0};
    call3(SYS_rt_sigpending, (long)&before.pending, sizeof before.pending, 0);
    arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&ours, (long)&before.mask, sizeof ours, 0, 0);
    os_write_whole(fd, buffer, size);
    os_signals_release(&before);
}

uint64_t os_signals_blocked(void)
{
    uint64_t mask = 0;
    arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof mask, 0, 0);
    return mask;
}

void os_signals_unblock(uint64_t set)
{
    arch_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof set, 0, 0);
}

/* The kernel's structure for a signal. */
struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static void action_plain(int number)
{
    struct action plain = {0};
    arch_syscall(SYS_rt_sigaction, number, (long)&plain, 0, sizeof plain.mask, 0, 0);
}

void os_signal_drop(int number, void (*handler)(int number))
{
    struct action now = {0};
    arch_syscall(SYS_rt_sigaction, number, 0, (long)&now, sizeof now.mask, 0, 0);
    if (now.handler == handler)
        action_plain(number);
}

void os_signal_process(int number)
{
    call3(SYS_kill, os_pid(), number, 0);
}

void os_signal_thread(int number)
{
    /* In a child made by vfork, libc has the parent's id. */
    call3(SYS_tgkill, os_pid(), call3(SYS_gettid, 0, 0, 0), number);
}

bool os_signal_queue(pid_t tid, int number, uintptr_t value)
{
    siginfo_t info = {0};
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = os_pid();
    info.si_value.sival_ptr = (void *)value;
    return arch_syscall(SYS_rt_tgsigqueueinfo, os_pid(), tid, number, (long)&info, 0, 0) == 0;
}

void os_signal_again(int number, const void *info)
{
    arch_syscall(SYS_rt_tgsigqueueinfo, os_pid(), os_tid(), number, (long)info, 0, 0);
}

bool os_is_filtered(void)
{
    enum { GET_SECCOMP = 21 };
    long got = call3(SYS_prctl, GET_SECCOMP, 0, 0);
    return got != 0 && got != -EINVAL; /* such a kernel, or qemu, has no filters */
}

bool os_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

_Noreturn void os_exit(int code)
{
    for (;;)
        call3(SYS_exit_group, code, 0, 0);
}

_Noreturn void os_abort(void)
{
    /* What abort() does, without its lock and without flushing: first run the program's handler,
     * then make sure that the process ends. */
    os_signal_thread(SIGABRT);
    action_plain(SIGABRT);
    os_signals_set(0, NULL);
    for (;;) {
        os_signal_thread(SIGABRT);
        call3(SYS_exit_group, 127, 0, 0);
    }
}
