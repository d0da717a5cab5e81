/* SPDX-License-Identifier: MIT */
/*
 * What a user names, loaded once, and the requests that verbs make about it.
 *
 * A session has a profile, with names for its addresses, and perhaps a second one as its base:
 * files of any format, processes by number, URLs; several are added up. It does not change after
 * it was read. A request is one command about it. session_ask answers it in five steps:
 *
 *      read      the words of the command into profiles; the shell's session is there already
 *      name      addresses into functions and lines
 *      choose    flags into a metric, filters and a moment
 *      view      the profile as the request wants to see it
 *      render    the answer, on the screen or into a file
 *
 * What a verb's answer is made of is a `struct answer`. Operands are sorted by commands.def:
 *
 *      PROFILE             further words are patterns to focus on
 *      PROFILE RE          the first such word is the verb's own (request->rest, answer->function)
 *      PROFILE PROFILE     of two profiles or more, the first is the base of the others
 *
 * `memoir top ./server server.heap Parser -Test` has a program (which need not be named), a
 * profile, a word to focus on and one to ignore.
 */
#ifndef TOOL_SESSION_H
#define TOOL_SESSION_H

#include "tool/command/command.h"
#include "tool/profile/profile.h"
#include "tool/report/report.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

struct request;

/* How a verb answers. */
struct answer {
    /* The column that is looked at, unless --metric says so; NULL: the profile's own. */
    const struct metric *metric;
    const struct metric *metric_first;   /* taken instead where the profile has it; or NULL */
    const struct metric *picture_metric; /* the same for its picture */
    bool metric_always;                  /* whatever --metric says */
    bool memory;                         /* refuses profiles of time */
    bool moment;      /* without a metric: at the peak, if the program has ended */
    bool function;    /* it is about the function in request->rest[0] */
    bool viewless;    /* it makes no view, or several by itself */
    bool no_patterns; /* all operands are profiles */
    bool window;      /* about many moments: --since and --until are a part of the run */
    bool pins;        /* reads what keeps memory in use, too */
    bool add_up;      /* dumps of one process, too */
    const char *ask;  /* what a process is asked; NULL: its profile */
    /* Draws the picture that --output names; NULL: there is none. */
    bool (*draw)(struct request *request, const char *path, bool moment, struct error *error);
    /* Changes request->options before the view is made. May be NULL. */
    void (*adjust)(struct request *request);
    /* The answer: `report` prints a view; `render` does all of it by itself. */
    void (*report)(const struct view *view, const struct style *style);
    bool (*render)(struct request *request, struct error *error);
    /* What one may want to do next, after a report in text. May be NULL. */
    void (*next)(const struct request *request);
};

/* Does not change after it was read. */
struct session {
    struct profile profile;
    struct profile base; /* --base */
    bool has_base;
    char *name, *base_name; /* for people */
    struct symbol_options symbol_options;
    struct symbol_report symbols;
};

/* The words of a command, sorted; each list ends in NULL. */
struct session_words {
    const char **inputs, **focus, **ignore;
    char **rest;
    size_t inputs_count, focus_count, ignore_count, rest_count;
    char *newest; /* the capture that was found, if none was named */
};

struct request {
    const struct arguments *arguments;
    const struct answer *answer;
    void *context;           /* the verb's own */
    struct session *session; /* that was read before; NULL: all is in `own` */
    struct session own;      /* what was read for this request */
    struct session *of;      /* of both, the one that the profile is in */
    struct session_words words;
    const struct profile *profile, *base; /* of one of the sessions, or changed; NULL: no base */
    struct profile changed, changed_base; /* after request_change */
    bool is_changed;
    char *name, *base_name;
    const char *program;
    char **rest;                 /* operands that are neither: patterns, in order; ends in NULL */
    struct view_options options; /* filters and metric, from flags and words */
    bool picture;                /* --output is one */
    struct view view;
    struct style style;
    struct output output; /* between request_open and request_close */
};

/* Asks arguments->session, or what the words name. Without a profile among the operands: the newest
 * capture in this folder. */
bool session_ask(const struct arguments *arguments, const struct answer *answer, void *context,
                 struct error *error);

/* For answers. The word by which the user named the one profile; NULL: by none, or there were
 * several. */
const char *request_word(const struct request *request);
const struct symbol_report *request_symbols(const struct request *request);
const struct symbol_options *request_symbol_options(const struct request *request);
/* view_make, with progress; its error as ours. */
bool request_view_make(struct view *view, const struct request *request, struct error *error);
/* From here on request->changed and request->changed_base are the profiles, for this request to
 * change. */
bool request_change(struct request *request, struct error *error);
/* How the answer looks, from the flags --json, --csv, --rows, ... and the terminal: request->style.
 * --output is opened as style.out, and its ending is a format. Pair with request_close: with
 * `whole` the file gets its name, else what was there stays. */
bool request_open(struct request *request, struct error *error);
bool request_close(struct request *request, bool whole, struct error *error);

/* session_choose.c. Refuses what --at, --since, --until and --base can't mean, before anything is
 * read. */
bool request_check(const struct request *request, struct error *error);
/* The third step: the flags into request->options. */
bool request_choose(struct request *request, struct error *error);
/* The column that is meant by a word, or by its name in the profile. */
bool request_metric(struct request *request, const char *word, struct error *error);
/* Refuses a profile of time, for answers about memory. */
bool request_no_memory(const struct request *request, struct error *error);
/* Without --metric: a program that has ended has little left; what it had at its peak is of more
 * interest then. */
void request_moment(struct request *request);

#endif
