/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/resolve.h. The addresses of the profile are sorted into modules; threads look for
 * the files and the names of one module after the other, largest first; the answers are
 * then put into the profile by the caller's thread, which shows the progress in the meantime.
 */
#include "tool/symbol/resolve.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/symbol/debuginfod.h"
#include "tool/symbol/demangle.h"
#include "tool/symbol/jit.h"
#include "tool/symbol/module.h"
#include "tool/symbol/modules.h"
#include "tool/terminal/terminal.h"

/* A thread a module and processor; more would share the disk and libdw's memory. */
enum { THREADS_MAX = 16 };

/* What the threads share. */
struct work {
    struct modules *modules;
    const struct symbol_options *options;
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t next, finished;
    struct module *current; /* the last one begun */
};

static void modules_work(struct modules *modules, const struct symbol_options *options);
static void *work_run(void *context);
static void work_wait(struct work *work);
static void work_tell(const struct work *work, const char *path, uint64_t all);
static bool report_start(struct symbol_report *report, const struct modules *modules);
static void locations_fill(struct profile *profile, const struct modules *modules,
                           struct symbol_report *report);
static void location_set(struct profile *profile, uint32_t location, const struct answers *answers,
                         const struct answer *answer);
static bool jit_fill(struct profile *profile, const struct modules *modules,
                     const struct symbol_options *options, struct symbol_report *report);
static bool row_is_made(const struct symbol_report *report, uint32_t module);
static void mappings_mark(struct profile *profile, const struct modules *modules);
static void report_end(struct symbol_report *report);
static int row_order(const void *left, const void *right);
static void row_free(struct symbol_module *row);

bool symbol_is_made(const char *path)
{
    return path[0] == '[' || path[0] == '\0' || strncmp(path, "//", 2) == 0 ||
           strncmp(path, "anon_inode:", 11) == 0 || strncmp(path, "/memfd:", 7) == 0 ||
           strncmp(path, "/dev/", 5) == 0;
}

/* Classes of lost blocks, which the program knows by the mangled names of their types. */
static void classes_name(struct profile *profile)
{
    static const char kind[] = "typeinfo for ";
    struct profile_look *looks = profile->looks.items;
    for (size_t i = 0; i < profile->looks.count; i++) {
        char mangled[256];
        const char *name = profile_text(profile, looks[i].class);
        if (*name == '\0')
            continue;
        snprintf(mangled, sizeof mangled, "_ZTI%s", name + (*name == '*'));
        char *plain = symbol_demangle_whole(mangled);
        if (plain && strncmp(plain, kind, sizeof kind - 1) == 0)
            looks[i].class = profile_string_of(profile, plain + sizeof kind - 1);
        free(plain);
    }
}

bool symbol_resolve(struct profile *profile, const struct symbol_options *options,
                    struct symbol_report *report)
{
    struct modules modules;
    memset(report, 0, sizeof *report);
    bool ok = modules_collect(&modules, profile, options);
    if (ok) {
        if (options->fetch)
            fetch_start();
        modules_work(&modules, options);
        if (options->fetch)
            report->fetch = fetch_end();
        for (size_t i = 0; i < modules.count; i++)
            ok &= !modules.items[i].answers.failed;
        ok = report_start(report, &modules) && ok;
    }
    if (ok) {
        locations_fill(profile, &modules, report);
        ok = jit_fill(profile, &modules, options, report);
        mappings_mark(profile, &modules);
        classes_name(profile);
        report_end(report);
    }
    modules_free(&modules);
    return ok && !profile->failed;
}

/* All modules, on as many threads as there are processors. Works with one, too. */
static void modules_work(struct modules *modules, const struct symbol_options *options)
{
    struct work work = {.modules = modules,
                        .options = options,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .done = PTHREAD_COND_INITIALIZER};
    pthread_t threads[THREADS_MAX];
    size_t count = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    while (count < modules->count && (long)count < processors && count < THREADS_MAX &&
           pthread_create(&threads[count], NULL, work_run, &work) == 0)
        count++;
    if (count == 0)
        work_run(&work);
    work_wait(&work);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&work.lock);
    pthread_cond_destroy(&work.done);
}

