/* SPDX-License-Identifier: MIT */
/*
 * Every kernel call of the library, and nothing else of the host: raw system calls, so that no
 * libc lock, errno or interposer stands between the allocator and the kernel. All functions may run
 * in a signal handler and before libc is initialised. Failures come back as NULL, false or a
 * negative errno value; errno itself is never touched.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's page size, found at the first call. */
size_t os_page_size(void);

/* Maps `size` bytes of zeroed, private, writable memory at exactly `at`, and never replaces a
 * mapping. 0; -EEXIST if the address is taken; or another negative errno. */
int os_map_at(void *at, size_t size);
/* The same at any address. NULL if memory is out. */
void *os_map(size_t size);
/* Whether the kernel's setting for overcommit grants a mapping of this size. True if it could not
 * be made anyway, for lack of addresses. */
bool os_overcommits(size_t size);
/* In huge pages of 1 << shift bytes that the system has set aside. NULL: it has too few. */
void *os_map_huge(size_t size, unsigned shift);
/* The same, shared with children. */
void *os_map_shared(size_t size);
/* Replaces whatever is mapped there by fresh memory. */
bool os_map_over(void *at, size_t size);
bool os_unmap(void *at, size_t size);
/* Moves the pages of [from, from + size) to `to`, which must be a mapping of the same size. Moved:
 * `from` is still mapped and reads as zero. Stayed: both are as before, except for the contents of
 * `to`. Lost: stayed, and nothing is mapped at `to` any more. */
enum os_moved { OS_MOVED, OS_STAYED, OS_LOST };
enum os_moved os_move(void *from, void *to, size_t size);

/* Addresses that nothing else gets, without memory. NULL when there are none. */
void *os_reserve(size_t size);
/* Puts a part of a file there, for all processes that map it. `at`, `size`, `from`: whole pages. */
bool os_map_file(void *at, size_t size, int fd, uint64_t from);

/* Makes the range, whole pages, writable or read-only. */
bool os_protect(void *at, size_t size, bool writable);

/* Makes the range readable and writable, or inaccessible. */
bool os_access(void *at, size_t size, bool open);
/* Makes the pages guards, which lose their contents and can't be touched, or ordinary pages again,
 * without a mapping for each. False on kernels before 6.13, and for locked memory. */
bool os_guard(void *at, size_t size, bool on);
/* Brings pages into memory that are about to be written to: less than a fault for each. Linux 5.14;
 * nothing happens elsewhere. */
void os_populate(void *at, size_t size);

/* Gives the pages back; the range stays mapped and reads as zero afterwards. */
bool os_return(void *at, size_t size);
/* Whether the kernel may or should back the range with huge pages. */
void os_huge(void *at, size_t size, bool wanted);
/* Marks the range to read as zero in a child after any kind of fork. False on old kernels. */
bool os_wipe_on_fork(void *at, size_t size);
/* How many mappings a process may have (vm.max_map_count). */
uint64_t os_mappings_max(void);
/* How many bytes of the range are in memory now. A range of more than `parts_max` parts of 1,024
 * pages is looked at in that many places, which stand for the rest. */
enum { OS_ALL_PARTS = INT32_MAX };
size_t os_resident(void *at, size_t size, size_t parts_max);

/* Whether the bytes can be read. */
bool os_readable(const void *at, size_t size);
/* Copies memory that may not be mapped; false if it is not. May run in a signal handler. */
bool os_peek(void *to, uintptr_t from, size_t size);
/* Whether the word can be read and is not 0. Safe for any address, even if it is unmapped
 * meanwhile; needs no system call that a filter may deny. */
bool os_word_is_set(const uint32_t *word);
/* Whether the word could be written to just now. Safe in the same way; the word stays as it is. */
bool os_word_is_writable(uint32_t *word);
/* The end of the heap segment that brk moves. */
uintptr_t os_break(void);

pid_t os_pid(void);
/* Whether the program was started without a loader. In such a program dlsym finds nothing, and libc
 * allocates an error message about that. */
bool os_static(void);
/* The calling thread's id: from libc's memory once `os_tid_learn` has found where it is, else from
 * the kernel. In a child made by vfork it may be the parent's. */
pid_t os_tid(void);
/* Finds where libc keeps the id, the first time. When dlsym may be called, and not at start: it
 * reads a part of libc that programs with one thread have no other need of. */
