/* SPDX-License-Identifier: MIT */
/*
 * Options from text to struct config; config_value.c knows what a value means. One reader takes
 * bytes as they come, whether from a string, a file or /proc/self/environ, and holds no more than
 * the pair it is in: a variable of any size is fine. The table's defaults go through the same
 * parsers as the users' values.
 *
 * Runs before anything else in the library works, possibly inside the first malloc: base/os.h and
 * memory functions are all it calls.
 */
#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/config_value.h"
#include "base/message.h"
#include "base/nearest.h"
#include "base/os.h"

struct config config;

static const char file_path[] = "/etc/memoir.conf";
static const char variable[] = "MEMOIR=";

enum {
    CHUNK_SIZE = 2048,  /* of files, on the stack */
    WARNING_SIZE = 320, /* of one line */
    QUOTE_MAX = 40,     /* of a user's word in a warning */
    SOURCE_MAX = 80,
};

/* The state of reading a text. Invariant: pair[0, length) is the current pair so far, without
 * leading blanks. */
struct reader {
    struct config *options;
    const char *source;
    unsigned line; /* from 1; 0 in texts whose lines are not counted */
    bool quiet;    /* this source has printed its warnings already */
    bool named;    /* this is the file that `conf` names */
    bool comment;
    bool overlong;
    size_t length;
    char pair[CONFIG_PAIR_MAX];
};

static void (*warning_sink)(const char *line, size_t length);
static unsigned warnings;

static void load_sources(struct config *options, const char *program_text,
                         const char *const *environment, const char *named_path);
static void load_environment(struct reader *reader, const char *const *environment);
static void load_started_environment(struct reader *reader);
static bool read_file(struct reader *reader, bool missing_is_fine);
static void reader_start(struct reader *reader, struct config *options, const char *source);
static void reader_feed(struct reader *reader, const char *bytes, size_t length);
static void reader_byte(struct reader *reader, char c);
static void reader_pair(struct reader *reader);
static void pair_apply(struct reader *reader, const char *key, size_t key_length, const char *value,
                       size_t value_length);
static bool warn_start(struct reader *reader, struct print *line, char *buffer);
static void warn_end(struct print *line);
static void warn_unknown(struct reader *reader, const char *key, size_t length);
static void warn_value(struct reader *reader, const struct config_option *option, const char *value,
                       size_t length);

void config_load(struct config *options, const char *program_text, const char *const *environment)
{
    config_defaults(options);
    if (os_secure())
        return;
    load_sources(options, program_text, environment, NULL);
    if (options->conf[0] == '\0')
        return;
    /* Any source may name the file, but the file ranks below most of them: once the name is known,
     * everything is read again, with the file at its rank. */
    char path[CONFIG_PATH_SIZE];
    memcpy(path, options->conf, sizeof path);
    config_defaults(options);
    load_sources(options, program_text, environment, path);
}

void config_defaults(struct config *options)
{
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        const struct config_option *option = &config_options[i];
        config_value_parse(options, option, option->initial, strlen(option->initial));
    }
}

void config_text(struct config *options, const char *text, size_t length, const char *source)
{
    struct reader reader;
    reader_start(&reader, options, source);
    reader_feed(&reader, text, length);
    reader_pair(&reader);
}

bool config_file(struct config *options, const char *path, bool missing_is_fine)
{
    struct reader reader;
    reader_start(&reader, options, path);
    return read_file(&reader, missing_is_fine);
}

bool config_print(const struct config *options, struct print *print)
{
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        print_text(print, config_options[i].key);
        print_char(print, ':');
        config_value_print(options, &config_options[i], print);
        print_char(print, '\n');
    }
    return !print->cut;
}

void config_warn_to(void (*sink)(const char *line, size_t length))
{
    warning_sink = sink;
    warnings = 0;
}

/* Reads all sources, on top of what `options` holds. With a `named_path` this is the second pass:
 * only that file is new, and only it may warn. */
static void load_sources(struct config *options, const char *program_text,
                         const char *const *environment, const char *named_path)
{
    struct reader reader;
    bool again = named_path != NULL;

    reader_start(&reader, options, file_path);
    reader.quiet = again;
    read_file(&reader, true);
    if (again) {
        reader_start(&reader, options, named_path);
        reader.named = true;
        read_file(&reader, false);
    }
    if (program_text) {
        reader_start(&reader, options, "memoir_conf");
        reader.quiet = again;
        reader_feed(&reader, program_text, strlen(program_text));
        reader_pair(&reader);
    }
    reader_start(&reader, options, "MEMOIR");
    reader.quiet = again;
    if (environment)
        load_environment(&reader, environment);
    else
        load_started_environment(&reader);
    reader_pair(&reader);
}

