/* SPDX-License-Identifier: MIT */
/*
 * `memoir shell`: every verb without `memoir` and without the profile, which is loaded once: each
 * command that reads profiles asks this session again. Its output may go elsewhere, which is undone
 * after it, and Ctrl-C ends the command and not the shell. Commands that read no profile (run, ctl,
 * jeprof, ...) may end the process or become another: they run in a child.
 *
 *      focus=Parser     a setting: goes as --focus Parser with every verb that has such a flag
 *      top20            pprof's way of saying top --rows 20
 *      top > file       also >> file and | command
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/command/command.h"
#include "tool/memory/memory.h"
#include "tool/session.h"
#include "tool/shell_line.h"
#include "tool/shell_words.h"
#include "tool/terminal/terminal.h"

enum { SETTINGS_MAX = 24 };

struct setting {
    enum flag_id id;
    const char *flag; /* its name */
    char *value;      /* NULL: not set */
};

struct shell {
    struct request *request; /* of the shell itself */
    struct setting settings[SETTINGS_MAX];
    size_t settings_count;
    bool ended;
};

/* Where a command's output goes, and what was there before. */
struct diversion {
    FILE *file, *pipe;
    int input, output; /* descriptors 0 and 1 of the shell */
    struct sigaction closed;
};

static bool shell_render(struct request *request, struct error *error);
static void interrupted(int signal);
static bool is_setting(const struct command_flag *flag);
static void prompt_make(const struct shell *shell, char *prompt, size_t size);
static void line_run(struct shell *shell, struct shell_words *line);
static void settings_show(const struct shell *shell);
static bool setting_take(struct shell *shell, char **words);
static struct setting *setting_find(struct shell *shell, const char *name, size_t length);
static bool setting_fits(const struct shell *shell, const struct setting *setting, char *value);
static struct setting *setting_of(struct shell *shell, enum flag_id id);
static void setting_set(struct setting *setting, const char *value);
static void help_here(void);
static const struct command *command_find(char *word, char **rows);
static char **command_words(const struct shell *shell, const struct command *command, char **words,
                            const char *rows);
static void command_ask(const struct shell *shell, const struct command *command, char **words,
                        const struct shell_words *line);
static bool divert_start(struct diversion *divert, const struct shell_words *line);
static void nothing_done(int signal);
static bool command_run(const struct shell *shell, const struct command *command, char **words,
                        struct error *error);
static void divert_end(struct diversion *divert);
static void descriptor_restore(int kept, int descriptor);
static void command_start(const struct shell *shell, const struct command *command, char **words,
                          const struct shell_words *line);

bool verb_shell(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .viewless = true, .no_patterns = true, .pins = true, .render = shell_render};
    return session_ask(arguments, &answer, NULL, error);
}

static bool shell_render(struct request *request, struct error *error)
{
    struct shell shell = {.request = request};
    struct sigaction action = {.sa_handler = interrupted}, before;
    char prompt[160];
    (void)error;
    for (size_t i = 0; i < commands_flags_count && shell.settings_count < SETTINGS_MAX; i++)
        if (is_setting(&commands_flags[i]))
            shell.settings[shell.settings_count++] =
                (struct setting){commands_flags[i].id, commands_flags[i].name, NULL};
    sigaction(SIGINT, &action, &before);
    shell_line_start(request->profile);
    while (!shell.ended) {
        struct shell_words line;
        prompt_make(&shell, prompt, sizeof prompt);
        char *text = shell_line_read(prompt);
        if (!text)
            break;
        if (!shell_words_split(&line, text))
            fprintf(stderr, "%s\n", line.error);
        else
            line_run(&shell, &line);
        shell_words_free(&line);
        free(text);
    }
    shell_line_end();
    sigaction(SIGINT, &before, NULL);
    for (size_t i = 0; i < shell.settings_count; i++)
        free(shell.settings[i].value);
    return true;
}

static void interrupted(int signal)
{
    (void)signal;
    terminal_stop();
    shell_line_interrupt();
}

/* Flags that make no sense for a whole session. */
static bool is_setting(const struct command_flag *flag)
{
    static const enum flag_id others[] = {
        FLAG_BASE,     FLAG_JSON,    FLAG_CSV,     FLAG_OUTPUT,  FLAG_AT,
        FLAG_PROGRAM,  FLAG_FETCH,   FLAG_SYSROOT, FLAG_VERBOSE, FLAG_DEBUG_PATH,
        FLAG_NO_CACHE, FLAG_SECONDS, FLAG_SINCE,   FLAG_UNTIL};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (flag->id == others[i])
            return false;
    return flag->command == COMMAND_READERS;
}

