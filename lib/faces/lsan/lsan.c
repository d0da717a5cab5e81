/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/lsan/lsan.h. A check by call ends the program if there are leaks, and then there is
 * none at the end; a recoverable one may be made any number of times. Options are read at the first
 * check, when the program's own functions about them can be called.
 */
#include "lib/faces/lsan/lsan.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"

enum { FILE_MAX = 1 << 20 }; /* bytes of a file of suppressions, which is read as a whole */

extern int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
    __attribute__((weak));
/* All sanitizers have it. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));
/* The program may define these. */
extern int __lsan_is_turned_off(void) __attribute__((weak));
extern const char *__lsan_default_options(void) __attribute__((weak));
extern const char *__lsan_default_suppressions(void) __attribute__((weak));

void __lsan_do_leak_check(void);
int __lsan_do_recoverable_leak_check(void);
void __lsan_disable(void);
void __lsan_enable(void);
void __lsan_ignore_object(const void *block);
void __lsan_register_root_region(const void *start, size_t size);
void __lsan_unregister_root_region(const void *start, size_t size);

static bool at_end; /* the process is checked at its end, and each that it forks */
static bool done;   /* by a call: not again at the end */

static bool options_are_read;

static void *real(const char *name);
static void options_read(void);
static bool check(const struct roots_thread *here);
static void end(void);

void lsan_init(void)
{
    if (!config.leak_lsan)
        return;
    config.heap = true;
    config.heap_rate = 0;
    init_expects_scan = true;
}

void lsan_before_main(void)
{
    if (config.leak_lsan && !os_secure() && !foreign_malloc() &&
        real("__lsan_do_leak_check") == NULL)
        at_end = true;
}

void lsan_exit(void)
{
    if (!at_end || done)
        return;
    options_read();
    if (lsan_options.at_exit && check(NULL))
        end();
}

EXPORT void __lsan_do_leak_check(void)
{
    struct roots_thread here = {0};
    roots_here(&here);
    void (*other)(void) = (void (*)(void))real("__lsan_do_leak_check");
    if (other != NULL) {
        other();
        return;
    }
    options_read();
    if (done)
        return;
    done = true;
    if (check(&here))
        end();
}

EXPORT int __lsan_do_recoverable_leak_check(void)
{
    struct roots_thread here = {0};
    roots_here(&here);
    int (*other)(void) = (int (*)(void))real("__lsan_do_recoverable_leak_check");
    if (other != NULL)
        return other();
    options_read();
    return check(&here);
}

EXPORT void __lsan_disable(void)
{
    void (*other)(void) = (void (*)(void))real("__lsan_disable");
    if (other != NULL)
        other();
    else
        track_set_thread_kept(1);
}

EXPORT void __lsan_enable(void)
{
    void (*other)(void) = (void (*)(void))real("__lsan_enable");
    if (other != NULL)
        other();
    else
        track_set_thread_kept(-1);
}

EXPORT void __lsan_ignore_object(const void *block)
{
    void (*other)(const void *) = (void (*)(const void *))real("__lsan_ignore_object");
    struct found found;
    if (other != NULL)
        other(block);
    else if (init_done() && leaks_block_at((uintptr_t)block, &found))
        leaks_ignore((const void *)found.start);
}

EXPORT void __lsan_register_root_region(const void *start, size_t size)
{
    void (*other)(const void *, size_t) =
        (void (*)(const void *, size_t))real("__lsan_register_root_region");
    if (other != NULL)
        other(start, size);
    else
        leaks_root(start, size);
}

EXPORT void __lsan_unregister_root_region(const void *start, size_t size)
{
    void (*other)(const void *, size_t) =
        (void (*)(const void *, size_t))real("__lsan_unregister_root_region");
    if (other != NULL)
        other(start, size);
    else
        leaks_root_end(start, size);
}

/* The function of a real sanitizer, which comes after us; NULL: there is none. */
static void *real(const char *name)
{
    return __sanitizer_print_stack_trace == NULL ? NULL : next_find(name);
}

/* The whole file, in memory that is never given back. */
static const char *file_read(const char *path)
{
    char *text = os_map(FILE_MAX);
    int fd = text == NULL ? -1 : os_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? -1 : os_read_at(fd, text, FILE_MAX - 1, 0);
    if (fd >= 0)
        os_close(fd);
    if (got < 0)
        lsan_say("==%d==LeakSanitizer: failed to read suppressions file '%s'\n", (int)os_pid(),
                 path);
    return got < 0 ? NULL : text;
}

/* The program's own first, so that the variable overrides them. The variable is read in the mode
 * alone: it may be meant for the sanitizers of other programs. */
static void options_read(void)
{
    if (options_are_read)
        return;
    options_are_read = true;
    if (__lsan_default_options != NULL)
        lsan_options_read(__lsan_default_options());
    if (config.leak_lsan)
        lsan_options_read(environment_get("LSAN_OPTIONS"));
    if (__lsan_default_suppressions != NULL)
        lsan_suppress_add(__lsan_default_suppressions());
    if (lsan_options.suppressions[0] != '\0')
        lsan_suppress_add(file_read(lsan_options.suppressions));
}

static int locals_add(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)context += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
    return 0;
}

/* That the thread-local variables of a thread take, at most. */
static size_t locals_bytes(void)
{
    size_t bytes = 2 * sizeof(void *); /* behind the thread pointer of aarch64 */
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(locals_add, &bytes);
    return bytes;
}

/* Whether there are leaks. */
static bool check(const struct roots_thread *here)
{
    const struct lsan_options *options = &lsan_options;
    if (!options->detect || !init_done() ||
        (__lsan_is_turned_off != NULL && __lsan_is_turned_off() != 0))
        return false;
    struct leak_request request = {
        .inside = SCAN_INSIDE_ANY,
        .mappings = true,
        .without = {.registers = !options->use_registers,
                    .stacks = !options->use_stacks,
                    .globals = !options->use_globals,
                    .but_local_bytes = locals_bytes()},
        .kept = track_kept(),
        .step = options->use_unaligned ? 1 : 0,
        .here = here,
    };
    const struct leak_scan *scan = leaks_find(&request);
    if (scan == NULL) {
        lsan_say("==%d==LeakSanitizer has encountered a fatal error: %s\n", (int)os_pid(),
                 leaks_refusal());
        return false;
    }
    bool found = lsan_report(scan) > 0;
    if (found)
        leaks_tell_silent(scan);
    leak_last_end();
    return found;
}

static void end(void)
{
    if (lsan_options.exit_code == 0)
        return;
    fflush(NULL); /* so that the exit loses nothing that the program wrote */
    os_exit((int)lsan_options.exit_code);
}