static void *work_run(void *context)
{
    struct work *work = context;
    pthread_mutex_lock(&work->lock);
    while (work->next < work->modules->count) {
        struct module *module = &work->modules->items[work->next++];
        work->current = module;
        pthread_mutex_unlock(&work->lock);
        module_find(module, work->options);
        module_answer(module, work->options);
        pthread_mutex_lock(&work->lock);
        work->finished++;
        pthread_cond_signal(&work->done);
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Until all modules are done; tells how far it is. */
static void work_wait(struct work *work)
{
    const struct symbol_options *options = work->options;
    uint64_t all = 0;
    for (size_t i = 0; i < work->modules->count; i++)
        all += work->modules->items[i].wanted_count;
    pthread_mutex_lock(&work->lock);
    while (work->finished < work->modules->count) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&work->done, &work->lock, &until);
        if (!options->progress || !work->current)
            continue;
        const char *path = work->current->path;
        pthread_mutex_unlock(&work->lock);
        work_tell(work, path, all);
        pthread_mutex_lock(&work->lock);
    }
    pthread_mutex_unlock(&work->lock);
}

/* How far it is: in bytes while something is fetched, in addresses else. */
static void work_tell(const struct work *work, const char *path, uint64_t all)
{
    const struct symbol_options *options = work->options;
    uint64_t done = 0;
    for (size_t i = 0; i < work->modules->count; i++) {
        const struct module *module = &work->modules->items[i];
        if (__atomic_load_n(&module->fetching, __ATOMIC_RELAXED)) {
            char text[256];
            snprintf(text, sizeof text, "fetching %s", name_base(module->path));
            options->progress(options->context, text,
                              __atomic_load_n(&module->fetched_bytes, __ATOMIC_RELAXED),
                              __atomic_load_n(&module->fetch_bytes, __ATOMIC_RELAXED));
            return;
        }
        done += __atomic_load_n(&module->looked, __ATOMIC_RELAXED);
    }
    options->progress(options->context, path, done < all ? done : all, all);
}

static bool report_start(struct symbol_report *report, const struct modules *modules)
{
    report->modules = calloc(modules->count + 1, sizeof *report->modules);
    if (!report->modules)
        return false;
    for (; report->count < modules->count; report->count++) {
        const struct module *module = &modules->items[report->count];
        struct symbol_module *row = &report->modules[report->count];
        row->path = strdup(module->path);
        row->build_id = strdup(module->build_id);
        if (!row->path || !row->build_id)
            return false;
        row->quality = module->quality;
        row->locations = module->locations;
        row->named = module->given;
        if (module->image && !(row->file = strdup(module->image->path)))
            return false;
        if (module->debug && !(row->debug_file = strdup(module->debug->path)))
            return false;
        if (module->other && !(row->other_file = strdup(module->other)))
            return false;
        if (module->bundle && !(row->bundle_file = strdup(module->bundle->path)))
            return false;
        row->unsure = module->unsure && module->image;
        row->split_missing = module->split_missing;
    }
    return true;
}

static void locations_fill(struct profile *profile, const struct modules *modules,
                           struct symbol_report *report)
{
    struct profile_location *locations = profile->locations.items;
    for (size_t i = 0; i < modules->places_count; i++) {
        const struct modules_place *place = &modules->places[i];
        const struct module *module = &modules->items[place->module];
        uint64_t own = module->owns ? module->owns[place->wanted] : 0;
        const struct answer *answer = own ? answers_find(&module->answers, own) : NULL;
        struct symbol_module *row = &report->modules[place->module];
        locations[place->location].flags |= LOCATION_LOOKED;
        if (module->owns && module->wanted[place->wanted] == locations[place->location].address)
            locations[place->location].flags |= LOCATION_EXACT;
        locations[place->location].behind = answer ? answer->behind : 0;
        if (!answer || answer->frames == 0)
            continue;
        location_set(profile, place->location, &module->answers, answer);
        row->named++;
        row->guessed += answer->state == ANSWER_NEAREST;
    }
}

