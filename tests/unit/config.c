/* SPDX-License-Identifier: MIT */
/*
 * The options: values of every kind, the grammar, the order of sources, the warnings to the letter,
 * and inputs that are huge, hostile or strange. The test starts itself again for the environment
 * that only the kernel remembers.
 */
#include "base/config.h"

#include "base/config_value.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct config got;
static char warned[8192];
static size_t warned_length;
static unsigned warned_lines;

static void sink(const char *line, size_t length)
{
    assert(length > 0 && line[length - 1] == '\n');
    assert(memchr(line, '\n', length) == line + length - 1);
    assert(warned_length + length < sizeof warned);
    memcpy(warned + warned_length, line, length);
    warned_length += length;
    warned[warned_length] = '\0';
    warned_lines++;
}

static void forget(void)
{
    config_warn_to(sink);
    warned_length = warned_lines = 0;
    warned[0] = '\0';
}

/* Reads the text on top of the defaults. */
static void parse(const char *text)
{
    forget();
    config_defaults(&got);
    config_text(&got, text, strlen(text), "here");
}

static void expect_warning(int line, const char *wanted)
{
    if (strcmp(warned, wanted) != 0) {
        fprintf(stderr, "line %d: got\n%sexpected\n%s", line, warned, wanted);
        exit(1);
    }
}
#define WARNED(wanted) expect_warning(__LINE__, wanted)

/* Compared as text: bytes between the fields may differ. */
static bool same(const struct config *a, const struct config *b)
{
    char a_text[2048];
    char b_text[2048];
    struct print a_print;
    struct print b_print;
    print_start(&a_print, a_text, sizeof a_text);
    print_start(&b_print, b_text, sizeof b_text);
    assert(config_print(a, &a_print) && config_print(b, &b_print));
    return strcmp(print_string(&a_print), print_string(&b_print)) == 0;
}

static bool is_default(void)
{
    struct config initial;
    config_defaults(&initial);
    return same(&initial, &got);
}

static void defaults_are_those_of_the_table(void)
{
    config_defaults(&got);
    assert(got.heap && got.heap_rate == 512 << 10 && got.return_delay_ms == 5000);
    assert(got.thp == CONFIG_THP_AUTO && got.numa_nodes == 0 && got.cache == 8 << 20);
    assert(!got.stats && got.conf[0] == '\0' && !got.verbose);
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        char text[300];
        struct print print;
        const struct config_option *option = &config_options[i];
        /* A default that its own row refuses would be zero without a word. */
        assert(config_value_parse(&got, option, option->initial, strlen(option->initial)));
        print_start(&print, text, sizeof text);
        config_value_print(&got, option, &print);
        assert(strcmp(print_string(&print), option->initial) == 0);
    }
}

static void flags_and_choices(void)
{
    static const char *const on[] = {"on", "yes", "true", "1"};
    static const char *const off[] = {"off", "no", "false", "0"};
    static const char *const words[] = {"off", "on", "auto"};
    char text[64];
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "stats:%s", on[i]);
        parse(text);
        assert(got.stats && warned_lines == 0);
        snprintf(text, sizeof text, "heap:%s", off[i]);
        parse(text);
        assert(!got.heap && warned_lines == 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "thp:%s", words[i]);
        parse(text);
        assert(got.thp == i && warned_lines == 0);
    }
    static const char *const bad[] = {"thp:",  "thp:of",  "thp:offf", "thp:off|on",
                                      "heap:", "heap:ON", "heap:2",   "stats:o"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        parse(bad[i]);
        assert(is_default() && warned_lines == 1);
    }
}

static void sizes(void)
{
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = {
        {"heap.rate:0", 0},          {"heap.rate:1", 1},        {"heap.rate:64K", 64 << 10},
        {"heap.rate:64k", 64 << 10}, {"heap.rate:3M", 3 << 20}, {"heap.rate:2G", 2ul << 30},
        {"heap.rate:1T", 1ul << 40}, {"heap.rate:8KiB", 8192},  {"heap.rate:8KB", 8192},
        {"heap.rate:100B", 100},     {"heap.rate:000012", 12},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        parse(good[i].text);
        assert(got.heap_rate == good[i].bytes && warned_lines == 0);
    }
    static const char *const bad[] = {
        "heap.rate:",     "heap.rate:K",   "heap.rate:-1",
        "heap.rate:1.5M", "heap.rate:1KK", "heap.rate:1KiBB",
        "heap.rate:1i",   "heap.rate:1Ki", "heap.rate:1P",
        "heap.rate:2T",   "heap.rate:1 K", "heap.rate:18446744073709551616",
        "heap.rate:0x10", "cache:2G",      "heap.rate:18014398509481984K",
        "cache:never",    "heap.rate:+1",  "heap.rate:99999999999999999999999999999999",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        parse(bad[i]);
        assert(is_default() && warned_lines == 1);
    }
}