static void load_environment(struct reader *reader, const char *const *environment)
{
    size_t length = sizeof variable - 1;
    for (; *environment; environment++) {
        if (strncmp(*environment, variable, length) == 0) {
            reader_feed(reader, *environment + length, strlen(*environment + length));
            return;
        }
    }
}

/* Reads the variable from the kernel's copy of the environment, in which entries end in NUL. */
static void load_started_environment(struct reader *reader)
{
    char chunk[CHUNK_SIZE];
    size_t matched = 0;  /* bytes of `variable` that match the current entry so far */
    bool missed = false; /* the current entry is another variable */
    ssize_t got;
    unsigned tries = 0;
    int fd = os_open("/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    while ((got = os_read(fd, chunk, sizeof chunk)) > 0 || os_again(got, &tries)) {
        for (ssize_t i = 0; i < got; i++) {
            char c = chunk[i];
            if (matched == sizeof variable - 1) {
                if (c == '\0')
                    goto done;
                reader_byte(reader, c);
            } else if (c == '\0') {
                matched = 0;
                missed = false;
            } else if (!missed) {
                missed = c != variable[matched];
                matched = missed ? 0 : matched + 1;
            }
        }
    }
done:
    os_close(fd);
}

/* Reads the file that `reader->source` names. A pipe or a device must not delay or flood the
 * program: reads do not block, and the length is limited. */
static bool read_file(struct reader *reader, bool missing_is_fine)
{
    char chunk[CHUNK_SIZE];
    char buffer[WARNING_SIZE];
    struct print line;
    size_t total = 0;
    ssize_t got = 0;
    unsigned tries = 0;
    int fd = os_open(reader->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0 && missing_is_fine)
        return false;
    if (fd >= 0) {
        reader->line = 1;
        while (total <= CONFIG_FILE_MAX) {
            got = os_read(fd, chunk, sizeof chunk);
            if (os_again(got, &tries))
                continue;
            if (got <= 0)
                break;
            reader_feed(reader, chunk, (size_t)got);
            total += (size_t)got;
        }
        reader_pair(reader);
        os_close(fd);
    }
    if (fd >= 0 && got == 0)
        return true;
    reader->line = 0;
    if (!warn_start(reader, &line, buffer))
        return false;
    if (got > 0)
        print_format(&line, "longer than %d bytes; the rest is ignored\n", CONFIG_FILE_MAX);
    else
        print_format(&line, "the file can't be read (error %d); it is ignored\n",
                     fd < 0 ? -fd : (int)-got);
    warn_end(&line);
    return false;
}

static void reader_start(struct reader *reader, struct config *options, const char *source)
{
    reader->options = options;
    reader->source = source;
    reader->line = 0;
    reader->quiet = false;
    reader->named = false;
    reader->comment = false;
    reader->overlong = false;
    reader->length = 0;
}

