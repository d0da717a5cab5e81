/* SPDX-License-Identifier: MIT */
/* What gperftools' leak checker prints about leaks, and its file. It starts pprof for the names of
 * functions; here they come from the symbol tables. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/os.h"
#include "base/print.h"
#include "lib/dump/dump.h"
#include "lib/faces/gperftools/heap_checker.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

static unsigned leaks_gather(struct leaks_stack *leaks, const struct scan_result *result);
static void leaks_print(const struct leaks_stack *leaks, unsigned count);
static void file_name(const char *name, char *path, size_t size);
static void program_name(char *name, size_t size);

void heap_checker_report(const char *name, const struct leak_scan *scan,
                         const struct heap_checker_sums *sums)
{
    char path[DUMP_NAME_SIZE], program[256];
    size_t room = SCAN_ROWS * sizeof(struct leaks_stack);
    struct leaks_stack *leaks = os_map(room);
    heap_checker_say(false, "Leak check %s detected leaks of %lu bytes in %lu objects\n", name,
                     (unsigned long)sums->bytes, (unsigned long)sums->objects);
    if (leaks != NULL) {
        leaks_print(leaks, leaks_gather(leaks, &scan->result));
        os_unmap(leaks, room);
    }
    if (heap_checker_settings.identify_leaks)
        for (unsigned i = 0; i < scan->result.lost_count && i < SCAN_LOST_MAX; i++)
            heap_checker_say(false, "leaked %zu byte object 0x%lx\n",
                             scan->result.lost[i].requested,
                             (unsigned long)scan->result.lost[i].start);
    file_name(name, path, sizeof path);
    if (dump_leaks(path, scan) != 0) {
        heap_checker_say(false, "Failed dumping filtered heap profile to %s\n", path);
        heap_checker_say(false, "Could not write pprof profile to %s\n", path);
    }
    program_name(program, sizeof program);
    heap_checker_say(false,
                     "\n\nIf the preceding stack traces are not enough to find the leaks, try "
                     "running THIS shell command:\n\npprof %s \"%s\" --inuse_objects --lines "
                     "--heapcheck  --edgefraction=1e-10 --nodefraction=1e-10 --gv\n\n",
                     program, path);
    heap_checker_say(false, "If you are still puzzled about why the leaks are there, try rerunning "
                            "this program with HEAP_CHECK_TEST_POINTER_ALIGNMENT=1 and/or with "
                            "HEAP_CHECK_MAX_POINTER_OFFSET=-1\n");
    heap_checker_say(false, "If the leak report occurs in a small fraction of runs, try running "
                            "with TCMALLOC_MAX_FREE_QUEUE_SIZE of few hundred MB or with "
                            "TCMALLOC_RECLAIM_MEMORY=false, it might help find leaks more "
                            "repeatably\n");
}

static unsigned leaks_gather(struct leaks_stack *leaks, const struct scan_result *result)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SCAN_ROWS; i++) {
        const struct scan_row *row = &result->rows[i];
        if (row->used)
            leaks[count++] = (struct leaks_stack){
                .stack = track_stack(row->site),
                .bytes = row->requested_bytes,
                .objects = row->definite.blocks + row->indirect.blocks + row->possible.blocks};
    }
    return leaks_by_stack(leaks, count);
}

static void leaks_print(const struct leaks_stack *leaks, unsigned count)
{
    unsigned max = heap_checker_settings.leaks_max;
    heap_checker_say(false, "The %u largest leaks:\n", count < max ? count : max);
    for (unsigned i = 0; i < count && i < max; i++) {
        heap_checker_say(false, "Leak of %lu bytes in %lu objects allocated from:\n",
                         (unsigned long)leaks[i].bytes, (unsigned long)leaks[i].objects);
        for (uint32_t node = leaks[i].stack; node > STACK_OTHER;) {
            uintptr_t pc = 0;
            stacks_node(node, &node, &pc);
            struct code_name name;
            leaks_name(pc, true, &name);
            heap_checker_say(false, "\t@ %lx %s\n", (unsigned long)pc, name.function);
        }
    }
    if (count > max)
        heap_checker_say(false, "Skipping leaks numbered %u..%u\n", max, count - 1);
}

static void file_name(const char *name, char *path, size_t size)
{
    struct print text;
    print_start(&text, path, size);
    print_format(&text, "%s/%s.%d.%s-end.heap", heap_checker_settings.folder,
                 program_invocation_short_name, (int)os_pid(), name);
    print_string(&text);
}

/* As the program was called. */
static void program_name(char *name, size_t size)
{
    int fd = os_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? 0 : os_read(fd, name, size - 1);
    if (fd >= 0)
        os_close(fd);
    name[got < 0 ? 0 : got] = '\0';
}
