/* SPDX-License-Identifier: MIT */
/*
 * `memoir doctor`: why is there no data, why are there no names. A list of what was checked, each
 * with a mark, and what to do where something is wrong: of this machine, of a program that is to
 * be run, of a process, or of a profile.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/print.h"
#include "tool/advice.h"
#include "tool/command/command.h"
#include "tool/doctor.h"
#include "tool/process/process.h"
#include "tool/session.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"
#include "tool/verb_run.h"

enum mark { MARK_GOOD, MARK_NOTE, MARK_BAD };

struct doctor {
    FILE *out;
    struct output output; /* with --output: where that goes */
    struct json json;
    bool as_json;
    bool plain; /* into a file: no colours, lines as they are */
    unsigned bad, notes;
    doctor_found *found; /* NULL: prints */
    void *context;
};

/* One line of the list; `fix` NULL: there is nothing to do. */
__attribute__((format(printf, 4, 5))) static void doctor_say(struct doctor *doctor, enum mark mark,
                                                             const char *fix, const char *format,
                                                             ...)
{
    static const char *const marks[] = {"✓", "•", "✗"}, *const letters[] = {"ok", "--", "NO"},
                             *const words[] = {"good", "note", "bad"};
    static const enum terminal_paint paints[] = {TERMINAL_DIM, TERMINAL_YELLOW, TERMINAL_RED};
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    terminal_clean(text, strlen(text));
    doctor->bad += mark == MARK_BAD;
    doctor->notes += mark == MARK_NOTE;
    if (doctor->found) {
        if (mark != MARK_GOOD)
            doctor->found(doctor->context, text, fix ? fix : "");
        return;
    }
    if (doctor->as_json) {
        json_object(&doctor->json, NULL);
        json_text(&doctor->json, "result", words[mark]);
        json_text(&doctor->json, "text", text);
        if (fix && mark != MARK_GOOD)
            json_text(&doctor->json, "fix", fix);
        json_end(&doctor->json);
        return;
    }
    const char *sign = terminal_utf8() ? marks[mark] : letters[mark];
    if (doctor->plain)
        fputs(sign, doctor->out);
    else
        terminal_put(doctor->out, paints[mark], sign, 0);
    fprintf(doctor->out, " %s\n", text);
    if (fix && mark != MARK_GOOD)
        fprintf(doctor->out, "    %s %s\n", terminal_utf8() ? "→" : "->", fix);
}

