/* SPDX-License-Identifier: MIT */
/*
 * See lib/control/request.h. The verbs `cpu` and `locks`: each has words of its own, one function a
 * word, and answers with the state of its profile. Called by control_command.c, in the helper of
 * lib/process/attach.c.
 */
#include "lib/control/request.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/config_value.h"
#include "lib/control/control.h"
#include "lib/cpu/cpu.h"

/* One of the words that may follow the verb; "" is none. */
struct step {
    const char *name;
    int (*run)(struct request *request);
    bool takes_value;
};

static int cpu_show(struct request *request);
static int cpu_begin(struct request *request);
static int cpu_end(struct request *request);
static int cpu_change(struct request *request);
static int cpu_forget(struct request *request);
static int cpu_write(struct request *request);
static int locks_show(struct request *request);
static int locks_begin(struct request *request);
static int locks_end(struct request *request);
static int locks_forget(struct request *request);
static int step_run(struct request *request, const struct step *steps, size_t count,
                    const char *verb, const char *advice);

int request_cpu(struct request *request)
{
    static const struct step steps[] = {{"", cpu_show, false},        {"start", cpu_begin, true},
                                        {"stop", cpu_end, false},     {"rate", cpu_change, true},
                                        {"reset", cpu_forget, false}, {"dump", cpu_write, true}};
    return step_run(request, steps, COUNT_OF(steps), "cpu",
                    ": write cpu start [RATE], stop, rate [RATE], reset or dump [FORMAT]");
}

int request_locks(struct request *request)
{
    static const struct step steps[] = {{"", locks_show, false},
                                        {"start", locks_begin, false},
                                        {"stop", locks_end, false},
                                        {"reset", locks_forget, false}};
    return step_run(request, steps, COUNT_OF(steps), "locks", ": write locks start, stop or reset");
}

static int step_run(struct request *request, const struct step *steps, size_t count,
                    const char *verb, const char *advice)
{
    struct word all = request->argument, unknown;
    size_t length = 0;
    while (length < all.length && (unsigned char)all.text[length] > ' ')
        length++;
    unknown = (struct word){all.text, length};
    request->argument = request_trim(all.text + length, all.length - length);
    for (size_t i = 0; i < count; i++) {
        if (!config_value_is(all.text, length, steps[i].name))
            continue;
        if (steps[i].takes_value || request->argument.length == 0)
            return steps[i].run(request);
        unknown = request->argument;
    }
    request->argument = unknown;
    return request_refuse_value(request, EINVAL, verb, UNKNOWN_WORD, advice);
}

/* ---- the CPU profile ---- */

static int cpu_show(struct request *request)
{
    struct cpu_about about;
    cpu_about(&about);
    sink_format(request->out, "cpu:%s\ncpu.rate:%u\ncpu.clock:%s\ncpu.source:%s\n",
                about.runs ? "on" : "off", about.rate, about.wall ? "wall" : "cpu", about.source);
    sink_format(request->out, "cpu.samples:%lu\ncpu.ns:%lu\ncpu.lost:%lu\n",
                (unsigned long)about.samples, (unsigned long)about.sampled_ns,
                (unsigned long)about.lost);
    sink_format(request->out, "cpu.threads:%u\ncpu.uncovered:%u\n", about.threads, about.uncovered);
    return 0;
}

/* A rate, or 0 where none is given. */
static int cpu_parse_rate(struct request *request, unsigned *rate)
{
    struct config parsed;
    *rate = 0;
    if (request->argument.length == 0)
        return 0;
    if (!config_value_parse(&parsed, &config_options[CONFIG_INDEX_cpu_rate], request->argument.text,
                            request->argument.length))
        return request_refuse_value(request, EINVAL, "cpu rate", CANT_BE,
                                    ": write samples a second, 1 to 10000");
    *rate = parsed.cpu_rate;
    return 0;
}

static int cpu_begin(struct request *request)
{
    unsigned rate;
    int error = cpu_parse_rate(request, &rate);
    if (error != 0)
        return error;
    if ((error = control_cpu_start(rate)) == 0)
        return cpu_show(request);
    return request_refuse(request, error, "no CPU profile", (struct word){"", 0},
                          error == EBUSY
                              ? ": the program has handlers for all signals that could be used"
                              : ": the kernel gives no timer for threads");
}

static int cpu_end(struct request *request)
{
    control_cpu_stop();
    return cpu_show(request);
}

static int cpu_change(struct request *request)
{
    unsigned rate;
    int error = cpu_parse_rate(request, &rate);
    if (error != 0)
        return error;
    if (rate != 0 && cpu_wanted(CPU_OPTIONS))
        control_cpu_start(rate);
    else if (rate != 0)
        config.cpu_rate = rate;
    return cpu_show(request);
}

static int cpu_forget(struct request *request)
{
    cpu_reset();
    return cpu_show(request);
}

static int cpu_write(struct request *request)
{
    return request_dump(request, SOURCE_CPU);
}

/* ---- waits for locks ---- */

static int locks_show(struct request *request)
{
    struct waits_about about;
    waits_about(&about);
    sink_format(request->out, "locks:%s\nlocks.waits:%lu\nlocks.ns:%lu\n",
                about.runs ? "on" : "off", (unsigned long)about.waits, (unsigned long)about.ns);
    sink_format(request->out, "locks.condition_waits:%lu\nlocks.condition_ns:%lu\nlocks.lost:%lu\n",
                (unsigned long)about.condition_waits, (unsigned long)about.condition_ns,
                (unsigned long)about.lost);
    return 0;
}

static int locks_begin(struct request *request)
{
    int error = control_locks_start();
    if (error == 0)
        return locks_show(request);
    return request_refuse(request, error, "waits for locks can't be counted", (struct word){"", 0},
                          error == EAGAIN
                              ? " from now on, because no thread of the program is from "
                                "pthread_create: start it with memoir run --locks"
                              : ": the program is static, or its C library's loader does not "
                                "allow it");
}

static int locks_end(struct request *request)
{
    control_locks_stop();
    return locks_show(request);
}

static int locks_forget(struct request *request)
{
    waits_reset();
    return locks_show(request);
}