void os_tid_learn(void);
/* This process's memory is its own from now on; called once, at start. */
void os_memory_claim(void);
/* In a forked child, before its first os_tid. */
void os_tid_forked(void);
/* Whether this is the process's first thread: in a forked child, the one that forked. */
bool os_is_first_thread(void);
/* Whether the process has this thread and it has not ended. */
bool os_thread_of_alive(pid_t process, pid_t tid);
static inline bool os_thread_alive(pid_t tid)
{
    return os_thread_of_alive(os_pid(), tid);
}
/* Whether this process runs in its parent's memory (vfork, CLONE_VM). Also true in a forked child,
 * until its first `os_tid_forked`. */
bool os_memory_is_borrowed(pid_t process); /* the calling one */
static inline bool os_shares_memory(void)
{
    return os_memory_is_borrowed(os_pid());
}
/* Whether a thread of the process that owns this memory has ended. Never true in a child that
 * shares it: the kernel does not show it the threads of its parent. */
static inline bool os_thread_gone(pid_t tid)
{
    pid_t process = os_pid();
    return !os_memory_is_borrowed(process) && !os_thread_of_alive(process, tid);
}
/* The calling thread's name, at most 16 bytes with its end. */
void os_thread_name(char *name);
/* The memory node of the CPU that runs this thread; 0 where there is one only. */
unsigned os_node(void);

/* Sleeps while *word == value, for at most `timeout_ms` (0: for ever). */
void os_wait(uint32_t *word, uint32_t value, uint32_t timeout_ms);
void os_wake(uint32_t *word, int count);
/* The same between processes, on a word of shared memory; at least 1 ms. */
void os_wait_shared(uint32_t *word, uint32_t value, uint32_t timeout_ms);
void os_wake_shared(uint32_t *word);

/* Milliseconds, never going back, with the resolution of the kernel's tick. */
uint64_t os_now_ms(void);
/* The same clock in full resolution; slower. */
uint64_t os_now_ns(void);
/* Nanoseconds since 1970, by the kernel's clock. */
uint64_t os_wall_ns(void);
/* Eight bytes from the kernel's random pool, or the next best thing early at boot. */
uint64_t os_random(void);

int os_open(const char *path, int flags, int mode);
/* Opens a file of /proc/thread-self for reading, or the same of /proc/self: the process's are empty
 * once its first thread has ended, and old kernels have no others. */
int os_open_own(const char *of_thread, const char *of_process);
ssize_t os_read(int fd, void *buffer, size_t size);
/* Whether a call that returned `got` was interrupted by a signal and must be made again. Counts in
 * `*tries`; after 10,000 interrupted calls the answer is no. */
bool os_again(ssize_t got, unsigned *tries);
/* Reads at an offset; the file's own position does not change. */
ssize_t os_read_at(int fd, void *buffer, size_t size, uint64_t at);
/* The memory of this process, by the kernel: an address that is not mapped is an error, no fault.
 * A process that gave up root may not open its own memory, but may read it by another call. Under
 * an emulator both may be about the emulator's memory: a file is written and read then. -1: none of
 * these works. The reading process opens it: a forked child's is another. */
int os_memory_open(void);
ssize_t os_memory_read(int memory, void *buffer, size_t size, uintptr_t from);
void os_memory_close(int memory);
ssize_t os_write(int fd, const void *buffer, size_t size);
int os_close(int fd);
/* The working directory, without a terminator; its length, 0 if it is not known. */
size_t os_directory(char *path, size_t size);
/* The target of a symbolic link, without a terminator; its length or a negative errno. */
ssize_t os_link(const char *path, char *target, size_t size);
/* A file without a name, in memory. */
int os_memory_file(const char *title);
/* A second descriptor for the same file with a high number, as programs expect the low ones; the
 * same descriptor if that fails. */
int os_duplicate(int fd);
/* Moves a descriptor there, out of the program's way. */
int os_move_up(int fd);
/* Writes everything, or gives up: 0 or an errno. Continues after short writes and EINTR. */
int os_write_whole(int fd, const void *buffer, size_t size);
/* The same, where a closed pipe and the limit on the size of files do not end the program: SIGPIPE
 * and SIGXFSZ are dropped. */
void os_write_all(int fd, const void *buffer, size_t size);

/* The machine's name, at most `size` - 1 bytes of it, or "". */
void os_host(char *name, size_t size);

/* Names of files. 0 or a negative errno. Without `replace`, -EEXIST if there is something at `to`.
 */
