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

void doctor_say(struct doctor *doctor, enum mark mark, const char *fix, const char *format, ...)
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
        free(answer);
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

static bool profile_render(struct request *request, struct error *error)
{
    (void)error;
    doctor_check_profile(request->context, request);
    return true;
}

static bool check_profile(struct doctor *doctor, const struct arguments *arguments,
                          struct error *error)
{
    static const struct answer answer = {
        .moment = true, .viewless = true, .render = profile_render};
    return session_ask(arguments, &answer, doctor, error);
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