/* The first line of a small file, or "". */
static const char *line_of(const char *path, char *text, int size)
{
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    if (file && fgets(text, size, file))
        text[strcspn(text, "\n")] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void check_library(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct error error = {0};
    if (launch_library(path, NULL, &error))
        doctor_say(doctor, MARK_GOOD, NULL, "the library: %s", path);
    else
        doctor_say(doctor, MARK_BAD, error.hint, "%s", error.text);
}

static void check_machine(struct doctor *doctor)
{
    static const struct {
        const char *library, *package, *use;
    } parts[] = {
        {"libdebuginfod.so.1", "apt-get install libdebuginfod1", "memoir symbols --fetch"},
        {"libcapstone.so.4", "apt-get install libcapstone4", "memoir disasm"},
        {"libgvc.so.6", "apt-get install libgvc6", "pictures of graphs"},
        {"libcurl.so.4", "apt-get install libcurl4", "profiles from a URL"},
    };
    char text[64];
    check_library(doctor);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        void *handle = dlopen(parts[i].library, RTLD_LAZY | RTLD_LOCAL);
        doctor_say(doctor, handle ? MARK_GOOD : MARK_NOTE, parts[i].package, "%s, for %s",
                   parts[i].library, parts[i].use);
        if (handle)
            dlclose(handle);
    }
    struct symbol_options options = {0};
    struct symbol_look look;
    Dl_info libc = {0};
    if (dladdr((const void *)(uintptr_t)atoi, &libc) == 0 || !libc.dli_fname)
        libc.dli_fname = "";
    symbol_look(libc.dli_fname, &options, &look);
    if (look.elf)
        doctor_say(doctor, look.quality == SYMBOL_FULL ? MARK_GOOD : MARK_NOTE,
                   "apt-get install libc6-dbg", "debug information of the C library%s",
                   look.quality == SYMBOL_FULL ? ""
                                               : " is missing: its frames have no line numbers");
    free(look.debug_file);
    const char *urls = getenv("DEBUGINFOD_URLS");
    doctor_say(doctor, urls && *urls ? MARK_GOOD : MARK_NOTE,
               "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org   (or your "
               "distribution's server), then --fetch",
               urls && *urls ? "DEBUGINFOD_URLS: debug information can be fetched"
                             : "DEBUGINFOD_URLS is not set: nothing can be fetched");
    line_of("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text);
    if (text[0] > '1')
        doctor_say(doctor, MARK_NOTE, "as root: sysctl kernel.yama.ptrace_scope=1",
                   "ptrace_scope is %s: only root can inspect other processes", text);
}

/* `name` is its path where it was installed. */
static void check_symbols(struct doctor *doctor, const char *path, const char *name, bool loaded)
{
    struct symbol_options options = {0};
    struct symbol_look look;
    char package[512];
    symbol_look(path, &options, &look);
    if (!look.elf) {
        doctor_say(doctor, MARK_NOTE, NULL, "%s is not an ELF file", path);
        return;
    }
    bool known = package_debug(name, package, sizeof package);
    if (look.quality == SYMBOL_FULL)
        doctor_say(doctor, MARK_GOOD, NULL, "it has debug information%s%s",
                   look.debug_file ? " in " : "", look.debug_file ? look.debug_file : "");
    else if (look.quality == SYMBOL_TABLE)
        doctor_say(doctor, MARK_NOTE, known ? package : "build it with -g",
                   "it has a symbol table but no debug information: names without lines");
    else
        doctor_say(doctor, MARK_BAD, known ? package : "build it with -g, and do not strip it",
                   "it is stripped: most of its functions have no name");
    if (look.build_id[0])
        doctor_say(doctor, MARK_GOOD, NULL, "build id %s", look.build_id);
    else
        doctor_say(doctor, MARK_NOTE, "link it with -Wl,--build-id",
                   "it has no build id: names are taken from the file at its path, which "
                   "may be another build");
    if (look.own_malloc && loaded)
        doctor_say(doctor, MARK_BAD,
                   "build it without its own allocator (jemalloc, tcmalloc, mimalloc), or link it "
                   "with -lmemoir first",
                   "it defines its own malloc, which takes precedence over any library");
    free(look.debug_file);
}

static void check_program(struct doctor *doctor, const char *path)
{
    static const struct {
        const char *text, *fix;
    } verdicts[] = {
        [INSPECT_FINE] = {"a library can be preloaded into %s", NULL},
        [INSPECT_STATIC] = {"%s is statically linked: nothing can be preloaded",
                            "link it with libmemoir.a, or dynamically"},
        [INSPECT_SECURE] = {"%s runs setuid, setgid or with capabilities: the loader ignores "
                            "LD_PRELOAD",
                            "run it as its owner, or link it with -lmemoir"},
        [INSPECT_MACHINE] = {"%s is for another machine or word size than the library",
                             "build libmemoir.so for it: memoir run --lib PATH"},
        [INSPECT_LOADER] = {"%s uses another C library than libmemoir.so",
                            "build libmemoir.so for it: memoir run --lib PATH"},
    };
    struct inspection found;
    char text[PATH_MAX + 128];
    inspect_program(&found, path);
    const char *fix = verdicts[found.verdict].fix;
    snprintf(text, sizeof text, verdicts[found.verdict].text, found.file); /* NOLINT */
    doctor_say(doctor, fix ? MARK_BAD : MARK_GOOD, fix, "%s", text);
    if (strcmp(found.file, path) != 0)
        doctor_say(doctor, MARK_NOTE, NULL, "it is a script that runs %s", found.file);
    check_library(doctor);
    const char *file = found.file[0] ? found.file : path;
    check_symbols(doctor, file, file, found.verdict != INSPECT_STATIC);
}

/* A number of /proc/PID/status. */
static long status_number(pid_t pid, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    return system_number(path, key);
}

static void check_answers(struct doctor *doctor, const struct process *process)
{
    struct error error = {0};
    char *answer = NULL, start[64];
    if (!attach_ask(process, "show", -1, &answer, &error)) {
        doctor_say(doctor, MARK_BAD, error.hint[0] ? error.hint : NULL, "%s", error.text);
        return;
    }
    doctor_say(doctor, MARK_GOOD, NULL, "it answers");
    snprintf(start, sizeof start, "memoir ctl %d start", process->pid);
    const char *heap = strstr(answer, "\nheap:");
    bool on = heap ? strncmp(heap, "\nheap:on", 8) == 0 : strncmp(answer, "heap:on", 7) == 0;
    doctor_say(doctor, on ? MARK_GOOD : MARK_BAD, start, "its heap is %s",
               on ? "recorded" : "not recorded");
    free(answer);
}

static bool check_process(struct doctor *doctor, pid_t pid, struct error *error)
{
    struct process process;
    char path[64], program[PATH_MAX], sudo[48];
    if (!process_read(&process, pid)) {
        error_set(error, ERROR_TARGET, "there is no process %d", pid);
        return error_hint(error, "memoir ps");
    }
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    doctor_say(doctor, MARK_GOOD, NULL, "process %d: %s", pid, process.command);
    snprintf(sudo, sizeof sudo, "sudo memoir doctor %d", pid);
    if (process.library == PROCESS_WITH)
        doctor_say(doctor, MARK_GOOD, NULL, "it runs with libmemoir %s", process.version);
    else if (process.library == PROCESS_UNKNOWN)
        doctor_say(doctor, MARK_BAD, sudo,
                   "its files can't be read: it belongs to another user or is protected");
    else
        doctor_say(doctor, MARK_BAD, "start it with   memoir run -- COMMAND",
                   "it runs without libmemoir, which can't be added to a running process");
    if (process.secure)
        doctor_say(doctor, MARK_BAD, "run it as its owner, or link it with -lmemoir",
                   "it runs setuid, setgid or with capabilities: the loader ignored "
                   "LD_PRELOAD");
    const char *refusal = attach_refusal(&process);
    if (process.library == PROCESS_WITH && refusal)
        doctor_say(doctor, MARK_BAD, NULL, "it can't be controlled: %s", refusal);
    else if (process.library == PROCESS_WITH)
        check_answers(doctor, &process);
    if (process.deaf)
        doctor_say(doctor, MARK_BAD, NULL, "all of its threads block SIGURG");
    if (status_number(pid, "Seccomp") == 2)
        doctor_say(doctor, MARK_NOTE,
                   "allow open and socket in its filter, or set the output before the "
                   "filter is in force: MEMOIR=...",
                   "it has a seccomp filter");
    if (status_number(pid, "TracerPid") > 0)
        doctor_say(doctor, MARK_NOTE, NULL, "a debugger is attached (process %ld)",
                   status_number(pid, "TracerPid"));
    if (program[0])
        check_symbols(doctor, path, program, true);
    return true;
}

/* The modules that most addresses without a name are in, and what would help. */
static void check_modules(struct doctor *doctor, const struct symbol_report *report)
{
    enum { MODULES_MAX = 5 };
    char advice[ADVICE_SIZE];
    for (size_t i = 0, said = 0; i < report->count && said < MODULES_MAX; i++) {
        const struct symbol_module *module = &report->modules[i];
        uint64_t known = module->named - module->guessed;
        advice_of(module, advice);
        if (advice[0] == '\0' || module->quality == SYMBOL_MISMATCH ||
            (module->locations - known) * 100 < report->locations)
            continue;
        const char *slash = strrchr(module->path, '/');
        said++;
        doctor_say(doctor, MARK_NOTE, advice, "%s: %lu of %lu addresses have a name",
                   slash             ? slash + 1
                   : module->path[0] ? module->path
                                     : "code outside of any file",
                   known, module->locations);
    }
}

static void check_names(struct doctor *doctor, const struct request *request)
{
    const struct symbol_report *report = request_symbols(request);
    struct profile_names names = profile_names_of(request->profile);
    double named = 100 * profile_names_share(request->profile);
    const char *word = request_word(request);
    char file[300], fix[400];
    snprintf(fix, sizeof fix, "memoir symbols %s   shows what is missing, and where to get it",
             suggest_quoted(file, sizeof file, word ? word : "FILE"));
    doctor_say(doctor,
               named >= 90   ? MARK_GOOD
               : named >= 50 ? MARK_NOTE
                             : MARK_BAD,
               fix, "%.1f %% of its %lu addresses have a name%s", named, names.addresses,
               names.nearest > 0 ? " better than the nearest symbol" : "");
    for (size_t i = 0; i < report->count; i++) {
        const struct symbol_module *module = &report->modules[i];
        if (module->quality == SYMBOL_MISMATCH)
            doctor_say(doctor, MARK_BAD,
                       "give the right build with --program or --debug-path, or use --fetch",
                       "%s is another build now: not used", module->path);
        if (module->unsure)
            doctor_say(doctor, MARK_NOTE, NULL,
                       "%s: found by its path, because the profile has no build id", module->path);
    }
    check_modules(doctor, report);
}

/* How many blocks the values of a column were estimated from. */
static double blocks_seen(const struct profile *profile, int type)
{
    double seen = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++) {
        bool site = profile->samples.weights && profile->samples.weights[i] > 1;
        if (site || !profile->counted) /* [not sampled] is no recorded block */
            seen += (double)profile->samples.values[type][i] /
                    profile_weight(profile, (unsigned)type, i);
    }
    return seen;
}