int os_rename(const char *from, const char *to, bool replace);
int os_unlink(const char *path);
/* The kind of a file, without following a symbolic link. */
enum os_file {
    OS_FILE_NONE,
    OS_FILE_PLAIN,
    OS_FILE_FOLDER,
    OS_FILE_LINK,
    OS_FILE_STREAM, /* a device of characters: /dev/null, a terminal */
    OS_FILE_OTHER
};
enum os_file os_file_at(const char *path);
/* Identifies the file of a descriptor; all 0 if it is not open. */
struct os_file_id {
    uint64_t device, inode;
};
struct os_file_id os_file_id(int fd);
/* Whether the descriptor is open, and on that file. */
bool os_file_is(int fd, struct os_file_id id);
/* Opens a file by its name again, at a high number, after the program closed our descriptor. -1:
 * the name leads to another file, or to none. */
int os_open_again(const char *path, int flags, struct os_file_id id);
/* The flags with which it was opened (O_APPEND, O_WRONLY, ...), or a negative errno. */
int os_file_flags(int fd);
bool os_closes_on_exec(int fd);
bool os_is_terminal(int fd);
/* ioctl; negative: an errno. */
long os_control(int fd, uint64_t request, void *argument);
/* A userfaultfd for faults of the program's own code, or a negative errno. */
int os_faults_open(void);
bool os_is_pipe(int fd);
/* Goes back to the beginning of an open folder. */
void os_folder_rewind(int fd);
/* The next names of an open folder into `buffer`, as getdents64 lays them out. */
ssize_t os_folder_read(int fd, void *buffer, size_t size);
/* One of these names; the next one is `length` bytes behind. */
struct os_folder_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};
/* Takes the lock of flock without waiting; it ends with the last copy of the descriptor. False if
 * another process has it. */
bool os_lock_file(int fd);

/* Takes the lock that fcntl knows, without waiting: it is the process's, no child of it has it, and
 * it goes when the process ends, starts another program or closes the file. */
bool os_lock_for_process(int fd);
/* Gives the file disk space or memory up to `size`, so that writing to a mapping of it can't fail;
 * 0 or a negative errno. The limit on the size of files is -EFBIG, without a signal. */
int os_file_grow(int fd, uint64_t from, uint64_t size);
/* Whether the file lies where what was given to it can still be missing when it is written to: a
 * file system that copies what is overwritten. */
bool os_file_copies(int fd);

/* Whether a process of that id exists, as far as we can see. */
bool os_process_alive(pid_t pid);
/* The machine's memory in bytes, without swap. */
uint64_t os_memory_size(void);
/* The soft limit of getrlimit; UINT64_MAX: none. */
uint64_t os_limit(int resource);
/* Installs `handler` for the signal, with all other signals blocked while it runs; false if the
 * program has a handler for it, or there is no such signal. */
bool os_signal(int number, void (*handler)(int number));
/* Blocks all signals of this thread, except those of its own faults, until they are released.
 * Signals that our own writes caused meanwhile (SIGPIPE, SIGXFSZ) are dropped. */
struct os_signals {
    uint64_t mask, pending;
};
void os_signals_hold(struct os_signals *before);
/* Which they are, a bit each. */
uint64_t os_signals_held(void);
void os_signals_release(const struct os_signals *before);
/* Sets the signals that this thread blocks, a bit each; `before`, or NULL, gets the previous set.
 */
void os_signals_set(uint64_t mask, uint64_t *before);
/* Which signals wait for this thread, because it blocks them. */
uint64_t os_signals_pending(void);
/* Which signals this thread blocks. */
uint64_t os_signals_blocked(void);
/* Unblocks these signals for this thread, a bit each. */
void os_signals_unblock(uint64_t set);
/* Restores the default action of the signal, if its handler is `handler`. */
void os_signal_drop(int number, void (*handler)(int number));
/* Sends it to one thread of the process, with a value that its handler sees. */
bool os_signal_queue(pid_t tid, int number, uintptr_t value);
/* Sends the calling thread a signal that it has taken once more. `info` is a siginfo_t. */
void os_signal_again(int number, const void *info);
/* Sends it to the process, or to the calling thread alone. */
void os_signal_process(int number);
void os_signal_thread(int number);

/* Whether a seccomp filter is there, of which nothing is known. */
bool os_is_filtered(void);
/* True in setuid, setgid and file-capability programs: the environment is an attacker's. */
bool os_secure(void);
/* Ends the process at once: no handler, no destructor. */
_Noreturn void os_exit(int code);
/* Ends the process by SIGABRT as abort() does. */
_Noreturn void os_abort(void);

#endif