/* memoir:a.out live 1.3G> */
static void prompt_make(const struct shell *shell, char *prompt, size_t size)
{
    const struct profile *profile = shell->request->profile;
    const char *name = profile_text(profile, profile->program);
    const char *unit = "";
    unsigned type = profile->default_type;
    double sum = 0;
    char value[32] = "", program[64];
    if (*name == '\0')
        name = shell->request->name;
    snprintf(program, sizeof program, "%s", name_base(name));
    terminal_clean(program, strlen(program));
    for (size_t i = 0; i < shell->settings_count; i++)
        if (shell->settings[i].id == FLAG_METRIC && shell->settings[i].value) {
            struct error ignored;
            struct request other = *shell->request;
            if (request_metric(&other, shell->settings[i].value, &ignored))
                type = other.options.type;
        }
    if (type < profile->types) {
        static const char *const prefixes[] = {[BLOCKS_OTHER] = "",
                                               [BLOCKS_ALLOCATED] = "alloc ",
                                               [BLOCKS_LIVE] = "live ",
                                               [BLOCKS_AT_PEAK] = "peak "};
        const char *of_type = profile_text(profile, profile->type[type].name);
        for (size_t i = 0; i < profile->samples.count; i++)
            sum += (double)profile->samples.values[type][i];
        style_value(value, sum, profile_unit(profile, profile->type[type]));
        unit = prefixes[profile_type_blocks(of_type)];
    }
    char *space = strchr(value, ' ');
    if (space && strchr("KMGTP", space[1]) && space[1])
        snprintf(space, 3, "%c", space[1]);
    snprintf(prompt, size, "memoir:%s %s%s> ", program, unit, value);
}

static void line_run(struct shell *shell, struct shell_words *line)
{
    char **words = line->words, *rows;
    if (!words[0])
        return;
    if (strcmp(words[0], "quit") == 0 || strcmp(words[0], "exit") == 0 ||
        strcmp(words[0], "q") == 0) {
        shell->ended = true;
        return;
    }
    if (!words[1] && (strcmp(words[0], "set") == 0 || strcmp(words[0], "o") == 0)) {
        settings_show(shell);
        return;
    }
    if (setting_take(shell, words))
        return;
    if (!words[1] && !line->file && !line->pipe &&
        (strcmp(words[0], "help") == 0 || strcmp(words[0], "?") == 0)) {
        help_here();
        return;
    }
    const struct command *command = command_find(words[0], &rows);
    if (command && command->id == COMMAND_SHELL) {
        fprintf(stderr, "this is already the shell; 'quit' leaves it\n");
        return;
    }
    if (!command) {
        const char *nearest = commands_nearest(words[0]);
        fprintf(stderr, "no command '%s'%s%s%s; 'help' lists the commands\n", words[0],
                nearest ? ", the nearest is '" : "", nearest ? nearest : "", nearest ? "'" : "");
        return;
    }
    char **all = command_words(shell, command, words + 1, rows);
    if (all && commands_reads(command))
        command_ask(shell, command, all, line);
    else if (all)
        command_start(shell, command, all, line);
    free(all);
}

static void settings_show(const struct shell *shell)
{
    for (size_t i = 0; i < shell->settings_count; i++)
        printf("%s=%s\n", shell->settings[i].flag + 2,
               shell->settings[i].value ? shell->settings[i].value : "");
}

/* `name=value`, and the words of pprof's shell that are settings by themselves. */
static bool setting_take(struct shell *shell, char **words)
{
    static const struct {
        const char *word;
        enum flag_id flag;
        const char *value;
    } alone[] = {
        {"cum", FLAG_SORT, "total"},         {"flat", FLAG_SORT, "self"},
        {"functions", FLAG_BY, "function"},  {"lines", FLAG_BY, "line"},
        {"files", FLAG_BY, "file"},          {"addresses", FLAG_BY, "address"},
        {"noinlines", FLAG_NO_INLINES, "1"},
    };
    size_t length = strcspn(words[0], "=");
    if (words[0][length] == '=') {
        struct setting *setting = setting_find(shell, words[0], length);
        if (!setting) {
            fprintf(stderr, "no setting '%.*s'; 'set' lists the settings\n", (int)length, words[0]);
            return true;
        }
        char *value = words[0] + length + 1;
        if (*value == '\0' && words[1])
            value = words[1];
        if (setting_fits(shell, setting, value))
            setting_set(setting, value);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(alone) && !words[1]; i++)
        if (strcmp(words[0], alone[i].word) == 0) {
            setting_set(setting_of(shell, alone[i].flag), alone[i].value);
            return true;
        }
    return false;
}