/* How well a sampled heap is known: all of it, and the places that matter. */
static void check_samples(struct doctor *doctor, const struct request *request)
{
    static const double good = 0.1, fair = 0.25, share_min = 0.01;
    const struct profile *profile = request->profile;
    struct view view = {0};
    struct view_error reason = {""};
    struct view_options options = request->options;
    char size[32], rate[32], advice[100];
    size_t count = 0, large = 0, known = 0;
    if (profile->period <= 1 || profile->kind != PROFILE_HEAP || profile->samples.count == 0)
        return;
    options.rows_only = true;
    options.base = NULL;
    if (!view_make(&view, profile, &options, &reason))
        return;
    /* The error of all samples together: no single site has a smaller one. */
    double whole = view_error_share((int64_t)view.total.spread.sampled, view.total.spread.raw);
    double seen = blocks_seen(profile, profile_type_partner(profile, request->options.type));
    struct view_row *rows = view_rows(&view, false, &count);
    for (size_t i = 0; rows && i < count; i++) {
        const struct view_value *self = &rows[i].self;
        if ((double)self->value < share_min * (double)view.total.value || self->value == 0)
            break;
        if (strcmp(view.frames[rows[i].frame].name, PROFILE_NOT_SAMPLED) == 0)
            continue;
        large++;
        known += view_error_share(self->value, self->variance) <= fair;
    }
    free(rows);
    /* The error falls with the root of the rate. */
    double better = 1, less = whole > good ? good / whole : 1;
    double wanted = (double)profile->period * less * less;
    while (better * 2 <= wanted)
        better *= 2;
    if (better >= 1024)
        snprintf(advice, sizeof advice, "memoir run --rate %.0fK for %s%.0f %%, --exact for none",
                 better / 1024, terminal_utf8() ? "±" : "+-", 100 * good);
    else
        snprintf(advice, sizeof advice, "memoir run --exact for no error");
    style_value(rate, (double)profile->period, "bytes");
    style_value(size, (double)view.total.value, view.unit);
    if (profile->counted)
        doctor_say(doctor, whole <= good ? MARK_GOOD : MARK_NOTE, advice,
                   "one block in %s was recorded, %.0f in all: the total of %s is exact, "
                   "sites are estimates",
                   rate, seen, size);
    else
        doctor_say(doctor, whole <= good ? MARK_GOOD : MARK_NOTE, advice,
                   "one block in %s was recorded, %.0f in all: the total of %s is known "
                   "to within %s%.0f %%",
                   rate, seen, size, terminal_utf8() ? "±" : "+-", 100 * whole);
    doctor_say(doctor, known * 2 >= large ? MARK_GOOD : MARK_NOTE, NULL,
               "%zu of the %zu sites above 1 %% are known to within %s%.0f %%", known, large,
               terminal_utf8() ? "±" : "+-", 100 * fair);
    view_free(&view);
}