static void reader_feed(struct reader *reader, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        reader_byte(reader, bytes[i]);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void reader_byte(struct reader *reader, char c)
{
    if (c == '\n') {
        reader_pair(reader);
        reader->comment = false;
        if (reader->line > 0)
            reader->line++;
    } else if (reader->comment) {
        return;
    } else if (c == ',') {
        reader_pair(reader);
    } else if (c == '#' && (reader->length == 0 || is_blank(reader->pair[reader->length - 1]))) {
        reader->comment = true;
    } else if (reader->length == sizeof reader->pair) {
        reader->overlong = true;
    } else if (reader->length > 0 || !is_blank(c)) {
        reader->pair[reader->length++] = c;
    }
}

/* The current pair is complete: applies it and begins the next one. */
static void reader_pair(struct reader *reader)
{
    const char *pair = reader->pair;
    size_t length = reader->length;
    char buffer[WARNING_SIZE];
    struct print line;

    reader->length = 0;
    if (reader->overlong) {
        reader->overlong = false;
        if (!warn_start(reader, &line, buffer))
            return;
        print_format(&line, "an option longer than %d bytes is ignored: '", CONFIG_PAIR_MAX);
        print_clean(&line, pair, length, QUOTE_MAX);
        print_text(&line, "'\n");
        warn_end(&line);
        return;
    }
    while (length > 0 && is_blank(pair[length - 1]))
        length--;
    if (length == 0)
        return;
    size_t key_length = 0;
    while (key_length < length && pair[key_length] != ':' && pair[key_length] != '=')
        key_length++;
    const char *value = key_length < length ? pair + key_length + 1 : NULL;
    size_t value_length = value ? length - key_length - 1 : 0;
    while (key_length > 0 && is_blank(pair[key_length - 1]))
        key_length--;
    while (value_length > 0 && is_blank(*value)) {
        value++;
        value_length--;
    }
    pair_apply(reader, pair, key_length, value, value_length);
}

/* `value` is NULL if the pair had no separator. */
static void pair_apply(struct reader *reader, const char *key, size_t key_length, const char *value,
                       size_t value_length)
{
    const struct config_option *option = config_options;
    const struct config_option *end = config_options + CONFIG_COUNT;
    char buffer[WARNING_SIZE];
    struct print line;

    while (option < end && !config_value_is(key, key_length, option->key))
        option++;
    if (option == end) {
        warn_unknown(reader, key, key_length);
    } else if (!value) {
        if (!warn_start(reader, &line, buffer))
            return;
        print_format(&line, "%s has no value; write %s:VALUE, accepted: ", option->key,
                     option->key);
        config_value_accepted(option, &line);
        print_char(&line, '\n');
        warn_end(&line);
    } else if (reader->named && option->offset == offsetof(struct config, conf)) {
        if (!warn_start(reader, &line, buffer))
            return;
        print_text(&line, "conf has no effect in the file that conf names\n");
        warn_end(&line);
    } else if (!config_value_parse(reader->options, option, value, value_length)) {
        warn_value(reader, option, value, value_length);
    }
}

/* Counts a warning and begins its line in `buffer` of WARNING_SIZE. False if it must not be
 * printed. */
static bool warn_start(struct reader *reader, struct print *line, char *buffer)
{
    if (reader->quiet || warnings > CONFIG_WARNINGS_MAX)
        return false;
    print_start(line, buffer, WARNING_SIZE);
    if (warnings++ == CONFIG_WARNINGS_MAX) {
        print_format(line, "memoir: more options are wrong; the first %d are shown\n",
                     CONFIG_WARNINGS_MAX);
        warn_end(line);
        return false;
    }
    print_text(line, "memoir: ");
    print_clean(line, reader->source, strlen(reader->source), SOURCE_MAX);
    if (reader->line > 0)
        print_format(line, ":%u", reader->line);
    print_text(line, ": ");
    return true;
}

static void warn_end(struct print *line)
{
    if (warning_sink)
        warning_sink(line->start, print_length(line));
    else
        message_flush(line);
}

static void warn_unknown(struct reader *reader, const char *key, size_t length)
{
    char buffer[WARNING_SIZE];
    struct print line;
    size_t best = CONFIG_COUNT;
    size_t best_distance = nearest_max(length) + 2; /* one more than for words: keys have parts */

    if (!warn_start(reader, &line, buffer))
        return;
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        const char *known = config_options[i].key;
        const char *dot = strchr(known, '.');
        size_t distance = nearest_distance(key, length, known, strlen(known));
        /* "delay" should find return.delay. */
        size_t tail_distance =
            dot ? 1 + nearest_distance(key, length, dot + 1, strlen(dot + 1)) : distance;
        if (tail_distance < distance)
            distance = tail_distance;
        if (distance < best_distance) {
            best_distance = distance;
            best = i;
        }
    }
    print_text(&line, "no option '");
    print_clean(&line, key, length, QUOTE_MAX);
    print_text(&line, "'");
    if (best < CONFIG_COUNT)
        print_format(&line, ", the nearest is '%s'", config_options[best].key);
    print_text(&line, " (all: memoir options)\n");
    warn_end(&line);
}

static void warn_value(struct reader *reader, const struct config_option *option, const char *value,
                       size_t length)
{
    char buffer[WARNING_SIZE];
    struct print line;

    if (!warn_start(reader, &line, buffer))
        return;
    print_format(&line, "%s can't be '", option->key);
    print_clean(&line, value, length, QUOTE_MAX);
    print_text(&line, "', accepted: ");
    config_value_accepted(option, &line);
    print_char(&line, '\n');
    warn_end(&line);
}
