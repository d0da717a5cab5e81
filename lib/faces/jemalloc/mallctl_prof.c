/* SPDX-License-Identifier: MIT */
/*
 * Answers of mallctl about the profiler. In jemalloc most of these fail unless the program was
 * started with prof:true; here they always work, since every process can be profiled at any time.
 */
#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/faces/notice.h"
#include "lib/heap/observer.h"

static void wants_profile(const char *call);
static int path_take(const struct request *request, const char *call, const char **path);
struct class_sums;
static int class_answer(const struct request *request, const struct node *node,
                        struct class_sums *sums);

int serve_prof_active(const struct request *request, const struct node *node)
{
    (void)node;
    bool value, came, before = control_active();
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came && value != before) {
        if (value)
            control_start(-1);
        else
            control_stop();
    }
    if (came && value)
        wants_profile("mallctl(\"prof.active\")");
    return request_give(request, &before, sizeof before);
}

/* The program asks for a profile: one line, once, if its malloc is another one. */
static void wants_profile(const char *call)
{
    static bool told;
    notice_call(call, &told);
}

/* A flag that is told and set. */
static int serve_flag(const struct request *request, bool before, void (*set)(bool))
{
    bool value, came;
    int wrong = request_take(request, &value, sizeof value, &came);
    if (wrong)
        return wrong;
    if (came)
        set(value);
    return request_give(request, &before, sizeof before);
}

int serve_prof_thread_active(const struct request *request, const struct node *node)
{
    (void)node;
    return serve_flag(request, control_thread_is_active(), control_thread_active);
}

int serve_prof_thread_active_init(const struct request *request, const struct node *node)
{
    (void)node;
    return serve_flag(request, track_threads_active(), track_set_threads_active);
}

/* Visible characters, blanks and tabs. */
static bool name_is_fine(const char *name)
{
    for (; *name != '\0'; name++)
        if ((*name < ' ' && *name != '\t') || *name > '~')
            return false;
    return true;
}

int serve_prof_thread_name(const struct request *request, const struct node *node)
{
    (void)node;
    const char *name;
    bool came;
    int refused = request_read_or_write(request);
    int wrong = refused ? refused : request_take(request, &name, sizeof name, &came);
    if (wrong)
        return wrong;
    if (came) {
        if (jemalloc_values[JEMALLOC_prof_sys_thread_name].number != 0)
            return ENOENT;
        if (name == NULL || !name_is_fine(name))
            return jemalloc_is_later() ? EINVAL : EFAULT;
        threads_set_name(name);
        return 0;
    }
    name = threads_name();
    return request_give(request, &name, sizeof name);
}

int serve_prof_dump(const struct request *request, const struct node *node)
{
    (void)node;
    const char *path;
    int wrong = path_take(request, "mallctl(\"prof.dump\")", &path);
    return wrong ? wrong : jemalloc_dump(path) == 0 ? 0 : EFAULT;
}

/* The path that is written, NULL if none is. */
static int path_take(const struct request *request, const char *call, const char **path)
{
    bool came;
    *path = NULL;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, path, sizeof *path, &came);
    if (!wrong)
        wants_profile(call);
    return wrong;
}

int serve_prof_gdump(const struct request *request, const struct node *node)
{
    (void)node;
    wants_profile("mallctl(\"prof.gdump\")");
    return serve_flag(request, jemalloc_state.gdump, jemalloc_set_gdump);
}

int serve_prof_prefix(const struct request *request, const struct node *node)
{
    (void)node;
    const char *prefix = NULL;
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &prefix, sizeof prefix, &came);
    if (wrong)
        return wrong;
    return prefix != NULL && jemalloc_set_prefix(prefix) ? 0 : EFAULT;
}

int serve_prof_reset(const struct request *request, const struct node *node)
{
    (void)node;
    size_t lg_sample;
    bool came;
    int refused = request_write_only(request);
    int wrong = refused ? refused : request_take(request, &lg_sample, sizeof lg_sample, &came);
    if (wrong)
        return wrong;
    control_reset();
    if (came)
        control_set_rate(jemalloc_rate(lg_sample));
    return 0;
}

int serve_prof_interval(const struct request *request, const struct node *node)
{
    (void)node;
    int refused = request_read_only(request);
    return refused ? refused
                   : request_give(request, &jemalloc_state.interval_bytes,
                                  sizeof jemalloc_state.interval_bytes);
}

int serve_prof_lg_sample(const struct request *request, const struct node *node)
{
    (void)node;
    int64_t rate = control_rate();
    size_t lg_sample = rate <= 1 ? 0 : (size_t)(63 - __builtin_clzl((uint64_t)rate));
    int refused = request_read_only(request);
    return refused ? refused : request_give(request, &lg_sample, sizeof lg_sample);
}

int serve_prof_log_start(const struct request *request, const struct node *node)
{
    (void)node;
    const char *path;
    int wrong = path_take(request, "mallctl(\"prof.log_start\")", &path);
    return wrong ? wrong : jemalloc_log_start(path) ? 0 : EFAULT;
}

int serve_prof_log_stop(const struct request *request, const struct node *node)
{
    (void)request;
    (void)node;
    return jemalloc_log_stop() ? 0 : EFAULT;
}

/* Requested bytes and picked blocks of one class, or of one size of large blocks, live and in all.
 */
struct class_sums {
    size_t size; /* 0: large ones */
    unsigned large;
    struct track_sum live, all;
};

/* Large blocks of a site have one row, whatever their sizes: their mean counts. */
static unsigned large_index(const struct track_row *row)
{
    const struct track_sum *sum = &row->allocated;
    return large_size_index(sum->objects == 0 ? 0 : sum->requested / sum->objects);
}

static void class_row(void *context, const struct track_row *row)
{
    struct class_sums *sums = context;
    if (row->size != sums->size || (row->size == 0 && large_index(row) != sums->large))
        return;
    sums->live.objects += row->live.objects;
    sums->live.requested += row->live.requested;
    sums->all.objects += row->allocated.objects;
    sums->all.requested += row->allocated.requested;
}

int serve_prof_stats(const struct request *request, const struct node *node)
{
    if (!jemalloc_on(JEMALLOC_prof_stats) || request->numbers[0] >= CLASS_LAST)
        return ENOENT;
    int refused = request_read_only(request);
    if (refused)
        return refused;
    struct class_sums sums = {.size = class_size((unsigned)request->numbers[0] + 1)};
    return class_answer(request, node, &sums);
}

static int class_answer(const struct request *request, const struct node *node,
                        struct class_sums *sums)
{
    track_each(class_row, sums);
    const struct track_sum *sum = node->number == 0 ? &sums->live : &sums->all;
    uint64_t answer[2] = {sum->requested, sum->objects};
    return request_give(request, answer, sizeof answer);
}

int serve_prof_stats_large(const struct request *request, const struct node *node)
{
    if (!jemalloc_on(JEMALLOC_prof_stats) || request->numbers[0] >= LARGE_SIZES)
        return ENOENT;
    int refused = request_read_only(request);
    struct class_sums sums = {.large = (unsigned)request->numbers[0]};
    return refused ? refused : class_answer(request, node, &sums);
}