static struct setting *setting_find(struct shell *shell, const char *name, size_t length)
{
    static const struct {
        const char *word;
        enum flag_id flag;
    } also[] = {
        {"sample_index", FLAG_METRIC}, {"nodecount", FLAG_ROWS},     {"n", FLAG_ROWS},
        {"granularity", FLAG_BY},      {"tagfocus", FLAG_TAG_FOCUS}, {"tagignore", FLAG_TAG_IGNORE},
        {"show_from", FLAG_FROM},      {"prune_from", FLAG_PRUNE},
    };
    for (size_t i = 0; i < COUNT_OF(also); i++)
        if (strlen(also[i].word) == length && memcmp(also[i].word, name, length) == 0)
            return setting_of(shell, also[i].flag);
    for (size_t i = 0; i < shell->settings_count; i++) {
        const char *flag = shell->settings[i].flag + 2;
        if (strlen(flag) == length && memcmp(flag, name, length) == 0)
            return &shell->settings[i];
    }
    return NULL;
}

/* Whether a verb would take the value; says why not. */
static bool setting_fits(const struct shell *shell, const struct setting *setting, char *value)
{
    struct error error = {.status = ERROR_USAGE};
    struct arguments arguments = {0};
    struct request like = *shell->request;
    char flag[64], *words[] = {flag, value, NULL};
    snprintf(flag, sizeof flag, "%s", setting->flag);
    if (*value == '\0' || setting->id == FLAG_NO_INLINES)
        return true;
    bool ok = arguments_parse(&arguments, &commands[COMMAND_TOP], words, &error) &&
              (setting->id != FLAG_METRIC || request_metric(&like, value, &error));
    arguments_free(&arguments);
    if (!ok)
        terminal_error(&error);
    return ok;
}

static struct setting *setting_of(struct shell *shell, enum flag_id id)
{
    for (size_t i = 0; i < shell->settings_count; i++)
        if (shell->settings[i].id == id)
            return &shell->settings[i];
    return NULL;
}

static void setting_set(struct setting *setting, const char *value)
{
    if (!setting)
        return;
    free(setting->value);
    setting->value = *value ? strdup(value) : NULL;
}

/* The commands that have an answer about the profile that is open, and what is of this place. */
static void help_here(void)
{
    enum { WIDTH = 16 };
    static const char *const ways[][2] = {
        {"WORD -WORD", "after a command: keep stacks that match WORD, leave out the others"},
        {"focus=RE", "applies to all following commands; focus= ends it, set lists the "
                     "settings"},
        {"top5", "20 rows"},
        {"... > FILE", "write to a file; ... | PROGRAM pipes to a program"},
        {"help COMMAND", "explain a command; help -a also lists commands without a profile"},
        {"quit", "or the end of input"},
    };
    for (size_t i = 0; i < commands_count; i++)
        if (commands_reads(&commands[i]) && i != COMMAND_SHELL)
            terminal_row(stdout, commands[i].verb, commands[i].brief, WIDTH);
    putchar('\n');
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        terminal_row(stdout, ways[i][0], ways[i][1], WIDTH);
    fflush(stdout);
}

/* The verb of a word, and the number behind it: top20. */
static const struct command *command_find(char *word, char **rows)
{
    const struct command *command = commands_find(word);
    size_t length = strlen(word);
    *rows = NULL;
    while (!command && length > 1 && isdigit((unsigned char)word[length - 1]))
        length--;
    if (!command && word[length] != '\0') {
        char digit = word[length];
        word[length] = '\0';
        command = commands_find(word);
        word[length] = digit;
        *rows = word + length;
    }
    return command;
}

/* The flags of the settings, then the user's words. `top20` has become top and --rows 20. */
static char **command_words(const struct shell *shell, const struct command *command, char **words,
                            const char *rows)
{
    size_t count = 0, max = 2 * SETTINGS_MAX + 8;
    while (words[count])
        count++;
    char **all = calloc(count + max, sizeof *all);
    size_t at = 0;
    bool profile = commands_reads(command);
    if (!all)
        return NULL;
    for (size_t i = 0; i < shell->settings_count && profile; i++) {
        if (!shell->settings[i].value)
            continue;
        all[at++] = (char *)(uintptr_t)shell->settings[i].flag;
        if (shell->settings[i].id != FLAG_NO_INLINES)
            all[at++] = shell->settings[i].value;
    }
    if (rows && profile) {
        all[at++] = (char *)(uintptr_t)commands_flag_name(FLAG_ROWS);
        all[at++] = (char *)(uintptr_t)rows;
    }
    for (size_t i = 0; i < count; i++) {
        bool number = profile && !rows && words[i][0] &&
                      words[i][strspn(words[i], "0123456789")] == '\0' &&
                      (i == 0 || words[i - 1][0] != '-');
        if (number) /* `top 20` */
            all[at++] = (char *)(uintptr_t)commands_flag_name(FLAG_ROWS);
        all[at++] = words[i];
    }
    return all;
}

