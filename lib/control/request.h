/* SPDX-License-Identifier: MIT */
/* One line of the protocol while it is served (control_command.c), and the verbs that have words of
 * their own (request.c). */
#ifndef CONTROL_REQUEST_H
#define CONTROL_REQUEST_H

#include <stddef.h>

#include "base/file/sink.h"
#include "lib/dump/dump.h"

/* A piece of the line; no terminator. */
struct word {
    const char *text;
    size_t length;
};

struct request {
    struct word argument; /* what follows the verb, without blanks around it */
    int fd;
    struct sink *out;
};

struct word request_trim(const char *text, size_t length);
/* "error: TEXT 'WORD'REST"; returns `error`. */
int request_refuse(struct request *request, int error, const char *text, struct word word,
                   const char *rest);
/* "error: NAME VERB 'ARGUMENT'REST"; the verb begins with its blank. Returns `error`. */
int request_refuse_value(struct request *request, int error, const char *name, const char *verb,
                         const char *rest);
#define CANT_BE      " can't be"
#define UNKNOWN_WORD ": unknown word"
/* A dump in the format of the argument. */
int request_dump(struct request *request, enum dump_source source);

int request_cpu(struct request *request);
int request_locks(struct request *request);

#endif
