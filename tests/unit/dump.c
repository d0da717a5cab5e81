/* SPDX-License-Identifier: MIT */
/* Names of dumps, and that a file is absent or complete whatever stands in its way. */
#include "lib/dump/dump.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/dump_lock.h"
#include "lib/dump/dump_name.h"
#include "lib/heap/track.h"

static const struct dump_moment moment = {1794754758, (uint64_t)412 << 20, 77};

static const char *next_name(const struct dump_style *style, enum dump_reason reason)
{
    static char name[DUMP_NAME_SIZE];
    assert(dump_name_next(name, style, reason, &moment));
    return name;
}

static void expect_name(const struct dump_style *style, enum dump_reason reason, const char *wanted)
{
    const char *name = next_name(style, reason);
    if (strcmp(name, wanted) != 0) {
        fprintf(stderr, "the name is %s, not %s\n", name, wanted);
        exit(1);
    }
}

static void names_of_ours_say_all(void)
{
    struct dump_style style = {.names = DUMP_NAMES_MEMOIR, .prefix = "logs/web"};
    struct dump_moment then = {951782400 + 86399, 9999, 5}; /* the leap day of 2000 */
    char name[DUMP_NAME_SIZE];
    expect_name(&style, DUMP_PEAK, "logs/web-20261115-145918-77-0001-peak-412M.memoir");
    style.format = FORMAT_PPROF;
    assert(dump_name_next(name, &style, DUMP_EXIT, &then));
    assert(strcmp(name, "logs/web-20000229-235959-5-0002-exit-9999B.pb.gz") == 0);
    then = (struct dump_moment){0, 10000, 5};
    assert(dump_name_next(name, &style, DUMP_CALL, &then));
    assert(strcmp(name, "logs/web-19700101-000000-5-0003-call-9K.pb.gz") == 0);
}

static void names_without_a_prefix_are_the_programs(void)
{
    struct dump_style style = {.names = DUMP_NAMES_JEMALLOC};
    assert(strncmp(next_name(&style, DUMP_CALL), "unit_dump.77.", 13) == 0);
    strcpy(style.prefix, "folder/");
    assert(strncmp(next_name(&style, DUMP_CALL), "folder/unit_dump.77.", 20) == 0);
}

static void names_of_jemalloc_count_twice(void)
{
    struct dump_style style = {.names = DUMP_NAMES_JEMALLOC, .prefix = "jeprof"};
    expect_name(&style, DUMP_ALLOCATED, "jeprof.77.0.i0.heap");
    expect_name(&style, DUMP_CALL, "jeprof.77.1.m0.heap");
    expect_name(&style, DUMP_ALLOCATED, "jeprof.77.2.i1.heap");
    expect_name(&style, DUMP_PEAK, "jeprof.77.3.u0.heap");
    expect_name(&style, DUMP_EXIT, "jeprof.77.4.f.heap");
    style.pid_namespace = true;
    char name[DUMP_NAME_SIZE], link[64] = {0};
    unsigned long number;
    assert(readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0);
    assert(sscanf(link, "pid:[%lu]", &number) == 1);
    snprintf(name, sizeof name, "jeprof.%lu.77.5.m1.heap", number);
    expect_name(&style, DUMP_CALL, name);
}

static void names_of_gperftools_belong_to_one_process(void)
{
    struct dump_style style = {.names = DUMP_NAMES_GPERFTOOLS, .prefix = "hp", .owner = 77};
    expect_name(&style, DUMP_CALL, "hp.0001.heap");
    style.owner = 76;
    expect_name(&style, DUMP_EXIT, "hp_77.0002.heap");
}

/* ---- files ------------------------------------------------------------------------------------
 */

static unsigned files_in(const char *folder)
{
    unsigned files = 0;
    DIR *all = opendir(folder);
    assert(all != NULL);
    for (const struct dirent *one; (one = readdir(all)) != NULL;)
        files += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    closedir(all);
    return files;
}

static void fresh(const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s && mkdir %s", folder, folder);
    assert(system(command) == 0);
}

