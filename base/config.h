/* SPDX-License-Identifier: MIT */
/*
 * The options of one process. config.def is the table; this turns it into `struct config` and into
 * rows that can be walked. Read once at start, by one thread; afterwards only
 * lib/control/control.c writes, and only what may change while the program runs.
 *
 * Text of options is pairs, "key:value" or "key=value", separated by commas or line ends, blanks
 * around anything ignored; '#' at the start of a pair or behind a blank begins a comment up to the
 * end of the line. Sources, a later one wins: the defaults of the table, /etc/memoir.conf, the file
 * that `conf` names, the program's symbol memoir_conf, the variable MEMOIR.
 *
 * Nothing here is fatal: a wrong pair is one line on standard error and has no other effect.
 * Nothing allocates or takes a lock.
 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/print.h"

enum config_kind {
    CONFIG_FLAG,     /* on, yes, true, 1; off, no, false, 0 */
    CONFIG_SIZE,     /* bytes, binary suffixes K M G T, an ignored B or iB behind them */
    CONFIG_DURATION, /* ms, s, m, h; milliseconds without a suffix; never */
    CONFIG_CHOICE,   /* one word of a list */
    CONFIG_NUMBER,   /* decimal */
    CONFIG_PATH,     /* shorter than CONFIG_PATH_SIZE, without a comma; empty for none */
    CONFIG_PATTERNS, /* the same, with | between them */
};

enum {
    CONFIG_PATH_SIZE = 256, /* `struct config` has one for each path, in static memory */
    /* Of the texts in a row, with the zero: as large as the longest needs. */
    CONFIG_KEY_SIZE = 20,
    CONFIG_INITIAL_SIZE = 8,
    CONFIG_CHOICES_SIZE = 36,
    CONFIG_PAIR_MAX = 512,    /* bytes of one key:value; a longer pair is a warning */
    CONFIG_WARNINGS_MAX = 8,  /* then one line that says there are more */
    CONFIG_TEXT_MAX = 4096,   /* bytes of all options as `config_print` writes them */
    CONFIG_FILE_MAX = 1 << 20 /* bytes read of a file of options */
};

/* A DURATION of `never`. */
static const uint64_t config_never = UINT64_MAX;

/* The words of `thp`. */
enum config_thp {
    CONFIG_THP_OFF,
    CONFIG_THP_ON,
    CONFIG_THP_AUTO,
};

/* The words of `dump.format`. */
enum config_dump_format {
    CONFIG_DUMP_MEMOIR,
    CONFIG_DUMP_PPROF,
    CONFIG_DUMP_JEMALLOC,
    CONFIG_DUMP_GPERFTOOLS,
};

/* The words of `guard`. */
enum config_guard {
    CONFIG_GUARD_OFF,
    CONFIG_GUARD_SAMPLED,
    CONFIG_GUARD_FULL,
};

/* The words of `guard.action`. */
enum config_guard_action {
    CONFIG_GUARD_REPORT,
    CONFIG_GUARD_ABORT,
    CONFIG_GUARD_IGNORE,
};

/* The words of `leak.tags`. */
enum config_tags {
    CONFIG_TAGS_AUTO,
    CONFIG_TAGS_OFF,
    CONFIG_TAGS_HIGH,
    CONFIG_TAGS_LOW,
    CONFIG_TAGS_ALL,
};

/* The words of `cpu.clock`. */
enum config_cpu_clock {
    CONFIG_CPU_CPU,
    CONFIG_CPU_WALL,
};

#define CONFIG_FIELD_FLAG(field)      bool field;
#define CONFIG_FIELD_SIZE(field)      size_t field;
#define CONFIG_FIELD_DURATION(field)  uint64_t field;
#define CONFIG_FIELD_CHOICE(field)    unsigned field;
#define CONFIG_FIELD_NUMBER(field)    unsigned field;
#define CONFIG_FIELD_PATH(field)      char field[CONFIG_PATH_SIZE];
#define CONFIG_FIELD_PATTERNS(field)  char field[CONFIG_PATH_SIZE];
#define OPTION(key, field, kind, ...) CONFIG_FIELD_##kind(field)
struct config {
#include "base/config.def"
};
#undef OPTION

#define OPTION(key, field, ...) CONFIG_INDEX_##field,
enum {
#include "base/config.def"
    CONFIG_COUNT
};
#undef OPTION

/* A row of the table, without its documentation: that is the tool's. Its texts lie in it: pointers
 * to them would be relocated, and every program would have the table in memory of its own. */
struct config_option {
    uint64_t low;
    uint64_t high;
    unsigned offset; /* of the field in struct config */
    enum config_kind kind;
    char key[CONFIG_KEY_SIZE];
    char initial[CONFIG_INITIAL_SIZE];
    char choices[CONFIG_CHOICES_SIZE];
};

extern const struct config_option config_options[CONFIG_COUNT];

/* The options of this process. */
extern struct config config;

/* All sources in their order. `program_text` is the string of the program's memoir_conf or NULL. A
 * NULL `environment` stands for the one that the process was started with. In AT_SECURE programs
 * only the defaults count. */
void config_load(struct config *options, const char *program_text, const char *const *environment);

/* The steps of config_load. `source` names the text in warnings. */
void config_defaults(struct config *options);
void config_text(struct config *options, const char *text, size_t length, const char *source);
/* False if it could not be read to its end; a warning then, unless `missing_is_fine` and it could
 * not be opened (a sandbox answers "forbidden" for files that are not there). */
bool config_file(struct config *options, const char *path, bool missing_is_fine);

/* Every option as a line "key:value" that config_text reads back. False if it did not fit. */
bool config_print(const struct config *options, struct print *print);

/* Sends warnings, each a whole line, elsewhere than to standard error (NULL: back there) and
 * forgets how many there were. */
void config_warn_to(void (*sink)(const char *line, size_t length));

#endif