static void durations_and_numbers(void)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"return.delay:0", 0},
        {"return.delay:0s", 0},
        {"return.delay:500ms", 500},
        {"return.delay:10s", 10000},
        {"return.delay:1m", 60000},
        {"return.delay:2h", 7200000},
        {"return.delay:1234", 1234},
        {"return.delay:24h", 86400000},
        {"return.delay:never", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        parse(good[i].text);
        assert(got.return_delay_ms == good[i].ms && warned_lines == 0);
    }
    parse("numa.nodes:64");
    assert(got.numa_nodes == 64 && warned_lines == 0);
    static const char *const bad[] = {
        "return.delay:",
        "return.delay:s",
        "return.delay:25h",
        "return.delay:1d",
        "return.delay:1S",
        "return.delay:never ever",
        "return.delay:18446744073709551615h",
        "return.delay:18446744073709551615",
        "return.delay:-1s",
        "numa.nodes:65",
        "numa.nodes:",
        "numa.nodes:4294967297",
        "numa.nodes:1K",
        "numa.nodes:one",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        parse(bad[i]);
        assert(is_default() && warned_lines == 1);
    }
}

static void paths(void)
{
    char text[CONFIG_PATH_SIZE + 16];
    parse("conf:/a/b c=d:e#f.conf");
    assert(strcmp(got.conf, "/a/b c=d:e#f.conf") == 0 && warned_lines == 0);
    parse("conf:/a,conf:");
    assert(got.conf[0] == '\0' && warned_lines == 0);

    memset(text, 'p', sizeof text);
    memcpy(text, "conf:", 5);
    text[5 + CONFIG_PATH_SIZE - 1] = '\0';
    parse(text);
    assert(strlen(got.conf) == CONFIG_PATH_SIZE - 1 && warned_lines == 0);
    text[5 + CONFIG_PATH_SIZE - 1] = 'p';
    text[5 + CONFIG_PATH_SIZE] = '\0';
    parse(text);
    assert(got.conf[0] == '\0' && warned_lines == 1);

    forget();
    config_defaults(&got);
    config_text(&got, "conf:/a\0b", 9, "here");
    assert(got.conf[0] == '\0' && warned_lines == 1);
}

static void grammar(void)
{
    parse("heap:off,heap.rate=64K");
    assert(!got.heap && got.heap_rate == 65536 && warned_lines == 0);
    parse(" \t heap \t: off \t,\n\r\n ,,, cache =2M\r\n#stats:on\nverbose:on # thp:on, thp:on\n"
          "numa.nodes:3#\n");
    assert(!got.heap && got.cache == 2 << 20 && !got.stats && got.verbose);
    assert(got.thp == CONFIG_THP_AUTO);
    WARNED("memoir: here: numa.nodes can't be '3#', accepted: 0 to 64\n");
    parse("cache:1K,cache:2K,cache:3K");
    assert(got.cache == 3 << 10 && warned_lines == 0);
    parse("cache:1K,cache:many");
    assert(got.cache == 1 << 10 && warned_lines == 1);
    parse("");
    assert(is_default() && warned_lines == 0);
    parse(" , ,\n\n# all of it");
    assert(is_default() && warned_lines == 0);
}

static void warnings_name_what_was_meant(void)
{
    parse("heap.rat:64K");
    WARNED(
        "memoir: here: no option 'heap.rat', the nearest is 'heap.rate' (all: memoir options)\n");
    parse("chace=1M");
    WARNED("memoir: here: no option 'chace', the nearest is 'cache' (all: memoir options)\n");
    parse("HEAP:on");
    assert(warned_lines == 1);
    parse("delay=1s");
    WARNED(
        "memoir: here: no option 'delay', the nearest is 'return.delay' (all: memoir options)\n");
    parse("=on");
    assert(warned_lines == 1 && strstr(warned, "no option ''"));
    parse("heap");
    WARNED("memoir: here: heap has no value; write heap:VALUE, accepted: on|off\n");
    parse("heap.rate:lots");
    WARNED("memoir: here: heap.rate can't be 'lots', accepted: 0 to 1T bytes, such as 64K or 1M\n");
    parse("return.delay:soon");
    WARNED(
        "memoir: here: return.delay can't be 'soon', accepted: 0 to 24h, such as 500ms, 10s or 1m, "
        "or never\n");
    parse("thp:always");
    WARNED("memoir: here: thp can't be 'always', accepted: off|on|auto\n");
    parse("heap:\033[2J\x80");
    WARNED("memoir: here: heap can't be '?[2J?', accepted: on|off\n");
}

