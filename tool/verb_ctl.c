/* SPDX-License-Identifier: MIT */
/*
 * `memoir ctl`: its words become one line for the process. A file to write is made here, with the
 * rights of the user who asks, and only its descriptor goes to the process.
 */
#include "tool/verb_ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attach_protocol.h"
#include "base/config.h"
#include "base/nearest.h"
#include "tool/command/command.h"
#include "tool/picture_kind.h"
#include "tool/process/process.h"
#include "tool/profile/profile.h"
#include "tool/profile/write/write.h"
#include "tool/terminal/terminal.h"

/* One process to ask, and where its answers go. */
struct asking {
    struct process process;
    bool as_json, begun; /* the object is open: it begins with the first answer */
    struct json json;
    struct error *error;
};

static bool answers_print(struct asking *asking, const struct arguments *arguments);
static bool files_few(char **words, enum ctl_id verb, struct error *error);
static bool words_send(struct asking *asking, const char *verb, char **words, int fd);
static bool refuse(struct asking *asking, const char *line, const char *answer);
static bool refuse_verb(struct asking *asking, const char *verb);
static bool refuse_option(struct asking *asking, const char *option);
static bool refuse_dump(struct asking *asking, const char *name, const char *cause, bool of_heap);
static void path_complete(const struct process *process, const char *name, char path[PATH_MAX]);
static const char *word_nearest(const char *word, size_t length);
static const char *option_nearest(const char *word, size_t length, size_t *found);
static void answer_print(struct asking *asking, const char *answer);
static void json_begin(struct asking *asking);
static void fact_put(struct asking *asking, const char *key, const char *value);
static bool format_choose(const char *file, pid_t pid, const char **format, struct error *error);
static bool dump_make(struct asking *asking, const char *file, const char *format);
static bool recording_begin(struct asking *asking, const char *file);

bool ctl_run(const struct arguments *arguments, struct error *error)
{
    struct asking asking = {.error = error};
    if (!ctl_process(arguments->operands[0], &asking.process, error))
        return false;
    asking.as_json = arguments_value(arguments, FLAG_JSON);
    bool done = answers_print(&asking, arguments);
    if (done && asking.as_json)
        json_begin(&asking);
    if (asking.begun) {
        json_end(&asking.json);
        json_end(&asking.json);
    }
    return done;
}

static bool answers_print(struct asking *asking, const struct arguments *arguments)
{
    char **words = arguments->operands + 1;
    enum ctl_id verb = words[0] ? commands_ctl_find(words[0]) : CTL_SHOW;
    if (!files_few(words, verb, asking->error))
        return false;
    if (verb == CTL_DUMP) {
        const char *format = arguments_value(arguments, FLAG_FORMAT);
        return format_choose(words[1], asking->process.pid, &format, asking->error) &&
               dump_make(asking, words[1], format);
    }
    if (verb == CTL_RECORD && words[1] && commands_ctl_find(words[1]) != CTL_STOP)
        return recording_begin(asking, words[1]);
    if (verb == CTL_SET && words[1] && strchr(words[1], '='))
        words++;
    if (words[0] && strchr(words[0], '=')) {
        for (; *words; words++)
            if (!words_send(asking, commands_ctl[CTL_SET].word, (char *[]){*words, NULL}, -1))
                return false;
        return true;
    }
    return words_send(asking, words[0] ? "" : commands_ctl[CTL_SHOW].word, words, -1);
}

/* A verb that writes a file writes one. */
static bool files_few(char **words, enum ctl_id verb, struct error *error)
{
    if (verb == CTL_OTHER || commands_ctl[verb].follows != CTL_FILE || !words[1] || !words[2])
        return true;
    return error_set(error, ERROR_USAGE, "%s takes one FILE, but got '%s' and '%s'", words[0],
                     words[1], words[2]);
}

bool ctl_process(const char *word, struct process *process, struct error *error)
{
    char *end;
    long value = strtol(word, &end, 10);
    if (*end != '\0' || value <= 0 || value > 1 << 22) {
        error_set(error, ERROR_USAGE, "'%s' is not a process id", word);
        return error_hint(error, "memoir ps");
    }
    if (process_read(process, (pid_t)value))
        return true;
    attach_sweep();
    error_set(error, ERROR_TARGET, "no process %ld", value);
    return error_hint(error, "memoir ps");
}

