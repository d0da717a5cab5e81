/* SPDX-License-Identifier: MIT */
/*
 * What /proc tells about a process, as far as control from outside must know it: its user, what it
 * is called inside its own namespaces, whether the library is in it and could answer. Nothing
 * here touches the process.
 */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum process_library {
    PROCESS_UNKNOWN, /* its files may not be looked at */
    PROCESS_WITHOUT,
    PROCESS_WITH,
};

/* The bell of base/attach_protocol.h, by which those can be called that do not hear the signal. */
enum process_bell {
    PROCESS_BELL_NONE,   /* not looked for, or an older library */
    PROCESS_BELL_CLOSED, /* its memory may not be looked at: `bell_reason` */
    PROCESS_BELL_OFF,    /* control is off: it would not be heard */
    PROCESS_BELL_HANGS,
};

struct process {
    pid_t pid;
    pid_t inner_pid; /* in its own namespace */
    unsigned user;   /* effective */
    unsigned inner_user;
    bool unmapped; /* its user has no number in its user namespace, where it can make no file */
    bool headless; /* its first thread has ended, others run: /proc shows nothing of it */
    char state;    /* R S D T Z ... */
    bool listens;  /* has some handler for the signal */
    bool deaf;     /* all of its threads block the signal */
    bool secure;   /* runs with rights of its own */
    bool filtered; /* has a seccomp filter, of its own or from before its start */
    bool frozen;   /* its control group stands still */
    bool closed;   /* the kernel protects it from its own user: only root may ask */
    enum process_bell bell;
    int bell_reason;  /* an errno value */
    int threadless;   /* an errno value: it heard, and could not start the thread that answers */
    unsigned wait_ms; /* for it to hear the bell; 0: as long as the caller waits */
    enum process_library library;
    char version[32]; /* of the library */
    uint64_t rss_bytes;
    uint64_t own_bytes; /* of them, its own and not a file's: what a copy of it must tell apart */
    unsigned threads;
    char command[512];
};

/* /proc/PID/stat. */
struct process_stat {
    char state;
    pid_t parent;
    bool exiting;         /* the kernel takes it down: memory first, files later */
    uint64_t start_ticks; /* when it started, since the kernel did */
};

/* False: it has ended, or waits for its parent to notice that. */
bool process_stat(struct process_stat *stat, pid_t pid);
/* Whether it has ended, or is about to without running any more of its own code. */
bool process_is_over(pid_t pid);
/* A look at it, some time after process_read: the state that all of its threads are in, if that
 * keeps them from running ('D', 'T', 'Z'); else the state of one that can run, or '?'. 0 if there
 * is no such process any more. Stops at the first thread that can run: there may be thousands. */
char process_state(pid_t pid);
/* False: there is no such process. */
bool process_read(struct process *process, pid_t pid);
/* Whether a file has the library in it, itself or linked with it, and which version. */
bool process_file_has_library(const char *path, char *version, size_t size);
/* The thread that a signal disturbs least, or 0 if that can't be told: signals interrupt some
 * waits for good (epoll_wait, sleep), others are restarted, and a busy thread notices nothing. */
pid_t process_calmest_thread(const struct process *process);

#endif
