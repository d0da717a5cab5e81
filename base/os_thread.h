/* SPDX-License-Identifier: MIT */
/*
 * A thread that libc does not know of, for work that the program should not notice: made by
 * the kernel alone, on memory of its own, with every signal blocked. It may run our code only.
 * Nothing of libc beyond memcpy and the like: no errno that counts, no stdio, no malloc.
 *
 * Our thread-local variables work in it: they lie at a fixed distance from the thread pointer
 * (initial-exec), so a block with a fresh copy of them at that distance is all they need.
 *
 *     [ floor | stack, grows down | thread-local data around the thread pointer ]
 *     one mapping, which forked children do not get and which the thread unmaps as its last act
 */
#ifndef BASE_OS_THREAD_H
#define BASE_OS_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds our thread-local data. Once, before the first start; false: no such thread can be. */
bool os_thread_prepare(void);
/* Starts a thread that runs `run` and ends when that returns. May be called in a signal handler,
 * which must run with all signals blocked: the new thread inherits that. 0 or a negative errno. */
int os_thread_start(void (*run)(void), size_t stack_size);

/* The memory that such a thread, or the copy below, runs on, for itself: its stack and data. False:
 * the calling thread is none. */
bool os_thread_room(uintptr_t *start, uintptr_t *end);
/* The memory of all such threads; returns how many there are. Waits for those that are about to
 * end: they have given theirs back, and it may be the program's. */
enum { OS_THREADS_MAX = 16 };
unsigned os_thread_rooms(uintptr_t starts[OS_THREADS_MAX], uintptr_t ends[OS_THREADS_MAX]);
/* Whether this is the id of such a thread. */
bool os_thread_is_ours(pid_t tid);
/* Starts a copy of the process, which runs `run` alone and ends when that returns: the way of fork
 * without its handlers, with the same rules as for such threads. The program is not told of its
 * end and does not find it by waiting for children of its own. Its id or a negative errno. */
pid_t os_copy_start(void (*run)(void), size_t stack_size);
/* In a copy: it is killed when the thread that started it ends, as exit and exec end it. */
void os_copy_follow(pid_t parent);
/* In a copy: a session of its own, which signals to the program's group do not reach. */
void os_session_new(void);
/* Whether it has ended. True once only: the id then belongs to no process. */
bool os_copy_ended(pid_t copy);
/* Ends it, unless it has ended: the program may have waited for it (waitpid with __WALL), and its
 * id be another process's. */
void os_copy_kill(pid_t copy);

/* For the thread itself: the name that ps and debuggers show, at most 15 bytes. */
void os_thread_rename(const char *name);
/* For the thread itself: it runs before the program's threads, where the kernel permits that. Where
 * thousands of them are ready to run, its turn would otherwise come once in seconds. Not for long
 * work. Returns what `os_thread_relax` needs, which ends it. */
int os_thread_hurry(void);
void os_thread_relax(int before);
/* For the thread itself: a table of descriptors of its own, with standard error in it and nothing
 * else, so that what it opens has no number in the program and no child inherits it. False: it
 * shares the program's. */
bool os_thread_own_files(void);

/* Threads of the process; 0 where /proc does not tell. */
uint32_t os_thread_count(void);

/* Sets a handler unless the program has one: it runs with all signals blocked, on the alternate
 * stack if there is one, and system calls that can be restarted are. */
bool os_handler_set(int signal, void (*handler)(int, siginfo_t *, void *));
/* The same where the program has one, of which `before` tells. */
bool os_handler_replace(int signal, void (*handler)(int, siginfo_t *, void *),
                        struct sigaction *before);
/* The handler that the signal has now; NULL: none, or there is no such signal. */
const void *os_handler(int signal);
/* Whether it has one after which system calls that can be restarted are not. */
bool os_handler_ends_calls(int signal);

#endif