/* Sends `verb` (or "") and the words as one line, and prints the answer. */
static bool words_send(struct asking *asking, const char *verb, char **words, int fd)
{
    char line[ATTACH_LINE_MAX + 1];
    char *answer = NULL;
    size_t length = (size_t)snprintf(line, sizeof line, "%s", verb);
    for (; *words; words++) {
        if (strchr(*words, '\n') || length + strlen(*words) + 2 > sizeof line)
            return error_set(asking->error, ERROR_USAGE,
                             "the command is too long or has several lines");
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s",
                                   length > 0 ? " " : "", *words);
    }
    bool done = attach_ask(&asking->process, line, fd, &answer, asking->error);
    if (done)
        answer_print(asking, answer);
    else if (answer)
        refuse(asking, line, answer);
    free(answer);
    return done;
}

/* Adds the next step to what the process answered, where it is known. */
static bool refuse(struct asking *asking, const char *line, const char *answer)
{
    const char *verb = line + strspn(line, " "), *option = verb + strcspn(verb, " ");
    const char *dump = attach_fact(answer, "dump"), *cause = attach_fact(answer, "cause");
    if (asking->error->code == ATTACH_NO_VERB)
        return refuse_verb(asking, verb);
    if (asking->error->code == ATTACH_NO_OPTION)
        return refuse_option(asking, option + strspn(option, " "));
    bool of_heap = (size_t)(option - verb) == strlen(commands_ctl[CTL_DUMP].word) &&
                   strncmp(verb, commands_ctl[CTL_DUMP].word, (size_t)(option - verb)) == 0;
    return dump && cause && refuse_dump(asking, dump, cause, of_heap);
}

static bool refuse_verb(struct asking *asking, const char *verb)
{
    const char *best = word_nearest(verb, strcspn(verb, " "));
    return best ? error_hint(asking->error, "did you mean %s?", best)
                : error_hint(asking->error, "memoir ctl %d help", asking->process.pid);
}

static bool refuse_option(struct asking *asking, const char *option)
{
    size_t found = 0;
    const char *best = option_nearest(option, strcspn(option, " =:"), &found);
    return best ? error_hint(asking->error, "did you mean %.*s?", (int)found, best)
                : error_hint(asking->error, "memoir ctl %d show", asking->process.pid);
}

/* Where the process puts its dumps can't change while it runs; a file of the caller's can. */
static bool refuse_dump(struct asking *asking, const char *name, const char *cause, bool of_heap)
{
    char file[PATH_MAX], path[PATH_MAX];
    snprintf(file, sizeof file, "%.*s", (int)strcspn(name, "\n"), name);
    path_complete(&asking->process, file, path);
    error_set(asking->error, asking->error->status, "process %d: no dump %s: %.*s",
              asking->process.pid, path, (int)strcspn(cause, "\n"), cause);
    return of_heap && error_hint(asking->error, "memoir ctl %d dump FILE", asking->process.pid);
}

static const char *word_nearest(const char *word, size_t length)
{
    const char *best = NULL;
    size_t best_distance = nearest_max(length) + 1;
    for (size_t i = 0; i < commands_ctl_count; i++) {
        const char *known = commands_ctl[i].word;
        size_t distance = nearest_distance(word, length, known, strlen(known));
        if (distance < best_distance) {
            best_distance = distance;
            best = known;
        }
    }
    return best;
}

static const char *option_nearest(const char *word, size_t length, size_t *found)
{
    const char *best = NULL;
    size_t best_distance = nearest_max(length) + 1;
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        const char *key = config_options[i].key, *last = strrchr(key, '.'); /* rate: heap.rate */
        size_t distance = nearest_distance(word, length, key, strlen(key));
        if (last && distance > 0 && nearest_distance(word, length, last + 1, strlen(last + 1)) == 0)
            distance = 0;
        if (distance < best_distance) {
            best_distance = distance;
            best = key;
            *found = strlen(key);
        }
    }
    return best;
}

/* A relative name is relative to the folder of the process, which the kernel tells. */
static void path_complete(const struct process *process, const char *name, char path[PATH_MAX])
{
    char link[32], folder[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/cwd", process->pid);
    ssize_t length = name[0] == '/' ? -1 : readlink(link, folder, sizeof folder - 1);
    if (length <= 0 || (size_t)length + strlen(name) + 2 > PATH_MAX)
        snprintf(path, PATH_MAX, "%s", name);
    else
        snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folder, name);
}

/* Lines "key:value"; those of `help` have a space behind the colon. */
static void answer_print(struct asking *asking, const char *answer)
{
    char key[128], value[PATH_MAX], path[PATH_MAX];
    for (const char *end; *answer; answer = end) {
        size_t name = strcspn(answer, ":\n");
        end = answer + strcspn(answer, "\n");
        const char *rest = answer[name] == ':' ? answer + name + 1 : end;
        snprintf(key, sizeof key, "%.*s", (int)name, answer);
        snprintf(value, sizeof value, "%.*s", (int)(end - rest), rest);
        end += *end == '\n';
        if (strcmp(key, "dump") == 0)
            path_complete(&asking->process, value, path);
        else
            memcpy(path, value, sizeof path);
        if (asking->as_json)
            fact_put(asking, key, path);
        else
            printf("%s:%s\n", key, path);
    }
}

