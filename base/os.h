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

/* Maps `size` bytes of zeroed, private, writable memory at exactly `at` and never replaces what is
 * there. 0, or -EEXIST when the place is taken, or another negative errno. */
int os_map_at(void *at, size_t size);
/* The same wherever the kernel likes. NULL when there is none. */
void *os_map(size_t size);
/* Puts fresh memory in the place of whatever is mapped there. */
bool os_map_over(void *at, size_t size);
bool os_unmap(void *at, size_t size);
/* Moves the pages of [from, from + size) to `to`, which must be a mapping of the same size. Moved:
 * `from` is still mapped and reads as zero. Stayed: both are as before, but for the contents of
 * `to`. Lost: stayed, and nothing is mapped at `to` any more. */
enum os_moved { OS_MOVED, OS_STAYED, OS_LOST };
enum os_moved os_move(void *from, void *to, size_t size);

/* Whether the range, whole pages, can be written; it can be read either way. */
bool os_protect(void *at, size_t size, bool writable);

/* Gives the pages back; the range stays mapped and reads as zero afterwards. */
bool os_return(void *at, size_t size);
/* Whether the kernel may or should back the range with huge pages. */
void os_huge(void *at, size_t size, bool wanted);
/* Marks the range to read as zero in a child after any kind of fork. False on old kernels. */
bool os_wipe_on_fork(void *at, size_t size);
/* How many bytes of the range are in memory now. */
size_t os_resident(void *at, size_t size);

/* Whether the bytes can be read. */
bool os_readable(const void *at, size_t size);
/* Whether the word can be read and is not 0. Safe for any address, whatever others do to it
 * meanwhile; needs no system call that a filter may deny. */
bool os_word_is_set(const uint32_t *word);
/* The end of the heap segment that brk moves. */
uintptr_t os_break(void);

pid_t os_pid(void);
/* Whether the program was started without a loader. In it dlsym finds nothing, and libc allocates a
 * message about that. */
bool os_static(void);
/* The calling thread's id: from libc's memory once `os_tid_learn` has found where it is, else from
 * the kernel. In a child made by vfork it may be the parent's. */
pid_t os_tid(void);
/* Finds where libc keeps the id. Once, when dlsym may be called. */
void os_tid_learn(void);
/* In a forked child, before its first os_tid. */
void os_tid_forked(void);
/* Whether the process has this thread, and it has not ended. */
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
/* Whether a thread of the process whose memory this is has ended. Never true in a child that shares
 * it: to the kernel all threads of its parent are strangers there. */
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

/* Milliseconds that only go forward, with the resolution of the kernel's tick. */
uint64_t os_now_ms(void);
/* The same clock, as fine as the machine has it; slower. */
uint64_t os_now_ns(void);
/* Nanoseconds since 1970, as far as the kernel knows. */
uint64_t os_wall_ns(void);
/* Eight bytes from the kernel's random pool, or the next best thing early at boot. */
uint64_t os_random(void);

int os_open(const char *path, int flags, int mode);
ssize_t os_read(int fd, void *buffer, size_t size);
/* Whether a call that returned `got` was interrupted by a signal and is to be made again. Counts in
 * `*tries`; after 10,000 interrupted calls the answer is no. */
bool os_again(ssize_t got, unsigned *tries);
/* From a place in the file; the file's own place stays. */
ssize_t os_read_at(int fd, void *buffer, size_t size, uint64_t at);
ssize_t os_write(int fd, const void *buffer, size_t size);
int os_close(int fd);
/* The working directory, without an end; its length, 0 if it is not known. */
size_t os_directory(char *path, size_t size);
/* The target of a symbolic link, without an end; its length or a negative errno. */
ssize_t os_link(const char *path, char *target, size_t size);
/* A file without a name, in memory. */
int os_memory_file(const char *title);
/* A second descriptor for the same file, out of the way of those that programs count on; the same
 * one if there can be none. */
int os_duplicate(int fd);
/* Writes all of it or gives up. Keeps going after short writes and EINTR. A reader that is gone and
 * the limit on the size of files do not end the program: SIGPIPE and SIGXFSZ are dropped. */
void os_write_all(int fd, const void *buffer, size_t size);

/* The machine's name, at most `size` - 1 bytes of it, or "". */
void os_host(char *name, size_t size);

/* Names of files. 0 or a negative errno. Without `replace`, -EEXIST if there is something at `to`.
 */
int os_rename(const char *from, const char *to, bool replace);
int os_unlink(const char *path);
/* What a name stands for, without following a symbolic link. */
enum os_file { OS_FILE_NONE, OS_FILE_PLAIN, OS_FILE_FOLDER, OS_FILE_LINK, OS_FILE_OTHER };
enum os_file os_file_at(const char *path);
/* Which file a descriptor is; all 0 if it is none. */
struct os_file_id {
    uint64_t device, inode;
};
struct os_file_id os_file_id(int fd);
/* The flags with which it was opened (O_APPEND, O_WRONLY, ...), or a negative errno. */
int os_file_flags(int fd);
bool os_closes_on_exec(int fd);
bool os_is_terminal(int fd);
bool os_is_pipe(int fd);
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
/* Takes the lock that flock knows, without waiting; it goes with the last copy of the descriptor.
 * False if another one has it. */
bool os_lock_file(int fd);

/* Whether there is a process of that id that we may know of. */
bool os_process_alive(pid_t pid);
/* The soft limit of getrlimit; UINT64_MAX: none. */
uint64_t os_limit(int resource);
/* Calls `handler` for the signal, all other ones blocked meanwhile; false if the program has a
 * handler for it, or there is no such signal. */
bool os_signal(int number, void (*handler)(int number));
/* Keeps signals from this thread, but for those that mean a fault in it, until they are released.
 * What our own writes caused meanwhile (SIGPIPE, SIGXFSZ) is then gone. */
struct os_signals {
    uint64_t mask, pending;
};
void os_signals_hold(struct os_signals *before);
void os_signals_release(const struct os_signals *before);
/* Which signals this thread blocks from now on, a bit each; `before`, or NULL, gets those that it
 * blocked. */
void os_signals_set(uint64_t mask, uint64_t *before);
/* Which signals this thread blocks. */
uint64_t os_signals_blocked(void);
/* This thread blocks none of these any longer, a bit each. */
void os_signals_unblock(uint64_t set);
/* The signal does again what it does without a handler, if `handler` is the one it has. */
void os_signal_drop(int number, void (*handler)(int number));
/* Sends it to the process, or to the calling thread alone. */
void os_signal_process(int number);
void os_signal_thread(int number);

/* True in setuid, setgid and file-capability programs: the environment is an attacker's. */
bool os_secure(void);
/* Ends the process at once: no handler, no destructor. */
_Noreturn void os_exit(int code);
/* Ends the process by SIGABRT as abort() does. */
_Noreturn void os_abort(void);

#endif