static void warnings_are_few(void)
{
    char text[4096];
    size_t length = 0;
    for (int i = 0; i < CONFIG_WARNINGS_MAX; i++)
        length += (size_t)sprintf(text + length, "nothing%d:1,", i);
    parse(text);
    assert(warned_lines == CONFIG_WARNINGS_MAX && !strstr(warned, "more"));
    sprintf(text + length, "nothing:1,heap:lots,cache,heap:off");
    parse(text);
    assert(warned_lines == CONFIG_WARNINGS_MAX + 1 && !got.heap);
    assert(strstr(warned, "memoir: more options are wrong; the first 8 are shown\n"));
}

static void huge_texts(void)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 64);
    assert(text);

    memset(text, 'x', SIZE);
    memcpy(text + SIZE, ",heap:off", 10);
    parse(text);
    assert(!got.heap && warned_lines == 1 && warned_length < 200);
    assert(strstr(warned, "an option longer than 512 bytes is ignored: 'xxxx"));

    memset(text, ',', SIZE);
    memcpy(text + SIZE, "heap:off", 9);
    parse(text);
    assert(!got.heap && warned_lines == 0);

    for (size_t i = 0; i < SIZE; i += 8)
        memcpy(text + i, "bad:bad,", 8);
    memcpy(text + SIZE, "heap:off", 9);
    parse(text);
    assert(!got.heap && warned_lines == CONFIG_WARNINGS_MAX + 1);

    /* The longest pair that is read, and one byte more. */
    memset(text, ' ', 1024);
    memcpy(text, "heap:off", 8);
    text[CONFIG_PAIR_MAX] = '\0';
    parse(text);
    assert(!got.heap && warned_lines == 0);
    text[CONFIG_PAIR_MAX] = ' ';
    text[CONFIG_PAIR_MAX + 1] = '\0';
    parse(text);
    assert(got.heap && warned_lines == 1);
    free(text);
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert(file && fwrite(text, 1, length, file) == length);
    assert(fclose(file) == 0);
}

static void files(void)
{
    char directory[] = "/tmp/memoir-config-XXXXXX";
    assert(mkdtemp(directory) && chdir(directory) == 0);
    static const char text[] = "# options\nheap: off\n\ncache = 2M, thp:on\nhaep:on\n";
    write_file("a.conf", text, sizeof text - 1);
    forget();
    config_defaults(&got);
    assert(config_file(&got, "a.conf", false));
    assert(!got.heap && got.cache == 2 << 20 && got.thp == CONFIG_THP_ON);
    WARNED("memoir: a.conf:5: no option 'haep', the nearest is 'heap' (all: memoir options)\n");

    forget();
    assert(!config_file(&got, "none.conf", true));
    WARNED("");
    assert(!config_file(&got, "none.conf", false));
    WARNED("memoir: none.conf: the file can't be read (error 2); it is ignored\n");
    forget();
    assert(!config_file(&got, ".", true));
    WARNED("memoir: .: the file can't be read (error 21); it is ignored\n");

    /* A pipe that nobody writes to must not stall, a device without end must end. */
    forget();
    assert(mkfifo("pipe", 0600) == 0);
    config_file(&got, "pipe", false);
    assert(warned_lines == 0);
    assert(!config_file(&got, "/dev/zero", false));
    assert(warned_lines == 2 && strstr(warned, "longer than 1048576 bytes"));

    /* Pairs across the edges of what is read at once. */
    static const char pair[] = "cache:123K";
    for (size_t at = 2048 - 12; at < 2048 + 2; at++) {
        char chunk[4096];
        memset(chunk, '\n', sizeof chunk);
        memcpy(chunk + at, pair, sizeof pair - 1);
        write_file("edge.conf", chunk, sizeof chunk);
        forget();
        config_defaults(&got);
        assert(config_file(&got, "edge.conf", false) && got.cache == 123 << 10);
    }
    unlink("a.conf");
    unlink("pipe");
    unlink("edge.conf");
    assert(chdir("/") == 0 && rmdir(directory) == 0);
}

static void later_sources_win(void)
{
    char path[] = "/tmp/memoir-config-XXXXXX";
    int fd = mkstemp(path);
    assert(fd >= 0);
    close(fd);
    static const char text[] = "cache:1K\nheap.rate:1K\nthp:on\nconf:/elsewhere\nbad:1\n";
    write_file(path, text, sizeof text - 1);
    char variable[300];
    snprintf(variable, sizeof variable, "MEMOIR=cache:3K,conf:%s,verbos:1", path);
    const char *environment[] = {"A=b", "MEMOIRS=cache:9K", variable, "MEMOIR=cache:9K", NULL};

    forget();
    config_load(&got, "cache:2K,heap.rate:2K,stat:1", environment);
    assert(got.cache == 3 << 10);        /* the variable */
    assert(got.heap_rate == 2 << 10);    /* the program */
    assert(got.thp == CONFIG_THP_ON);    /* the file */
    assert(got.return_delay_ms == 5000); /* the default */
    assert(strcmp(got.conf, path) == 0);
    /* One warning a mistake, although most texts are read twice. */
    char wanted[1024];
    snprintf(wanted, sizeof wanted,
             "memoir: memoir_conf: no option 'stat', the nearest is 'stats' (all: memoir options)\n"
             "memoir: MEMOIR: no option 'verbos', the nearest is 'verbose' (all: memoir options)\n"
             "memoir: %s:4: conf has no effect in the file that conf names\n"
             "memoir: %s:5: no option 'bad' (all: memoir options)\n",
             path, path);
    WARNED(wanted);

    const char *empty[] = {NULL};
    forget();
    config_load(&got, NULL, empty);
    assert(is_default() && warned_lines == 0);
    unlink(path);
}