/* Depths at which recorders give up. */
static bool is_limit(uint32_t depth)
{
    static const uint32_t limits[] = {30, 31, 32, 62, 63, 64, 127, 128, 254, 255, 256};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (limits[i] == depth)
            return true;
    return false;
}

/* The longest stacks, if they have the length of such a limit and begin where no other does. */
static void check_depth(struct doctor *doctor, const struct profile *profile)
{
    const struct profile_samples *samples = &profile->samples;
    uint8_t *roots = calloc(profile->locations.count + 1, 1);
    uint32_t count, max = 0;
    size_t cut = 0;
    for (size_t i = 0; i < samples->count; i++) {
        count = profile_depth_of(profile, samples->stacks[i]);
        max = count > max ? count : max;
    }
    for (int pass = 0; pass < 2 && roots && is_limit(max); pass++)
        for (size_t i = 0; i < samples->count; i++) {
            const uint32_t *frames = profile_frames_of(profile, samples->stacks[i], &count);
            if (count > 0 && count < max)
                roots[frames[count - 1]] = 1;
            else if (pass == 1 && count == max)
                cut += !roots[frames[count - 1]];
        }
    free(roots);
    if (cut > 0)
        doctor_say(doctor, MARK_NOTE,
                   max < 256 ? "memoir run --set heap.depth=256   records longer stacks" : NULL,
                   "%zu of its stacks end after %u frames, which looks cut off: their "
                   "outer callers are unknown, and miss them in their totals",
                   cut, max);
}

