/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/read/read.h. Files are read, not mapped: a file that shrinks meanwhile would end
 * the program, and pipes can't be mapped.
 */
#include "tool/profile/read/read.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

enum {
    LAYERS_MAX = 3,       /* packed and packed again */
    SHOWN = 16,           /* bytes of a file that no reader knows */
    READ_ROOM = 1 << 16,  /* bytes at first, of a pipe */
    READ_MAX = 1 << 24,   /* at once, so that progress can be shown */
    LOOKED_AT = 4 << 20,  /* of what has no end, such as a device, before the rest is read */
    WARNINGS_MAX = 20,    /* lines of a file that are for people */
    HARMLESS = 256 << 20, /* bytes that need no thought */
};

#define X(name) &reader_##name,
static const struct reader *const readers[] = {READERS(X)};
#undef X

static bool read_plain(struct profile *profile, const struct read_input *input,
                       struct read_error *error);
static void clean_words(struct profile *profile);
static size_t skip_warnings(struct profile *profile, const struct read_input *input);
static bool moment_fits(const struct profile *profile, const struct reader *reader, const char *at,
                        struct read_error *error);
static bool refuse_unknown(const struct read_input *input, struct read_error *error);
static bool slurp_path(const char *path, struct paged *pages, struct read_error *error);
static void wait_for_writer(int fd, const char *path);
static bool slurp(int fd, struct paged *pages, struct read_error *error);
static bool is_known(const struct read_input *input);

bool profile_read(struct profile *profile, const struct read_input *input, struct read_error *error)
{
    struct read_input plain = *input;
    struct paged layers[LAYERS_MAX] = {{0}};
    enum unpack_result result = UNPACK_WHOLE;
    for (unsigned i = 0; i < LAYERS_MAX; i++) {
        result = unpack(plain.bytes, plain.size, &layers[i], error);
        if (result == UNPACK_PLAIN || result == UNPACK_REFUSED)
            break;
        if (result == UNPACK_TORN) {
            profile->torn = true;
            profile_warn(profile, "the compressed data ends early; the part before was read");
        }
        if (plain.pages)
            paged_release(plain.bytes, 0, plain.size);
        plain.bytes = layers[i].bytes ? layers[i].bytes : "";
        plain.size = layers[i].size;
        plain.pages = true;
    }
    bool done = result != UNPACK_REFUSED && read_plain(profile, &plain, error);
    if (done) {
        estimate_take(profile);
        clean_words(profile);
    }
    for (unsigned i = 0; i < LAYERS_MAX; i++)
        paged_free(&layers[i]);
    return done;
}

static uint32_t cleaned(struct profile *profile, uint32_t string)
{
    const char *text = profile_text(profile, string);
    char *clean = strdup(text);
    if (clean == NULL) {
        profile->failed = true;
        return string;
    }
    style_clean(clean);
    if (strcmp(clean, text) != 0)
        string = profile_string_of(profile, clean);
    free(clean);
    return string;
}

/* Names of values, units, clocks and build ids go to the terminal as they are: nothing in them may
 * steer it. Names of functions, files and threads are kept, and cleaned where they are printed. */
static void clean_words(struct profile *profile)
{
    struct profile_type *period = &profile->period_type;
    for (unsigned i = 0; i < profile->types; i++) {
        profile->type[i].name = cleaned(profile, profile->type[i].name);
        profile->type[i].unit = cleaned(profile, profile->type[i].unit);
    }
    period->name = cleaned(profile, period->name);
    period->unit = cleaned(profile, period->unit);
    profile->clock.source = cleaned(profile, profile->clock.source);
    for (uint32_t i = 0; i < profile->mappings.count; i++) {
        struct profile_mapping *mapping = (struct profile_mapping *)profile->mappings.items + i;
        mapping->build_id = cleaned(profile, mapping->build_id);
    }
}

static bool read_plain(struct profile *profile, const struct read_input *input,
                       struct read_error *error)
{
    struct read_input rest = *input;
    size_t skipped = skip_warnings(profile, input);
    rest.bytes += skipped;
    rest.size -= skipped;
    if (rest.size == 0)
        return read_refuse(error, skipped,
                           profile->torn ? "it ends before any data can be unpacked"
                                         : "it is empty");
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        if (!readers[i]->is(&rest))
            continue;
        profile->format = readers[i]->name;
        profile->traits = readers[i]->traits;
        place_begin("reading", rest.bytes, rest.size);
        bool done = readers[i]->read(&rest, profile, error);
        if (profile->failed)
            return read_refuse(error, 0, "not enough memory for a profile of %zu bytes",
                               input->size);
        error->offset += done ? 0 : skipped;
        if (done && !moment_fits(profile, readers[i], input->options.at, error))
            return false;
        if (done && !profile_sums_fit(profile))
            return read_refuse(error, 0,
                               "its numbers add up to more than 64 bits hold: the file is damaged");
        return done;
    }
    return refuse_unknown(&rest, error);
}

/* Servers may put lines for people in front of anything. */
static size_t skip_warnings(struct profile *profile, const struct read_input *input)
{
    size_t at = 0;
    while (input->size - at > 5 && memcmp(input->bytes + at, "%warn", 5) == 0) {
        const char *line = input->bytes + at + 5;
        const char *end = memchr(line, '\n', input->size - at - 5);
        if (!end)
            break;
        int length = end - line > 300 ? 300 : (int)(end - line);
        if (profile->warnings.count < WARNINGS_MAX)
            profile_warn(profile, "the profile says:%.*s", length, line);
        at = (size_t)(end + 1 - input->bytes);
    }
    return at;
}