/* Once: a command that fails before its first answer prints no object. */
static void json_begin(struct asking *asking)
{
    struct json *json = &asking->json;
    if (asking->begun)
        return;
    asking->begun = true;
    json_start(json, stdout, true);
    json_object(json, NULL);
    json_text(json, "schema", "memoir.ctl/1");
    json_number(json, "pid", asking->process.pid);
    json_object(json, "answer");
}

static void fact_put(struct asking *asking, const char *key, const char *value)
{
    struct json *json = &asking->json;
    json_begin(asking);
    bool number = value[0] && strlen(value) < 19 && value[strspn(value, "0123456789")] == '\0';
    for (size_t i = 0; i < CONFIG_COUNT; i++) /* of an option: as it is written */
        number = number && strcmp(config_options[i].key, key) != 0;
    if (number)
        json_number(json, key, strtoll(value, NULL, 10));
    else
        json_text(json, key, value + (value[0] == ' '));
}

/* The format of the ending, unless --format says it. Endings that only `memoir export` can write
 * are refused, because a file should be what its name says. */
static bool format_choose(const char *file, pid_t pid, const char **format, struct error *error)
{
    const struct writer *writer = file && !*format ? write_find(file) : NULL;
    if (writer == &writer_pprof || writer == &writer_gperftools)
        *format = writer->word;
    else if (file && !*format && (writer || picture_format_of(file))) {
        error_set(error, ERROR_USAGE, "%s: a process writes .memoir, .pb.gz and .heap", file);
        return error_hint(error, "memoir export %d -o %s", pid, file);
    } else if (file && !*format) {
        const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
        *format = "memoir";
        if (dot && strcmp(dot, ".memoir") != 0 && !terminal_is_quiet())
            fprintf(stderr,
                    "memoir: %s: in memoir's format; .pb.gz and .heap choose another, as --format "
                    "does\n",
                    file);
    }
    return true;
}

static bool dump_make(struct asking *asking, const char *file, const char *format)
{
    char *words[] = {(char *)format, NULL};
    int fd = -1;
    if (file && !ctl_file(file, 0, &fd, asking->error))
        return false;
    bool ok = words_send(asking, commands_ctl[CTL_DUMP].word, words, fd);
    if (fd >= 0 && close(fd) != 0 && ok)
        ok = error_set(asking->error, ERROR_INPUT, "%s: %s", file, strerror(errno));
    if (fd >= 0 && !ok)
        unlink(file);
    if (fd >= 0 && ok && asking->as_json)
        fact_put(asking, commands_ctl[CTL_DUMP].word, file);
    else if (fd >= 0 && ok)
        output_say_file(file);
    return ok;
}

/* A recording grows until it is stopped or the process ends: the process keeps the file. */
static bool recording_begin(struct asking *asking, const char *file)
{
    static const char ending[] = ".memoir";
    size_t length = strlen(file), tail = strlen(ending);
    char *words[] = {NULL};
    int fd = -1;
    if (length <= tail || strcmp(file + length - tail, ending) != 0) {
        error_set(asking->error, ERROR_USAGE, "%s: the name of a recording ends in .memoir", file);
        return error_hint(asking->error, "memoir ctl %d record %s.memoir", asking->process.pid,
                          file);
    }
    if (!ctl_file(file, O_APPEND, &fd, asking->error))
        return false;
    bool ok = words_send(asking, commands_ctl[CTL_RECORD].word, words, fd);
    close(fd);
    if (!ok)
        unlink(file);
    if (!ok && asking->error->code == EBUSY)
        error_hint(asking->error, "memoir ctl %d record stop", asking->process.pid);
    return ok;
}

bool ctl_file(const char *path, int flags, int *fd, struct error *error)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (*fd >= 0)
        return true;
    int reason = errno;
    struct stat there;
    error_set(error, ERROR_INPUT, "can't write %s: %s", path, strerror(reason));
    if (reason == ENOENT || reason == ENOTDIR)
        return error_hint(error, "make its folder first, or give another name");
    if (reason == EEXIST && lstat(path, &there) == 0 && S_ISREG(there.st_mode))
        return error_hint(error, "rm %s, or give another name", path);
    return error_hint(error, "give another name");
}