/* An answer's frames as lines of the profile. */
static void location_set(struct profile *profile, uint32_t location, const struct answers *answers,
                         const struct answer *answer)
{
    enum { LINES_MAX = 512 }; /* functions inlined into each other; compilers make some dozens */
    struct profile_line lines[LINES_MAX];
    uint32_t count = answer->frames < LINES_MAX ? answer->frames : LINES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct answer_frame *frame = &answers->frames[answer->first + i];
        struct profile_function function = {
            .name = profile_string_of(profile, answers->text + frame->name),
            .system_name = profile_string_of(profile, answers->text + frame->system_name),
            .file = profile_string_of(profile, answers->text + frame->file),
            .start_line = frame->start_line};
        lines[i].function = profile_function(profile, &function);
        lines[i].line = frame->line;
        lines[i].column = frame->column;
    }
    profile_set_lines(profile, location, lines, count,
                      answer->state == ANSWER_NEAREST ? LOCATION_GUESS : 0);
}

/* Code that no file has, where the compiler that made it has written names. */
static bool jit_fill(struct profile *profile, const struct modules *modules,
                     const struct symbol_options *options, struct symbol_report *report)
{
    const struct modules_place *places = modules->places;
    struct jit jit;
    bool wanted = false;
    for (size_t i = 0; i < modules->places_count; i++)
        wanted |= row_is_made(report, places[i].module);
    if (!wanted)
        return true;
    bool ok = jit_read(&jit, profile, options);
    for (size_t i = 0; i < modules->places_count && ok && jit.count > 0; i++) {
        /* Not the module's own path: the texts of the profile have moved. */
        struct symbol_module *row = &report->modules[places[i].module];
        uint64_t code = modules->items[places[i].module].wanted[places[i].wanted];
        const char *name = row_is_made(report, places[i].module) ? jit_find(&jit, code) : NULL;
        if (!name)
            continue;
        uint32_t text = profile_string_of(profile, name);
        struct profile_function function = {.name = text, .system_name = text};
        struct profile_line line = {.function = profile_function(profile, &function)};
        profile_set_lines(profile, places[i].location, &line, 1, 0);
        row->named++;
        row->quality = SYMBOL_TABLE;
        if (!row->file)
            ok = (row->file = strdup(jit.path)) != NULL;
    }
    jit_free(&jit);
    return ok;
}

static bool row_is_made(const struct symbol_report *report, uint32_t module)
{
    const char *path = module < report->count ? report->modules[module].path : NULL;
    return path && symbol_is_made(path);
}

static void mappings_mark(struct profile *profile, const struct modules *modules)
{
    struct profile_mapping *mappings = profile->mappings.items;
    for (size_t i = 1; i < profile->mappings.count; i++) {
        const struct module *module = &modules->items[modules->of_mapping[i]];
        if (module->quality >= SYMBOL_EXPORTS && module->quality != SYMBOL_GIVEN)
            mappings[i].has_functions = true;
        if (module->quality == SYMBOL_FULL)
            mappings[i].has_files = mappings[i].has_lines = mappings[i].has_inlines = true;
    }
}

static void report_end(struct symbol_report *report)
{
    size_t kept = 0;
    qsort(report->modules, report->count, sizeof *report->modules, row_order);
    for (size_t i = 0; i < report->count; i++) {
        struct symbol_module *row = &report->modules[i];
        report->locations += row->locations;
        report->named += row->named;
        report->guessed += row->guessed;
        if (row->locations > 0) {
            kept++;
            continue;
        }
        row_free(row);
    }
    report->count = kept;
}

static int row_order(const void *left, const void *right)
{
    const struct symbol_module *a = left, *b = right;
    if (a->locations != b->locations)
        return a->locations > b->locations ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void row_free(struct symbol_module *row)
{
    free(row->path);
    free(row->build_id);
    free(row->file);
    free(row->debug_file);
    free(row->other_file);
    free(row->bundle_file);
}

void symbol_report_free(struct symbol_report *report)
{
    for (size_t i = 0; report->modules && i < report->count; i++)
        row_free(&report->modules[i]);
    free(report->modules);
    memset(report, 0, sizeof *report);
}