/* Formats of one moment have its end, and may have counted what was live at the peak. */
static bool moment_fits(const struct profile *profile, const struct reader *reader, const char *at,
                        struct read_error *error)
{
    uint64_t value;
    enum read_moment moment = read_moment(at, &value);
    if (reader->traits & TRAIT_MOMENTS || moment == MOMENT_END ||
        (moment == MOMENT_PEAK && profile_type_named(profile, TYPE_PEAK_SPACE) >= 0))
        return true;
    return read_lacks(error,
                      "a profile of this format (%s) has a single moment, so there is no '%s'",
                      reader->name, at);
}

/* What it begins with, and what there could have been. */
static bool refuse_unknown(const struct read_input *input, struct read_error *error)
{
    char text[SHOWN + 1], hex[SHOWN * 3 + 1], names[300];
    size_t shown = input->size < SHOWN ? input->size : SHOWN, used = 0;
    hex[0] = 0;
    for (size_t i = 0; i < shown; i++) {
        unsigned char byte = (unsigned char)input->bytes[i];
        text[i] = byte >= ' ' && byte < 0x7f ? (char)byte : '.';
        snprintf(hex + i * 3, 4, " %02x", byte);
    }
    text[shown] = 0;
    names[0] = 0;
    for (size_t i = 0; i < COUNT_OF(readers) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                                 readers[i]->name);
    if (input->size > 7 && memcmp(input->bytes, "Total: ", 7) == 0)
        return read_refuse(error, 0,
                           "a table printed by jeprof or pprof, which has no stacks; give the "
                           "profile it was made from");
    return read_refuse(error, 0, "unknown format: it begins with \"%s\" (%s); known formats are %s",
                       text, hex + (shown > 0), names);
}

bool profile_read_file(struct profile *profile, const char *path,
                       const struct read_options *options, struct read_error *error)
{
    struct paged pages = {0};
    bool done = slurp_path(path, &pages, error);
    if (done && pages.bytes) {
        pages.bytes[pages.size] = 0;
        struct read_input input = {.name = path, .bytes = pages.bytes, .size = pages.size};
        input.pages = true;
        if (options)
            input.options = *options;
        done = pages.size > 0 ? profile_read(profile, &input, error)
                              : read_refuse(error, 0, "it is empty");
    }
    paged_free(&pages);
    profile_settle(profile);
    return done;
}

static bool slurp_path(const char *path, struct paged *pages, struct read_error *error)
{
    if (strcmp(path, "-") == 0)
        return slurp(STDIN_FILENO, pages, error);
    struct stat status;
    if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        return read_refuse(error, 0, "it is a socket");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode))
        wait_for_writer(fd, path);
    if (fd >= 0)
        fcntl(fd, F_SETFL, 0); /* O_NONBLOCK is for the opening alone */
    if (fd < 0)
        return read_refuse(error, 0, "it can't be opened: %s", strerror(errno));
    place_begin("loading", NULL, 0);
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        place_begin("loading", NULL, (size_t)status.st_size);
    bool done =
        fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0 ||
        paged_grow(pages, (size_t)status.st_size + 1) ||
        read_refuse(error, 0, "not enough memory for its %lld bytes", (long long)status.st_size);
    done = done && slurp(fd, pages, error);
    close(fd);
    return done;
}

/* A pipe with a name that no program writes to yet: as long as it takes, but not in silence. */
static void wait_for_writer(int fd, const char *path)
{
    enum { PATIENCE_MS = 1000, FOR_EVER = -1 }; /* programs in one pipeline start within less */
    struct pollfd pipe = {.fd = fd, .events = POLLIN};
    if (poll(&pipe, 1, PATIENCE_MS) == 0) {
        terminal_warn("%s is a pipe that nothing has been written to: waiting", path);
        poll(&pipe, 1, FOR_EVER);
    }
}

/* All there is, up to the end of the file or pipe. */
static bool slurp(int fd, struct paged *pages, struct read_error *error)
{
    size_t max = paged_spare() / 4 * 3;
    struct stat status;
    bool looked = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    for (;;) {
        struct read_input start = {.bytes = pages->bytes, .size = pages->size};
        if (!looked && pages->size >= LOOKED_AT && !is_known(&start))
            return refuse_unknown(&start, error);
        looked = looked || pages->size >= LOOKED_AT;
        if (pages->size == pages->room && pages->size >= HARMLESS && pages->size >= max)
            return read_refuse(error, pages->size,
                               "it has more bytes than this machine has free memory");
        if (pages->size == pages->room &&
            !paged_grow(pages, pages->room == 0 ? READ_ROOM : pages->room * 2))
            return read_refuse(error, pages->size, "not enough memory for it");
        size_t room = pages->room - pages->size;
        ssize_t got = read(fd, pages->bytes + pages->size, room < READ_MAX ? room : READ_MAX);
        place_at((const void *)(uintptr_t)pages->size);
        if (got > 0)
            pages->size += (size_t)got;
        else if (got == 0)
            return true;
        else if (errno == EISDIR)
            return read_refuse(error, 0, "it is a folder");
        else if (errno != EINTR)
            return read_refuse(error, pages->size, "it can't be read: %s", strerror(errno));
    }
}

/* By its start: packed, with lines for people, JSON, whose kind may stand at the end, or of a
 * format that a reader knows. */
static bool is_known(const struct read_input *input)
{
    static const char *const starts[] = {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "%warn", "{"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncmp(input->bytes, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (readers[i]->is(input))
            return true;
    return false;
}