static void check_question(struct doctor *doctor, const struct request *request)
{
    const struct profile *profile = request->profile;
    doctor_say(doctor, MARK_GOOD, NULL, "%s: %s, %zu stacks", request->name, profile->format,
               profile->samples.count);
    doctor_say(doctor, profile->torn ? MARK_BAD : MARK_GOOD,
               "the program was killed or is still running, or the disk is full: the "
               "part that is there is correct",
               profile->torn ? "it ends early" : "it is complete");
    if (profile->samples.count == 0)
        doctor_say(doctor, MARK_BAD,
                   profile_is_idle(profile) ? PROFILE_IDLE : "run longer, or: memoir run --exact",
                   "it has no samples");
    check_samples(doctor, request);
    check_depth(doctor, profile);
    if (profile->lost > 0 || profile->refused > 0)
        doctor_say(doctor, MARK_BAD, "memoir run --set heap.memory=256M, or a larger rate",
                   "%lu stacks and %lu blocks were not recorded: the recorder was full",
                   profile->refused, profile->lost);
    if (profile->samples.count > 0)
        check_names(doctor, request);
}

static bool profile_render(struct request *request, struct error *error)
{
    (void)error;
    check_question(request->context, request);
    return true;
}

static bool check_profile(struct doctor *doctor, const struct arguments *arguments,
                          struct error *error)
{
    static const struct answer answer = {
        .moment = true, .viewless = true, .render = profile_render};
    return session_ask(arguments, &answer, doctor, error);
}

void doctor_profile(const struct request *request, doctor_found *found, void *context)
{
    struct doctor doctor = {.found = found, .context = context};
    check_question(&doctor, request);
}

/* One setting in JSON: as a check, with its parts. */
static void setting_json(struct doctor *doctor, const struct system_setting *setting)
{
    bool visible = setting->value[0] != '\0';
    json_object(&doctor->json, NULL);
    json_text(&doctor->json, "result", setting->notable || !visible ? "note" : "good");
    json_text(&doctor->json, "text", setting->title);
    json_text(&doctor->json, "path", setting->path);
    if (visible) {
        json_text(&doctor->json, "value", setting->value);
        json_text(&doctor->json, "meaning", setting->meaning);
        json_text(&doctor->json, "change", setting->change);
        json_text(&doctor->json, "restore", setting->restore);
    }
    json_end(&doctor->json);
}

