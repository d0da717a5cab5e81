/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/notice.h. Child programs inherit the options and would print the same line:
 * "dump:PID" in MEMOIR_TOLD says that process PID prints it at its end. The id stays the same after
 * an exec, so that the new program prints it.
 */
#include "lib/faces/notice.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/dump/dump.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/variables.h"
#include "lib/heap/observer.h"

enum { LINE_SIZE = 512 };

/* What an option of jemalloc's asks for and memoir does not serve; or NULL. */
#define WORKS                                                               NULL
#define HINT                                                                NULL
#define MISSING(text)                                                       (text)
#define OPTION(name, kind, initial, low, high, range, words, shown, effect) effect,
static const char *const not_served[JEMALLOC_OPTIONS] = {
#include "lib/faces/jemalloc/jemalloc_options.def"
};
#undef OPTION

static int owner; /* the process that reports on jemalloc's profile; 0: no report is needed */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char buffer[LINE_SIZE];
    struct print line;
    va_list list;
    print_start(&line, buffer, sizeof buffer);
    print_text(&line, "memoir: ");
    va_start(list, format);
    print_list(&line, format, list);
    va_end(list);
    print_char(&line, '\n');
    message_flush(&line);
}

/* `what` asks for a profile of a heap that is not ours. */
static void say_not_ours(const char *what)
{
    const char *file = foreign_malloc_file();
    if (strcmp(file, program_invocation_short_name) == 0)
        say("%s: nothing to profile: %s contains its own malloc, which can't be replaced; build it "
            "without that",
            what, file);
    else
        say("%s: nothing to profile: the malloc of this process is that of %s; preload memoir "
            "before it (memoir run does), or build the program without it",
            what, file);
}

/* Whether jemalloc's profile is on, but no option would ever write it. */
static bool jemalloc_is_idle(void)
{
    static const enum jemalloc_name occasions[] = {
        JEMALLOC_prof_final,
        JEMALLOC_prof_gdump,
        JEMALLOC_prof_log,
        JEMALLOC_prof_stats,
        JEMALLOC_prof_recent_alloc_max,
    };
    if (!jemalloc_values[JEMALLOC_prof].given || !jemalloc_on(JEMALLOC_prof) ||
        !jemalloc_on(JEMALLOC_prof_active) || control_jemalloc.prefix[0] == '\0')
        return false;
    for (size_t i = 0; i < COUNT_OF(occasions); i++)
        if (jemalloc_on(occasions[i]))
            return false;
    return (int64_t)jemalloc_values[JEMALLOC_lg_prof_interval].number < 0;
}

/* Options about dumps while the profile is off, and not by prof:false: one line names the first. */
static void profile_is_off(void)
{
    static const enum jemalloc_name wishes[] = {
        JEMALLOC_prof_final, JEMALLOC_prof_gdump,     JEMALLOC_lg_prof_interval,
        JEMALLOC_prof_log,   JEMALLOC_lg_prof_sample, JEMALLOC_prof_prefix,
    };
    if (jemalloc_values[JEMALLOC_prof].given)
        return;
    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        const char *name = jemalloc_options[wishes[i]].name;
        bool kept = wishes[i] != JEMALLOC_lg_prof_sample; /* that one is the rate by now */
        if (!jemalloc_values[wishes[i]].given || (kept && !jemalloc_value_differs(wishes[i])))
            continue;
        if (!told_before(name, strlen(name)) && !foreign_malloc()) {
            told_add(name, strlen(name));
            say("%s in MALLOC_CONF: no effect without prof:true; add it", name);
        }
        return;
    }
}

/* Whether a parent process reports on the profile. */
static bool another_answers(const char *own)
{
    static const char start[] = "dump:";
    const char *list = environment_get("MEMOIR_TOLD");
    while (list != NULL && *list != '\0') {
        size_t length = text_until(list, ',');
        if (strncmp(list, start, sizeof start - 1) == 0)
            return strlen(own) != length || memcmp(list, own, length) != 0;
        list += length + (list[length] == ',');
    }
    return false;
}

static void idle_note(void)
{
    char own[32];
    struct print text;
    if (!jemalloc_is_idle())
        return;
    print_start(&text, own, sizeof own);
    print_format(&text, "dump:%d", (int)os_pid());
    if (another_answers(print_string(&text)))
        return;
    owner = os_pid();
    if (!told_before(own, strlen(own)))
        told_add(own, strlen(own));
}

/* The options ask for a profile of a heap that is not ours: names the option, unless the library of
 * that heap serves it. */
static void foreign_tell(void)
{
    const char *asks = NULL;
    if (config.capture[0] != '\0')
        asks = "capture";
    else if (gperftools_settings.prefix != NULL)
        asks = foreign_serves("HeapProfilerStart") ? NULL : "HEAPPROFILE";
    else
        asks = foreign_serves("mallctl") ? NULL : "MALLOC_CONF";
    if (asks == NULL || told_before(asks, strlen(asks)))
        return;
    told_add(asks, strlen(asks));
    say_not_ours(asks);
}

/* Options of jemalloc that are set and not served. */
static void options_tell(void)
{
    for (unsigned i = 0; i < JEMALLOC_OPTIONS; i++) {
        const struct jemalloc_option *option = &jemalloc_options[i];
        size_t length = strlen(option->name);
        if (not_served[i] == NULL || !jemalloc_value_differs((enum jemalloc_name)i) ||
            told_before(option->name, length) || foreign_malloc())
            continue;
        told_add(option->name, length);
        say("%s in MALLOC_CONF: not served: %s", option->name, not_served[i]);
    }
}

void notice_start(void)
{
    bool prof = jemalloc_values[JEMALLOC_prof].given && jemalloc_on(JEMALLOC_prof);
    bool profile = prof || gperftools_settings.prefix != NULL || config.capture[0] != '\0';
    bool stats = jemalloc_on(JEMALLOC_stats_print) || gperftools_settings.stats_level > 0;
    if (twin_is_in_charge()) {
        gperftools_disown();
        jemalloc_disown();
        return;
    }
    if (os_secure())
        return;
    variables_tell();
    options_tell();
    profile_is_off();
    if (prof && !foreign_malloc())
        idle_note();
    if (profile && foreign_malloc())
        foreign_tell();
    told_publish();
    if ((profile || stats) && foreign_malloc()) {
        gperftools_disown();
        jemalloc_disown();
    }
}

void notice_exit(void)
{
    if (owner == 0 || owner != os_pid() || dumps_written() + dumps_failed() > 0 ||
        config.capture[0] != '\0')
        return;
    say("prof:true: process %d (%s) ends and no dump was made; add prof_final:true for one at "
        "exit, lg_prof_interval:30 for one per GiB, or prof_gdump:true, or call "
        "mallctl(\"prof.dump\", ...)",
        owner, program_invocation_short_name);
}

void notice_call(const char *name, bool *told)
{
    if (lock_held != 0 || load_relaxed(told) || !foreign_malloc() || os_secure())
        return;
    store_relaxed(told, true);
    say_not_ours(name);
}