/* Asks the session. */
static void command_ask(const struct shell *shell, const struct command *command, char **words,
                        const struct shell_words *line)
{
    struct error error = {.status = ERROR_USAGE};
    struct diversion divert;
    bool quiet = terminal_is_quiet();
    fflush(stdout);
    terminal_resume();
    if (!divert_start(&divert, line))
        return;
    shortage_forget();
    terminal_start(); /* for this output */
    if (quiet)
        terminal_quiet();
    bool ok = command_run(shell, command, words, &error);
    bool stopped = terminal_is_stopped();
    if (stopped)
        fputc('\n', stderr);
    else if (!ok)
        terminal_error(&error);
    divert_end(&divert);
    terminal_start();
    if (quiet)
        terminal_quiet();
}

/* Standard output as the line says; our lines are not the command's input. A pipe that is closed
 * early is an error of writing, which ends nothing; the handler is not inherited by programs. */
static bool divert_start(struct diversion *divert, const struct shell_words *line)
{
    const struct sigaction closed = {.sa_handler = nothing_done};
    *divert = (struct diversion){.input = -1, .output = -1};
    if (line->file) {
        divert->file = output_open(line->file, line->append);
        if (!divert->file) {
            fprintf(stderr, "%s can't be written: %s\n", line->file, strerror(errno));
            return false;
        }
    }
    divert->pipe = line->pipe ? popen(line->pipe, "we") : NULL;
    if (line->pipe && !divert->pipe) {
        fprintf(stderr, "%s can't be started: %s\n", line->pipe, strerror(errno));
        if (divert->file)
            fclose(divert->file);
        return false;
    }
    sigaction(SIGPIPE, &closed, &divert->closed);
    divert->output = fcntl(1, F_DUPFD_CLOEXEC, 3);
    FILE *to = divert->pipe ? divert->pipe : divert->file;
    if (to)
        dup2(fileno(to), 1);
    int nothing = isatty(0) ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        divert->input = fcntl(0, F_DUPFD_CLOEXEC, 3);
        dup2(nothing, 0);
        close(nothing);
    }
    return true;
}

static void nothing_done(int signal)
{
    (void)signal;
}

/* The command with its words; false: *error says why. */
static bool command_run(const struct shell *shell, const struct command *command, char **words,
                        struct error *error)
{
    struct arguments arguments = {0};
    struct error ending;
    bool ok = arguments_parse(&arguments, command, words, error);
    arguments.session = shell->request->of;
    if (ok && arguments.help)
        help_command(command);
    else if (ok)
        ok = command->run(&arguments, error) || error->status == ERROR_FOUND;
    ok = ok && output_whole(error);
    progress_end();
    ok = terminal_end(ok ? error : &ending) && ok; /* the pager, in any case */
    arguments_free(&arguments);
    if (!ok && error->status == ERROR_USAGE && error->hint[0] == '\0')
        error_hint(error, "help %s", command->verb);
    return ok;
}

static void divert_end(struct diversion *divert)
{
    fflush(stdout);
    __fpurge(stdout); /* what can't be written is not for the next command */
    clearerr(stdout);
    descriptor_restore(divert->output, 1);
    descriptor_restore(divert->input, 0);
    if (divert->pipe)
        pclose(divert->pipe);
    if (divert->file)
        fclose(divert->file);
    sigaction(SIGPIPE, &divert->closed, NULL);
}

static void descriptor_restore(int kept, int descriptor)
{
    if (kept < 0)
        return;
    dup2(kept, descriptor);
    close(kept);
}

/* In a child, whose end is the end of the command. */
static void command_start(const struct shell *shell, const struct command *command, char **words,
                          const struct shell_words *line)
{
    struct error error = {.status = ERROR_USAGE};
    struct diversion divert;
    int status = 0;
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "the command can't be started: %s\n", strerror(errno));
        return;
    }
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        if (!divert_start(&divert, line))
            _exit(ERROR_INPUT);
        signal(SIGPIPE, SIG_DFL);
        terminal_start();
        bool ok = command_run(shell, command, words, &error);
        if (!ok)
            terminal_error(&error);
        divert_end(&divert);
        _exit(ok ? 0 : (int)error.status);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        fputc('\n', stderr);
    else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE) /* of `ps | head` */
        fprintf(stderr, "the command was ended by %s\n", strsignal(WTERMSIG(status)));
}
