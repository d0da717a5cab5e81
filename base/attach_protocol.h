/* SPDX-License-Identifier: MIT */
/*
 * How `memoir ctl` and the library in another process find and understand each other. Both sides
 * take it from here; docs/CONTROL.md tells the story.
 *
 * The client queues ATTACH_SIGNAL with the value ATTACH_VALUE, or rings the bell; the library
 * starts a thread that listens on a socket (SOCK_SEQPACKET) in the first folder of attach_folder
 * that is fit. One connection carries one request and its answer:
 *
 *     request    struct attach_request and the line, one packet; a descriptor may come with it
 *     answer     struct attach_answer, one packet; then `length` bytes of text in packets of at
 *                most ATTACH_PACKET bytes
 */
#ifndef BASE_ATTACH_PROTOCOL_H
#define BASE_ATTACH_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/print.h"

enum {
    ATTACH_SIGNAL = 23, /* SIGURG: ignored by programs that do not know it */
    ATTACH_VALUE = 0x6d656d31,
    ATTACH_REQUEST = 0x3171656d,
    ATTACH_ANSWER = 0x3161656d,
    ATTACH_LINE_MAX = 4096,    /* a verb and its words; a path may be one */
    ATTACH_PACKET = 16 << 10,  /* bytes of an answer at once: four pages of the listener's memory */
    ATTACH_TEXT_MAX = 4 << 20, /* bytes of an answer that is text; dumps go through descriptors */
    ATTACH_FOLDERS = 4,
    ATTACH_PATH_MAX = 108, /* what a socket's address holds, the end included */
};

struct attach_request {
    uint32_t magic;  /* ATTACH_REQUEST */
    uint32_t length; /* of the line behind it, without an end of line: 1 to ATTACH_LINE_MAX */
};

struct attach_answer {
    uint32_t magic;  /* ATTACH_ANSWER */
    int32_t status;  /* 0, an errno value, or ATTACH_NO_...; the text says more */
    uint32_t length; /* of the text in the packets that follow */
};

/* Lines with a word that the library does not know: above all errno values, which end at 4095. */
enum {
    ATTACH_NO_VERB = 4096,
    ATTACH_NO_OPTION = 4097,
};

/*
 * The bell: a word in the library's memory, for processes that block the signal or handle it
 * themselves. A client with the right to write there (that of a debugger) sets it to
 * ATTACH_BELL_RUNG; the next thread that enters the allocator's slow code does what the handler
 * would have done. If that can't start its thread, the word is ATTACH_BELL_FAILED plus an errno
 * value until it can. Any other value: control is off.
 */
enum {
    ATTACH_BELL_QUIET = 0x6d656d71,
    ATTACH_BELL_RUNG = 0x6d656d72,
    ATTACH_BELL_FAILED = 0x6d656e00, /* the last byte is the errno value */
};

/* The errno value of a bell that says so, or 0. */
static inline int attach_bell_error(uint32_t bell)
{
    return (bell & ~255u) == ATTACH_BELL_FAILED ? (int)(bell & 255) : 0;
}

/*
 * The note (SHT_NOTE, owner "memoir") that marks files with the library in them, also static and
 * stripped programs. Its description:
 *
 *     16 bytes    the version, a string
 *     4 bytes     the bell's address, counted from here
 */
#define ATTACH_NOTE       0x6d65
#define ATTACH_NOTE_OWNER "memoir"
enum { ATTACH_NOTE_BELL = 16, ATTACH_NOTE_SIZE = 20 };

/* The folder of a user's sockets: number `which` in the order of preference. The socket in it is
 * PID.sock, with the pid that the process itself sees. */
void attach_folder(unsigned which, uint32_t uid, struct print *path);
void attach_socket(unsigned which, uint32_t uid, int pid, struct print *path);

#endif
