/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/mimalloc/mimalloc.h: the calls about the library and the process as a whole, which
 * release the program expects, and the deferred free function.
 */
#include "lib/faces/mimalloc/mimalloc.h"

#include <link.h>
#include <string.h>
#include <sys/resource.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

typedef void deferred_function(bool force, unsigned long long beat, void *arg);

/* libmimalloc.so.2 or libmimalloc.so.3 (packaging/names); NULL where neither is in the process. */
extern const char memoir_face_mimalloc[] __attribute__((weak));
extern int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
    __attribute__((weak));

static deferred_function *deferred;
static void *deferred_arg;
static unsigned long long heartbeat;
static bool done;

FUNCTION(int, mi_version, (void))
{
    return mimalloc_version();
}

static bool lies_in(const struct dl_phdr_info *info, const void *address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD &&
            (uintptr_t)address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* Notes the release of a library of mimalloc's own: libmimalloc.so.3, libmimalloc-secure.so.2.1.
 * Ours of such a name, which holds the mark, is none. */
static int note_release(struct dl_phdr_info *info, size_t size, void *release)
{
    static const char name[] = "libmimalloc";
    (void)size;
    const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (slash == NULL || strncmp(slash + 1, name, sizeof name - 1) != 0 ||
        (memoir_face_mimalloc != NULL && lies_in(info, memoir_face_mimalloc)))
        return 0;
    const char *number = strstr(slash, ".so.");
    *(unsigned *)release = number != NULL && number[4] >= '3' ? 3 : 2;
    return 1;
}

/* Ends the search at mimalloc's own library if the code address lies in it. */
static int is_inside(struct dl_phdr_info *info, size_t size, void *pc)
{
    unsigned release = 0;
    return note_release(info, size, &release) != 0 && lies_in(info, pc);
}

bool mimalloc_is_theirs(void *pc)
{
    return dl_iterate_phdr != NULL && !os_static() && dl_iterate_phdr(is_inside, pc) != 0;
}

/* Of mimalloc's own library, which may stand behind ours; 0: it is not there. A file may have the
 * name of another release than its code, so the code has the last word: 209 is 2.0.9, 30403 is
 * 3.4.3. */
static unsigned release_of_theirs(void)
{
    unsigned release = 0;
    if (dl_iterate_phdr == NULL || os_static() || dl_iterate_phdr(note_release, &release) == 0)
        return 0;
    int (*theirs)(void) = (int (*)(void))next_find("mi_version");
    if (theirs != NULL)
        release = theirs() >= 30000 || theirs() / 100 == 3 ? 3 : 2;
    return release;
}

/* The program was linked with mimalloc's own library, or with one of our names. */
static unsigned release_find(void)
{
    unsigned release = release_of_theirs();
    if (release == 0 && memoir_face_mimalloc != NULL)
        release = (unsigned)(memoir_face_mimalloc[strlen(memoir_face_mimalloc) - 1] - '0');
    return release == 0 ? 2 : release;
}

unsigned mimalloc_release(void)
{
    static unsigned release;
    unsigned known = load_relaxed(&release);
    if (known == 0) {
        known = release_find();
        store_relaxed(&release, known);
    }
    return known;
}

int mimalloc_version(void)
{
    return mimalloc_release() >= 3 ? 30403 : 20401;
}

FUNCTION(void, mi_register_deferred_free, (deferred_function * fun, void *arg))
{
    store_relaxed(&deferred_arg, arg);
    store_release(&deferred, fun);
}

void mimalloc_deferred_free(bool force)
{
    deferred_function *fun = load_acquire(&deferred);
    if (likely(fun == NULL) || young.deferring)
        return;
    young.deferring = true;
    fun(force, __atomic_add_fetch(&heartbeat, 1, __ATOMIC_RELAXED), load_relaxed(&deferred_arg));
    young.deferring = false;
}

FUNCTION(void, mi_collect, (bool force))
{
    mimalloc_deferred_free(force);
    if (force)
        cold_trim();
    else
        cold_flush();
}

FUNCTION(void, mi_collect_reduce, (size_t target))
{
    (void)target;
    cold_trim();
}

/* mimalloc's own library, if it is in the process, calls this when it is loaded, and goes on with
 * what its function has made. */
FUNCTION(void, mi_process_init, (void))
{
    init_done();
    if (release_of_theirs() == 0)
        return;
    void (*next)(void) = (void (*)(void))next_find("mi_process_init");
    if (next != NULL)
        next();
}

/* Once: a program may call it before it ends. */
FUNCTION(void, mi_process_done, (void))
{
    if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
        return;
    bool verbose = mimalloc_option(MIMALLOC_verbose) != 0;
    if (mimalloc_option(MIMALLOC_show_stats) != 0 || verbose)
        mimalloc_print_stats(NULL, NULL);
    mimalloc_verbose("process done: %p", (void *)&heap_now);
}

/* Where another malloc serves the process, its own mimalloc may print. */
void mimalloc_exit(void)
{
    bool wanted =
        mimalloc_option(MIMALLOC_show_stats) != 0 || mimalloc_option(MIMALLOC_verbose) != 0;
    if (wanted && !foreign_malloc())
        mi_process_done();
}

FUNCTION(void, mi_thread_init, (void))
{
    init_done();
}

FUNCTION(void, mi_thread_done, (void))
{
    cold_flush();
}

FUNCTION(void, mi_thread_set_in_threadpool, (void))
{
}

/* Of Windows and macOS. */
FUNCTION(bool, mi_is_redirected, (void))
{
    return false;
}

FUNCTION(bool, mi_is_in_heap_region, (const void *p))
{
    return p != NULL && init_done() && cold_owns(p);
}

static size_t ms_of(const struct timeval *time)
{
    return (size_t)time->tv_sec * 1000 + (size_t)time->tv_usec / 1000;
}

/* Resident bytes of the process: the second number of statm, in pages. */
static size_t resident(void)
{
    char text[128];
    int fd = os_open("/proc/self/statm", 0, 0);
    ssize_t length = fd < 0 ? 0 : os_read(fd, text, sizeof text - 1);
    size_t pages = 0;
    if (fd >= 0)
        os_close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strchr(text, ' ');
    for (at += at != NULL; at != NULL && *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (size_t)(*at - '0');
    return pages * os_page_size();
}

static uint64_t started_ms;

__attribute__((constructor)) static void clock_start(void)
{
    started_ms = os_now_ms();
}

void mimalloc_process(struct mimalloc_process *process)
{
    struct rusage usage;
    struct account account;
    memset(&usage, 0, sizeof usage);
    memset(&account, 0, sizeof account);
    getrusage(RUSAGE_SELF, &usage);
    if (init_done())
        account_take(&account);
    process->elapsed_ms = (size_t)(os_now_ms() - started_ms);
    process->user_ms = ms_of(&usage.ru_utime);
    process->system_ms = ms_of(&usage.ru_stime);
    process->rss = resident();
    process->rss_peak = (size_t)usage.ru_maxrss * 1024;
    if (process->rss_peak < process->rss)
        process->rss_peak = process->rss;
    process->commit = process->commit_peak = (size_t)account.mapped_bytes;
    process->faults = (size_t)usage.ru_majflt;
}

FUNCTION(void, mi_process_info,
         (size_t * elapsed_ms, size_t *user_ms, size_t *system_ms, size_t *rss, size_t *rss_peak,
          size_t *commit, size_t *commit_peak, size_t *faults))
{
    struct mimalloc_process all;
    mimalloc_process(&all);
    size_t *const to[] = {elapsed_ms, user_ms, system_ms,   rss,
                          rss_peak,   commit,  commit_peak, faults};
    const size_t from[] = {all.elapsed_ms, all.user_ms, all.system_ms,   all.rss,
                           all.rss_peak,   all.commit,  all.commit_peak, all.faults};
    for (size_t i = 0; i < COUNT_OF(to); i++)
        if (to[i] != NULL)
            *to[i] = from[i];
}

FUNCTION(void, mi_stats_print_out, (mimalloc_output * out, void *arg))
{
    mimalloc_print_stats(out, arg);
}

FUNCTION(void, mi_stats_print, (void *unused))
{
    (void)unused;
    mimalloc_print_stats(NULL, NULL);
}

/* There is one account, of all threads. */
FUNCTION(void, mi_thread_stats_print_out, (mimalloc_output * out, void *arg))
{
    mimalloc_print_stats(out, arg);
}

FUNCTION(void, mi_process_info_print_out, (mimalloc_output * out, void *arg))
{
    mimalloc_print_process(out, arg);
}

FUNCTION(void, mi_process_info_print, (void))
{
    mimalloc_print_process(NULL, NULL);
}