static void setting_found(void *context, const struct system_setting *setting)
{
    struct doctor *doctor = context;
    const char *arrow = terminal_utf8() ? "→" : "->";
    if (doctor->as_json) {
        setting_json(doctor, setting);
        return;
    }
    if (setting->value[0] == '\0') {
        doctor_say(doctor, MARK_NOTE, NULL, "%s: not visible here (%s)", setting->title,
                   setting->path);
        return;
    }
    doctor_say(doctor, setting->notable ? MARK_NOTE : MARK_GOOD, NULL, "%s: %s", setting->title,
               setting->value);
    if (setting->meaning[0])
        fprintf(doctor->out, "    %s\n", setting->meaning);
    fprintf(doctor->out, "    %s to set %s:   %s\n", arrow, setting->other, setting->change);
    fprintf(doctor->out, "    %s to restore %s:   %s\n", arrow, setting->value, setting->restore);
}

static void check_settings(struct doctor *doctor, const struct arguments *arguments)
{
    const char *root = arguments_value(arguments, FLAG_SYSROOT);
    system_settings(root ? root : "", setting_found, doctor);
}

static bool doctor_open(struct doctor *doctor, const struct arguments *arguments,
                        struct error *error)
{
    const char *path = arguments_value(arguments, FLAG_OUTPUT);
    const char *ending = path ? strrchr(path, '.') : NULL;
    doctor->as_json =
        arguments_value(arguments, FLAG_JSON) || (ending && strcmp(ending, ".json") == 0);
    if (arguments_value(arguments, FLAG_CSV) || (ending && strcmp(ending, ".csv") == 0)) {
        error_set(error, ERROR_USAGE, "doctor does not print a table, so there is no CSV");
        return error_hint(error, "--json has the same content");
    }
    doctor->plain = path != NULL;
    if (path && !output_start(&doctor->output, path, error))
        return false;
    doctor->out = path ? doctor->output.file : wrap_output();
    if (doctor->as_json) {
        json_start(&doctor->json, doctor->out, true);
        json_object(&doctor->json, NULL);
        json_text(&doctor->json, "schema", "memoir.doctor/1");
        json_array(&doctor->json, "checks");
    }
    return true;
}

static bool doctor_close(struct doctor *doctor, bool ok, struct error *error)
{
    if (doctor->as_json) {
        json_end(&doctor->json);
        json_end(&doctor->json);
        fputc('\n', doctor->out);
    }
    if (doctor->plain)
        return output_end(&doctor->output, ok, error) && ok;
    wrap_end(doctor->out); /* standard output, whose errors are seen at the end */
    return ok;
}

/* `word` is no program; a name with an ending was meant as a file. */
static bool file_missing(const char *word, struct error *error)
{
    const char *folder = strrchr(word, '/');
    if (strchr(folder ? folder : word, '.') && access(word, F_OK) != 0) {
        error_set(error, ERROR_INPUT, "%s: No such file or directory", word);
        return suggest_file(word, "memoir doctor FILE, PROGRAM or PID", error);
    }
    return false;
}

bool verb_doctor(const struct arguments *arguments, struct error *error)
{
    struct doctor doctor = {0};
    const char *word = arguments->operands[0];
    char program[PATH_MAX];
    enum input_kind kind = word ? input_kind_of(word) : INPUT_NOTHING;
    bool ok = true, settings = arguments_value(arguments, FLAG_SYSTEM) != NULL;
    if (settings && word) {
        error_set(error, ERROR_USAGE, "--system takes no operand, but got '%s'", word);
        return error_hint(error, "memoir doctor --system");
    }
    if (!doctor_open(&doctor, arguments, error))
        return false;
    if (settings)
        check_settings(&doctor, arguments);
    else if (!word)
        check_machine(&doctor);
    else if (kind == INPUT_PROCESS)
        ok = check_process(&doctor, atoi(word), error);
    else if (kind == INPUT_FILE && access(word, X_OK) != 0)
        ok = check_profile(&doctor, arguments, error);
    else if (launch_program(program, word, error))
        check_program(&doctor, program);
    else
        ok = file_missing(word, error);
    ok = doctor_close(&doctor, ok, error);
    return ok && doctor.bad > 0 ? error_found(error) : ok;
}
