/* SPDX-License-Identifier: MIT */
/* helper: what the verbs of the protocol answer and do. Linked with the sources of the library,
 * because no symbol of theirs leads there. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attach_protocol.h"
#include "lib/control/control.h"
#include "lib/heap/observer.h"

static char answer[16384];

static int ask(const char *line, int fd)
{
    char buffer[256];
    FILE *file = tmpfile();
    assert(file != NULL);
    struct sink sink;
    sink_to_fd(&sink, fileno(file), buffer, sizeof buffer);
    int error = control_command(line, strlen(line), fd, &sink);
    assert(sink_flush(&sink) == 0);
    ssize_t length = pread(fileno(file), answer, sizeof answer - 1, 0);
    assert(length >= 0);
    answer[length] = '\0';
    fclose(file);
    return error;
}

static void expect(const char *line, int error, const char *text)
{
    int got = ask(line, -1);
    if (got != error || strstr(answer, text) == NULL) {
        printf("'%s': error %d, not %d, and answered: %s", line, got, error, answer);
        exit(1);
    }
}

static void wrong_lines_say_what_to_do(void)
{
    expect("", ATTACH_NO_VERB, "error: no verb; 'help' lists them\n");
    expect("dmup", ATTACH_NO_VERB, "error: no verb 'dmup'");
    expect("purge all", EINVAL, "error: purge takes no argument, but got 'all'\n");
    expect("start fast", EINVAL, "such as 512K");
    expect("rate -1", EINVAL, "such as 512K");
    expect("dump text", EINVAL, "memoir, pprof, jemalloc");
    expect("set", EINVAL, "error: set needs KEY=VALUE; 'show' lists them\n");
    expect("set heap.rate", EINVAL,
           "error: set needs KEY=VALUE, but got 'heap.rate'; 'show' lists them\n");
    expect("set heap.rat=1", ATTACH_NO_OPTION, "error: no option 'heap.rat'");
    expect("set heap.rate=soon", EINVAL, "heap.rate can't be 'soon', accepted: 0 to 1T bytes");
    expect("set heap.rate=", EINVAL, "heap.rate needs a value, accepted: 0 to 1T bytes");
    expect("cpu strat", EINVAL, "cpu: unknown word 'strat': write cpu start");
    expect("cpu stop now", EINVAL, "cpu: unknown word 'now': write cpu start [RATE], stop");
    expect("cpu rate 0", EINVAL, "cpu rate can't be '0': write samples a second, 1 to 10000");
    expect("locks reset all", EINVAL, "locks: unknown word 'all': write locks start, stop");
    expect("leaks soon", EINVAL, "can't be 'soon': write milliseconds, 1 to 300000");
    expect("set cache=1", EPERM, "error: cache can't change while the program runs");
    expect("set dump.prefix=/etc/x", EPERM, "can't change while the program runs");
    expect("show nothing", ATTACH_NO_OPTION, "error: no option 'nothing'");
    expect("mark", EINVAL, "mark NAME");
    expect("mark here", ENOENT, "'record' begins one");
    expect("snapshot", ENOENT, "capture:PATH");
    expect("record", 0, "record:off\n");
    expect("record stop", ENOENT, "there is no recording");
    expect("record now.memoir", EINVAL, "the client opens the file");
    expect("d\xc3\xa9\n", ATTACH_NO_VERB, "error: no verb 'd??'");
}

static void the_rate_is_one_for_all(void)
{
    expect("start 64K", 0, "heap:on\nheap.rate:64K\n");
    assert(control_active() && control_rate() == 64 << 10);
    expect(" stop ", 0, "heap:off\nheap.rate:64K\n");
    assert(!control_active());
    expect("rate 32K", 0, "heap:off\nheap.rate:32K\n");
    expect("start", 0, "heap:on\nheap.rate:32K\n");
    expect("set heap.rate=1M", 0, "heap.rate:1M\n");
    assert(control_active() && control_rate() == 1 << 20);
    expect("set heap:off", 0, "heap:off\n");
    assert(!control_active());
    expect("show heap.rate", 0, "heap.rate:1M\n");
    control_start(0);
    expect("show", 0, "heap:on\nheap.rate:0\n");
}

static void triggers_change_at_once(void)
{
    expect("set dump.above=40M", 0, "dump.above:40M\n");
    assert(totals_limits.live == 40 << 20);
    expect("set dump.above=0", 0, "dump.above:0\n");
    assert(totals_limits.live == 0);
    expect("set dump.keep=2", 0, "dump.keep:2\n");
    assert(control_memoir.keep == 2);
    expect("set dump.format=jemalloc", 0, "dump.format:jemalloc\n");
    assert(control_memoir.format == FORMAT_JEMALLOC);
}

static void dumps_go_to_their_folder_or_a_descriptor(void)
{
    char name[200] = "", text[20] = "";
    expect("dump", 0, "dump:control_verbs-");
    assert(sscanf(answer, "dump:%199s", name) == 1 && strstr(name, "-outside-") != NULL);
    assert(access(name, R_OK) == 0);
    expect("dump pprof", 0, ".pb.gz\n");
    expect("dump", 0, "dump:");
    assert(access(name, R_OK) != 0); /* dump.keep is 2 */
    int ends[2];
    assert(pipe(ends) == 0);
    assert(ask("dump gperftools", ends[1]) == 0 && answer[0] == '\0');
    assert(read(ends[0], text, 13) == 13 && memcmp(text, "heap profile:", 13) == 0);
    assert(chdir("/proc/self") == 0);
    expect("dump", ENOENT, "error: no dump control_verbs-");
    assert(dumps_failed() == 1);
    assert(strstr(answer, "\ndump:control_verbs-") != NULL && strstr(answer, "\ncause:") != NULL);
}

int main(void)
{
    wrong_lines_say_what_to_do();
    the_rate_is_one_for_all();
    triggers_change_at_once();
    expect("version", 0, "version:1.2.3\n");
    expect("help", 0, "dump [FORMAT]: ");
    expect("stats", 0, "\nlive_bytes:");
    expect("reset", 0, "reset:done\n");
    expect("purge", 0, "purged:");
    dumps_go_to_their_folder_or_a_descriptor();
    return 0;
}