static long size_of(const char *path)
{
    struct stat about;
    return lstat(path, &about) != 0 ? -1 : (long)about.st_size;
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static struct dump_style ours(const char *prefix)
{
    struct dump_style style = {.names = DUMP_NAMES_MEMOIR, .format = FORMAT_JEMALLOC};
    strcpy(style.prefix, prefix);
    return style;
}

static void a_dump_is_private_and_alone(void)
{
    struct dump_style style = ours("files/a");
    struct stat about;
    char name[DUMP_NAME_SIZE];
    fresh("files");
    umask(0);
    assert(dump_write(&style, DUMP_CALL, NULL, NULL, name) == 0);
    assert(files_in("files") == 1 && lstat(name, &about) == 0);
    assert(S_ISREG(about.st_mode) && (about.st_mode & 0777) == 0600 && about.st_size > 0);
    write_text("files/b", "old");
    assert(dump_write(&style, DUMP_CALL, "files/b", NULL, name) == 0);
    assert(strcmp(name, "files/b") == 0 && size_of("files/b") > 3 && files_in("files") == 2);
}

/* Runs in a child, with its standard error read. */
static void expect_failure(const char *path, int error, const char *says)
{
    int ends[2];
    char text[1000];
    assert(pipe(ends) == 0);
    int kept = dup(2);
    dup2(ends[1], 2);
    struct dump_style style = ours("files/x");
    uint64_t before = dumps_failed();
    int got = dump_write(&style, DUMP_CALL, path, NULL, NULL);
    dup2(kept, 2);
    close(kept);
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[length > 0 ? length : 0] = '\0';
    if (got != error || strstr(text, says) == NULL || strchr(text, '\n') != text + length - 1 ||
        dumps_failed() != before + 1) {
        fprintf(stderr, "%s: error %d, not %d: %s\n", path, got, error, text);
        exit(1);
    }
}

static void what_is_in_the_way_stays(void)
{
    fresh("files");
    write_text("files/victim", "precious");
    assert(symlink("victim", "files/link") == 0 && symlink("nowhere", "files/dangling") == 0);
    assert(mkdir("files/folder", 0755) == 0 && mkfifo("files/pipe", 0600) == 0);
    expect_failure("files/link", ELOOP, "symbolic link");
    expect_failure("files/dangling", ELOOP, "symbolic link");
    expect_failure("files/folder", EISDIR, "folder is there");
    expect_failure("files/pipe", EEXIST, "may not replace it");
    expect_failure("files/none/x", ENOENT, "make it");
    expect_failure("files/victim/x", ENOTDIR, "folder");
    char long_name[DUMP_NAME_SIZE + 100] = "files/";
    memset(long_name + 6, 'x', 300);
    expect_failure(long_name, ENAMETOOLONG, "too long");
    memset(long_name + 6, 'x', sizeof long_name - 7);
    expect_failure(long_name, ENAMETOOLONG, "too long");
    assert(size_of("files/victim") == 8 && size_of("files/nowhere") == -1);
    assert(files_in("files") == 5);
}

static void a_full_disk_leaves_nothing(void)
{
    fresh("files");
    struct rlimit before, small = {100, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &small); /* SIGXFSZ must not end us, either */
    expect_failure("files/x", EFBIG, "ulimit -f");
    setrlimit(RLIMIT_FSIZE, &before);
    assert(files_in("files") == 0);
    int full = open("/dev/full", O_WRONLY);
    struct dump_style style = ours("files/x");
    assert(full >= 0 && dump_to_fd(&style, DUMP_CALL, full) == ENOSPC);
    close(full);
    int ends[2];
    assert(pipe(ends) == 0);
    close(ends[0]);
    assert(dump_to_fd(&style, DUMP_CALL, ends[1]) == EPIPE); /* SIGPIPE neither */
    close(ends[1]);
}

/* Another thread gets a signal for a dump while this one's is held up by a full pipe. */
static void *signals_and_drains(void *ends)
{
    char bytes[4096];
    while (dump_lock(false)) {
        dump_unlock();
        usleep(1000);
    }
    raise(SIGUSR1);
    assert(files_in("files") == 0);
    while (read(((int *)ends)[0], bytes, sizeof bytes) > 0)
        ;
    return NULL;
}

static void a_dump_that_is_turned_away_comes_after(void)
{
    fresh("files");
    static struct dump_style style;
    pthread_t thread;
    int ends[2];
    style = ours("files/x");
    assert(trigger_set(&style, DUMP_SIGNAL, SIGUSR1) && pipe2(ends, O_NONBLOCK) == 0);
    while (write(ends[1], "x", 1) == 1)
        ;
    fcntl(ends[0], F_SETFL, 0);
    fcntl(ends[1], F_SETFL, 0);
    assert(pthread_create(&thread, NULL, signals_and_drains, ends) == 0);
    assert(dump_to_fd(&style, DUMP_CALL, ends[1]) == 0);
    assert(files_in("files") == 1);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    assert(trigger_set(&style, DUMP_SIGNAL, 0));
}

/* Sanitizers know nothing of our threads. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static struct dump_style told;
static unsigned told_calls;
static pid_t told_by;
static uint32_t dumped;

static void note_call(const char *name)
{
    assert(name[0] != '\0');
    told_calls++;
    told_by = os_tid();
}

static void dump_apart(void)
{
    assert(dump_write(&told, DUMP_CALL, NULL, NULL, NULL) == 0);
    store_release(&dumped, 1);
    os_wake(&dumped, 1);
}

/* A function of the program's may need libc, which our threads do not have. */
static void the_program_is_told_by_its_own_threads(void)
{
    fresh("files");
    told = ours("files/y");
    told.done = note_call;
    assert(os_thread_prepare() && os_thread_start(dump_apart, 256 << 10) == 0);
    while (load_acquire(&dumped) == 0)
        os_wait(&dumped, 0, 1000);
    assert(files_in("files") == 1 && told_calls == 0);
    assert(dump_write(&told, DUMP_CALL, NULL, NULL, NULL) == 0);
    assert(told_calls == 2 && told_by == os_tid());
}
#endif

static void files_of_others_are_never_replaced(void)
{
    struct dump_style style = {.names = DUMP_NAMES_JEMALLOC, .prefix = "files/j"};
    char first[DUMP_NAME_SIZE], second[DUMP_NAME_SIZE], taken[DUMP_NAME_SIZE];
    unsigned seq, letter;
    fresh("files");
    assert(dump_write(&style, DUMP_CALL, NULL, NULL, first) == 0);
    assert(sscanf(strchr(first, '.'), ".%*d.%u.m%u.heap", &seq, &letter) == 2);
    snprintf(taken, sizeof taken, "files/j.%d.%u.m%u.heap", (int)getpid(), seq + 1, letter + 1);
    write_text(taken, "another's");
    assert(dump_write(&style, DUMP_CALL, NULL, NULL, second) == 0);
    assert(strcmp(second, taken) != 0 && size_of(taken) == 9 && size_of(second) > 9);
    assert(files_in("files") == 3);
}

static void only_so_many_are_kept(void)
{
    struct dump_style style = ours("files/k");
    char names[6][DUMP_NAME_SIZE];
    fresh("files");
    style.keep = 3;
    for (int i = 0; i < 6; i++)
        assert(dump_write(&style, DUMP_TIME, NULL, NULL, names[i]) == 0);
    assert(files_in("files") == 3 && size_of(names[2]) == -1 && size_of(names[3]) > 0);
    style.keep = 0;
    style.keep_bytes = 1; /* the last one stays in any case */
    assert(dump_write(&style, DUMP_TIME, NULL, NULL, names[0]) == 0);
    assert(files_in("files") == 1 && size_of(names[0]) > 0);
}

static void a_child_leaves_its_parents_files(void)
{
    struct dump_style style = ours("files/c");
    char name[DUMP_NAME_SIZE];
    fresh("files");
    style.keep = 1;
    assert(dump_write(&style, DUMP_TIME, NULL, NULL, name) == 0);
    pid_t child = fork();
    if (child == 0) {
        dumps_recover(0);
        for (int i = 0; i < 3; i++)
            if (dump_write(&style, DUMP_TIME, NULL, NULL, NULL) != 0)
                _exit(1);
        _exit(0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
    assert(size_of(name) > 0 && files_in("files") == 2);
}

static void leftovers_of_the_dead_go(void)
{
    char mine[100];
    fresh("files");
    snprintf(mine, sizeof mine, "files/.memoir.%d.12ab.tmp", (int)getpid());
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert(waitpid(child, NULL, 0) == child);
    char dead[100];
    snprintf(dead, sizeof dead, "files/.memoir.%d.12ab.tmp", (int)child);
    write_text(mine, "x");
    write_text(dead, "x");
    write_text("files/.memoir.12.tmp", "x");
    write_text("files/.memoir.x.1.tmp", "x");
    write_text("files/other.tmp", "x");
    dump_file_clean("files/whatever");
    assert(size_of(dead) == -1 && files_in("files") == 4);
}

int main(void)
{
    unit_start();
    unit_scratch();
    names_of_ours_say_all();
    names_of_jemalloc_count_twice();
    names_of_gperftools_belong_to_one_process();
    names_without_a_prefix_are_the_programs();
    a_dump_is_private_and_alone();
    what_is_in_the_way_stays();
    a_full_disk_leaves_nothing();
    a_dump_that_is_turned_away_comes_after();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    the_program_is_told_by_its_own_threads();
#endif
    files_of_others_are_never_replaced();
    only_so_many_are_kept();
    a_child_leaves_its_parents_files();
    leftovers_of_the_dead_go();
    return 0;
}