/* This program again, with the argument "started". Where it is emulated, the kernel can't start it
 * but its emulator. */
static void start_again(char *self, char *const *environment)
{
    enum { WORDS = 16 };
    char *arguments[WORDS + 3] = {NULL};
    char *emulator = getenv("MEMOIR_EMULATOR"), *rest = NULL;
    size_t count = 0;
    if (emulator != NULL)
        for (char *word = strtok_r(emulator, " ", &rest); word != NULL && count < WORDS;
             word = strtok_r(NULL, " ", &rest))
            arguments[count++] = word;
    arguments[count] = self;
    arguments[count + 1] = "started";
    execvpe(count > 0 ? arguments[0] : "/proc/self/exe", arguments, environment);
    _exit(9);
}

/* The kernel's copy of the environment, with the variable at every offset of a chunk's edge and
 * with a value larger than any buffer. */
static void started_environment(char *self)
{
    static const char start[] = "MEMOIR=cache:7K";
    for (size_t before = 2048 - 40; before < 2048 + 2; before++) {
        char *padding = malloc(before + 1);
        char *value = malloc(100001 + 16);
        assert(padding && value);
        memset(padding, 'P', before);
        padding[before] = '\0';
        padding[1] = '=';
        memset(value, ',', 100000);
        memcpy(value, start, sizeof start - 1);
        memcpy(value + 100000, "heap:off", 9);
        char *const environment[] = {
            padding, "MEMOIRE=cache:8K", "XMEMOIR=cache:8K", "", value, "MEMOIR=cache:9K", NULL};
        pid_t child = fork();
        if (child == 0) {
            start_again(self, environment);
        }
        int status;
        assert(waitpid(child, &status, 0) == child && status == 0);
        free(padding);
        free(value);
    }
}

static int started(void)
{
    forget();
    config_load(&got, NULL, NULL);
    return got.cache == 7 << 10 && !got.heap && warned_lines == 0 ? 0 : 1;
}

static void printed_text_reads_back(void)
{
    static const char *const lines[] = {
        "heap:off\n",    "heap.rate:3K\n", "return.delay:never\n", "thp:on\n",     "numa.nodes:7\n",
        "cache:12345\n", "stats:on\n",     "conf:/a b\n",          "verbose:on\n",
    };
    char text[2048];
    struct print print;
    parse("heap:off,heap.rate:3K,return.delay:never,thp:on,numa.nodes:7,cache:12345,stats:on,"
          "conf:/a b,verbose:on");
    struct config first = got;
    print_start(&print, text, sizeof text);
    assert(config_print(&first, &print));
    unsigned ends = 0;
    for (const char *at = print_string(&print); *at != '\0'; at++)
        ends += *at == '\n';
    assert(ends == CONFIG_COUNT);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *line = strstr(text, lines[i]);
        assert(line != NULL && (line == text || line[-1] == '\n'));
    }
    parse(print_string(&print));
    assert(same(&first, &got) && warned_lines == 0);
    print_start(&print, text, 20);
    assert(!config_print(&first, &print));
}

static void warnings_go_to_standard_error(void)
{
    int ends[2];
    char line[256] = {0};
    static const char wanted[] =
        "memoir: here: heap has no value; write heap:VALUE, accepted: on|off\n";
    assert(pipe(ends) == 0);
    int saved = dup(2);
    dup2(ends[1], 2);
    config_warn_to(NULL);
    config_text(&got, "heap", 4, "here");
    dup2(saved, 2);
    assert(read(ends[0], line, sizeof line) == (ssize_t)sizeof wanted - 1);
    assert(strcmp(line, wanted) == 0);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return started();
    defaults_are_those_of_the_table();
    flags_and_choices();
    sizes();
    durations_and_numbers();
    paths();
    grammar();
    warnings_name_what_was_meant();
    warnings_are_few();
    huge_texts();
    files();
    later_sources_win();
    started_environment(argv[0]);
    printed_text_reads_back();
    warnings_go_to_standard_error();
    return 0;
}
