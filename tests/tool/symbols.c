/* SPDX-License-Identifier: MIT */
/* timeout=300 */
/*
 * Names of addresses in this very program, with lines and what was inlined; a file of another build
 * is never used; debug files are found where they are; a damaged or cut file has fewer names, or
 * none, and does no harm; what was kept on disk is believed only if it is whole; names are
 * those that people write; code is what is in memory. Programs against addr2line:
 * tests/golden/symbols.sh.
 */
#include "base/arch.h"
#include "base/call.h"
#include "tool/symbol/symbol.h"

#include "tests/unit/unit.h"
#include "tool/symbol/elf/image.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SELF_MAX = 256 << 20 };

static const char damaged[] = "damaged";
static char self_path[PATH_MAX - 64], self_id[IMAGE_ID_TEXT];

__attribute__((always_inline)) static inline int known_inlined(int value)
{
    __asm__ volatile("nop" : "+r"(value));
    return value * 3;
}

__attribute__((noinline, used)) static int known_function(int value)
{
    return known_inlined(value) + 1;
}

/* A profile of this process: its executable mappings, as /proc has them. */
static void profile_of_self(struct profile *profile, const char *path, const char *build_id)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, offset;
    char line[PATH_MAX + 256], name[PATH_MAX], rights[8];
    assert(maps != NULL);
    profile_start(profile);
    while (fgets(line, sizeof line, maps)) {
        name[0] = '\0';
        assert(sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, rights, &offset,
                      name) >= 4);
        if (rights[2] != 'x' || strcmp(name, self_path) != 0)
            continue;
        struct profile_mapping mapping = {.start = start, .limit = end, .offset = offset};
        mapping.path = profile_string_of(profile, path);
        mapping.build_id = profile_string_of(profile, build_id);
        profile_mapping(profile, &mapping);
    }
    fclose(maps);
}

static uint64_t address_of(int (*function)(int))
{
    return (uint64_t)(uintptr_t)function;
}

static const char *name_at(const struct profile *profile, uint32_t location, uint32_t depth)
{
    const struct profile_location *found = profile_location_at(profile, location);
    if (depth >= found->lines)
        return "";
    const struct profile_line *line = &profile_lines_of(profile, location)[depth];
    return profile_text(profile, profile_function_at(profile, line->function)->name);
}

/* Resolves every byte of known_function; answers how many have its name. */
static unsigned self_resolve(const char *path, const char *build_id,
                             const struct symbol_options *options, struct symbol_report *report)
{
    enum { BYTES = 6 };
    struct profile profile;
    unsigned named = 0;
    profile_of_self(&profile, path, build_id);
    uint32_t locations[BYTES];
    for (unsigned i = 0; i < BYTES; i++)
        locations[i] = profile_address(&profile, address_of(known_function) + i, LOCATION_EXACT);
    assert(symbol_resolve(&profile, options, report));
    for (unsigned i = 0; i < BYTES; i++) {
        const struct profile_location *found = profile_location_at(&profile, locations[i]);
        assert(found->flags & LOCATION_LOOKED);
        named += found->lines > 0 &&
                 strcmp(name_at(&profile, locations[i], found->lines - 1), "known_function") == 0;
    }
    profile_free(&profile);
    return named * 100 / BYTES;
}

static void a_function_has_its_name(void)
{
    static const struct symbol_options options = {.no_cache = true};
    struct symbol_report report;
    assert(known_function(2) == 7);
    assert(self_resolve(self_path, self_id, &options, &report) == 100);
    assert(report.count == 1 && report.modules[0].quality == SYMBOL_FULL);
    assert(report.named == report.locations && report.guessed == 0 && !report.modules[0].unsure);
    symbol_report_free(&report);
    /* Without a build id the path is believed, and the report says so. */
    assert(self_resolve(self_path, "", &options, &report) == 100 && report.modules[0].unsure);
    symbol_report_free(&report);
}

/* A return address belongs to the call before it. */
static void a_return_address_is_the_byte_before(void)
{
    static const struct symbol_options options = {.no_cache = true};
    struct symbol_report report;
    struct profile profile;
    profile_of_self(&profile, self_path, self_id);
    uint32_t location = profile_address(&profile, address_of(known_function), 0);
    assert(symbol_resolve(&profile, &options, &report));
    /* Where no call stands before the function, the address is the function's own (entry.c). */
    if (call_ends(ARCH_MACHINE, (const unsigned char *)(uintptr_t)known_function))
        assert(strcmp(name_at(&profile, location, 0), "known_function") != 0);
    symbol_report_free(&report);
    profile_free(&profile);
}

/* Some byte of it came from the function that was inlined, with the line of the call. */
static void what_was_inlined_is_seen(void)
{
    struct symbol_options options = {.no_cache = true};
    struct symbol_report report;
    unsigned seen = 0, plain = 0;
    for (unsigned round = 0; round < 2; round++, options.no_inlines = true) {
        struct profile profile;
        profile_of_self(&profile, self_path, self_id);
        for (unsigned i = 0; i < 12; i++)
            profile_address(&profile, address_of(known_function) + i, LOCATION_EXACT);
        assert(symbol_resolve(&profile, &options, &report));
        for (uint32_t i = 0; i < profile.locations.count; i++) {
            const struct profile_location *location = profile_location_at(&profile, i);
            const struct profile_line *lines = profile_lines_of(&profile, i);
            bool inlined = location->lines == 2 &&
                           strcmp(name_at(&profile, i, 0), "known_inlined") == 0 &&
                           strcmp(name_at(&profile, i, 1), "known_function") == 0;
            if (inlined)
                assert(lines[0].line > 20 && lines[1].line > lines[0].line);
            seen += inlined && round == 0;
            plain += location->lines == 1 && round == 1;
            assert(round == 0 || location->lines <= 1);
        }
        symbol_report_free(&report);
        profile_free(&profile);
    }
    assert(seen > 0 && plain > 0);
}

static void another_build_is_never_used(void)
{
    static const struct symbol_options options = {.no_cache = true};
    struct symbol_options named = {.no_cache = true, .program = self_path};
    struct symbol_report report;
    char other[IMAGE_ID_TEXT];
    memcpy(other, self_id, sizeof other);
    other[0] = other[0] == '0' ? '1' : '0';
    assert(self_resolve(self_path, other, &options, &report) == 0);
    assert(report.modules[0].quality == SYMBOL_MISMATCH && report.modules[0].file == NULL);
    assert(strcmp(report.modules[0].other_file, self_path) == 0);
    symbol_report_free(&report);
    assert(self_resolve(self_path, other, &named, &report) == 0);
    symbol_report_free(&report);
    /* What is no build id is no path either. */
    assert(self_resolve("/nowhere", "../../../../etc/passwd", &options, &report) == 0);
    assert(report.modules[0].quality == SYMBOL_NOTHING);
    symbol_report_free(&report);
    assert(self_resolve("/proc/self/maps", "", &options, &report) == 0);
    symbol_report_free(&report);
}

static void the_file_is_found_elsewhere(void)
{
    struct symbol_options options = {.no_cache = true, .program = self_path};
    struct symbol_report report;
    char path[2 * PATH_MAX], folder[2 * PATH_MAX];
    assert(self_resolve("/nowhere/program", self_id, &options, &report) == 100);
    assert(strcmp(report.modules[0].file, self_path) == 0);
    symbol_report_free(&report);
    options = (struct symbol_options){.no_cache = true, .pid = getpid()};
    assert(self_resolve("/nowhere/program", self_id, &options, &report) == 100);
    symbol_report_free(&report);
    options = (struct symbol_options){.no_cache = true};
    snprintf(path, sizeof path, "%s (deleted)", self_path);
    assert(self_resolve(path, self_id, &options, &report) == 100);
    symbol_report_free(&report);
    snprintf(folder, sizeof folder, "/no:%.*s", (int)(strrchr(self_path, '/') - self_path),
             self_path);
    snprintf(path, sizeof path, "/gone/%s", strrchr(self_path, '/') + 1);
    options.debug_path = folder;
    assert(self_resolve(path, self_id, &options, &report) == 100);
    symbol_report_free(&report);
    assert(self_resolve(path, "", &options, &report) == 100 && report.modules[0].unsure);
    symbol_report_free(&report);
    char target[2 * PATH_MAX];
    mkdir("root", 0700);
    mkdir("root/bin", 0700);
    snprintf(target, sizeof target, "root/bin/%s", strrchr(self_path, '/') + 1);
    unlink(target);
    assert(symlink(self_path, target) == 0);
    snprintf(path, sizeof path, "/bin/%s", strrchr(self_path, '/') + 1);
    options = (struct symbol_options){.no_cache = true, .sysroot = "root"};
    assert(self_resolve(path, self_id, &options, &report) == 100);
    symbol_report_free(&report);
}

static void what_is_kept_is_checked(void)
{
    static const struct symbol_options options = {0};
    struct symbol_report report;
    char path[PATH_MAX], byte;
    assert(setenv("XDG_CACHE_HOME", realpath(".", path), 1) == 0 && setenv("HOME", path, 1) == 0);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/memoir/symbols/%s", self_id);
    for (unsigned round = 0; round < 40; round++) {
        struct stat stat;
        assert(self_resolve(self_path, self_id, &options, &report) == 100);
        assert(report.modules[0].quality == SYMBOL_FULL);
        symbol_report_free(&report);
        int fd = open(path, O_RDWR);
        assert(fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 100);
        off_t at = stat.st_size * round / 40;
        assert(pread(fd, &byte, 1, at) == 1);
        byte ^= 0x41;
        assert(pwrite(fd, &byte, 1, at) == 1);
        if (round % 4 == 0)
            assert(ftruncate(fd, at) == 0);
        close(fd);
    }
}

static void write_damaged(const char *bytes, size_t size)
{
    int fd = open(damaged, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static bool any_name(void *context, const char *name)
{
    (void)context;
    return strstr(name, "known") != NULL;
}

static void look_at_damaged(void)
{
    static const struct symbol_options options = {.no_cache = true};
    struct symbol_report report;
    struct symbol_code *codes;
    size_t count;
    char path[PATH_MAX];
    assert(realpath(damaged, path));
    self_resolve(path, "", &options, &report);
    symbol_report_free(&report);
    struct profile profile;
    profile_of_self(&profile, path, "");
    profile_address(&profile, address_of(known_function), LOCATION_EXACT);
    assert(symbol_codes(&profile, &options, any_name, NULL, &codes, &count));
    symbol_codes_free(codes, count);
    profile_free(&profile);
}

/* Bytes of the head, the sections' heads, the debug information. */
static void damage_does_no_harm(void)
{
    uint64_t random = 2026;
    struct stat stat;
    int fd = open(self_path, O_RDONLY);
    assert(fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size < SELF_MAX);
    size_t size = (size_t)stat.st_size;
    char *self = malloc(size);
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, self + at, size - at);
        assert(self != NULL && got > 0);
        at += (size_t)got;
    }
    close(fd);
    write_damaged(self, size);
    fd = open(damaged, O_WRONLY);
    for (unsigned round = 0; round < unit_times(400); round++) {
        char kept[64], wrong[64];
        size_t kind = unit_random(&random) % 3;
        size_t at = kind == 0   ? unit_random(&random) % 4000
                    : kind == 1 ? size - 4096 + unit_random(&random) % 4000
                                : unit_random(&random) % (size - sizeof kept);
        size_t length = 1 + unit_random(&random) % sizeof kept;
        memcpy(kept, self + at, length);
        for (size_t i = 0; i < length; i++)
            wrong[i] = (char)unit_random(&random);
        assert(pwrite(fd, wrong, length, (off_t)at) == (ssize_t)length);
        look_at_damaged();
        assert(pwrite(fd, kept, length, (off_t)at) == (ssize_t)length);
    }
    close(fd);
    for (unsigned round = 0; round < unit_times(20); round++) {
        write_damaged(self, unit_random(&random) % size);
        look_at_damaged();
    }
    unlink(damaged);
    free(self);
}

static void names_are_readable(void)
{
    static const char *const names[][2] = {
        {"_Z11build_indexv", "build_index"},
        {"_ZN5Cache6insertEi", "Cache::insert"},
        {"_ZNK5Cache4findEi", "Cache::find"},
        {"_ZL6hiddenv", "hidden"},
        {"_ZN12_GLOBAL__N_15innerEv", "(anonymous namespace)::inner"},
        {"_Z4moreIiEvT_", "more<int>"},
        {"_ZN5CacheC2Ev", "Cache::Cache"},
        {"_ZNSt6vectorIS_IiSaIiEESaIS1_EE9push_backERKS1_",
         "std::vector<std::vector<int, std::allocator<int>>, "
         "std::allocator<std::vector<int, std::allocator<int>>>>::push_back"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi.cold",
         "std::vector<int, std::allocator<int>>::push_back"},
        {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"},
        {"_Znwm", "operator new"},
        {"_ZN1AcvbEv", "A::operator bool"},
        {"_ZN3foo3bar17h05af221e174051e9E", "foo::bar"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_D3foo3barFiZv", "foo.bar"},
        {"main", NULL},
        {"_start", NULL},
        {"_Z", NULL},
        {"_Z99x", NULL},
        {"_ZN", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = symbol_demangle(names[i][0]);
        assert(names[i][1] ? text && strcmp(text, names[i][1]) == 0 : text == NULL);
        free(text);
    }
    /* Each part is the two before it: a short name of a long text is left as it is. */
    char bomb[2048] = "_Z1fI1AIiiE";
    for (unsigned i = 0; i < 60; i++)
        snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb), "1AIS%c_S%c_E",
                 i < 10 ? '0' + (int)i : 'A' + (int)i % 26,
                 i < 10 ? '0' + (int)i : 'A' + (int)i % 26);
    snprintf(bomb + strlen(bomb), sizeof bomb - strlen(bomb), "Evv");
    char *text = symbol_demangle(bomb);
    assert(!text || strlen(text) <= 1 << 16);
    free(text);
}

static bool is_known(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "known_function") == 0;
}

static void code_is_what_is_in_memory(void)
{
    static const struct symbol_options options = {0};
    struct profile profile;
    struct symbol_code *codes;
    size_t count;
    profile_of_self(&profile, self_path, self_id);
    for (unsigned i = 0; i < 3; i++)
        profile_address(&profile, address_of(known_function) + i, LOCATION_EXACT);
    assert(symbol_codes(&profile, &options, is_known, NULL, &codes, &count));
    assert(count == 1 && strcmp(codes[0].name, "known_function") == 0 && codes[0].size > 4);
    assert(codes[0].start + codes[0].bias == address_of(known_function));
    assert(memcmp(codes[0].bytes, (const void *)(uintptr_t)known_function, codes[0].size) == 0);
    assert(codes[0].line_count > 0 && codes[0].lines[0].address == codes[0].start);
    for (size_t i = 0; i < codes[0].line_count; i++)
        assert(strstr(codes[0].lines[i].file, "tests/tool/symbols.c") &&
               codes[0].lines[i].line > 20);
    symbol_codes_free(codes, count);
    profile_free(&profile);
}

/* The kernel's own code has its names by the build id, and none of another kernel's. */
static void the_kernels_code_has_names(void)
{
    static const struct symbol_options options = {.no_cache = true};
    const char *ids[] = {NULL, "0123456789abcdef0123456789abcdef01234567"};
    struct image *image = image_vdso();
    if (!image || image->build_id[0] == '\0') {
        image_close(image);
        return;
    }
    ids[0] = image->build_id;
    const uint64_t start = getauxval(AT_SYSINFO_EHDR);
    for (unsigned i = 0; i < 2; i++) {
        struct profile profile;
        struct symbol_report report;
        profile_start(&profile);
        struct profile_mapping mapping = {.start = start, .limit = start + 8192};
        mapping.path = profile_string_of(&profile, "[vdso]");
        mapping.build_id = profile_string_of(&profile, ids[i]);
        profile_mapping(&profile, &mapping);
        unsigned named = 0;
        for (uint64_t at = 0; at < 4096; at += 16)
            profile_address(&profile, start + at, LOCATION_EXACT);
        assert(symbol_resolve(&profile, &options, &report));
        for (uint32_t k = 0; k < profile.locations.count; k++)
            named += strstr(name_at(&profile, k, 0), "getcpu") != NULL ||
                     strstr(name_at(&profile, k, 0), "clock") != NULL;
        assert((named > 0) == (i == 0));
        symbol_report_free(&report);
        profile_free(&profile);
    }
    image_close(image);
}

/* The last stub of this program, which calls some function of another file. */
static void stubs_have_names(void)
{
    static const char *const places[] = {".plt.sec", ".plt", ".plt.got"};
    static const struct symbol_options options = {.no_cache = true};
    struct image *image = image_open(self_path);
    struct symbol_report report;
    struct symbol_code *codes;
    struct profile profile;
    size_t count;
    profile_of_self(&profile, self_path, self_id);
    profile_address(&profile, address_of(known_function), LOCATION_EXACT);
    assert(symbol_codes(&profile, &options, is_known, NULL, &codes, &count) && count == 1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t start;
        Elf_Data *code = image_section(image, places[i], &start);
        if (code && code->d_size >= 32) {
            uint64_t address = start + code->d_size - 8 + codes[0].bias;
            uint32_t location = profile_address(&profile, address, LOCATION_EXACT);
            assert(symbol_resolve(&profile, &options, &report));
            symbol_report_free(&report);
            const char *name = name_at(&profile, location, 0);
            assert(strlen(name) > 4 && strcmp(name + strlen(name) - 4, "@plt") == 0);
            break;
        }
    }
    symbol_codes_free(codes, count);
    profile_free(&profile);
    image_close(image);
}

int main(void)
{
    unit_scratch();
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    assert(length > 0);
    struct image *image = image_open(self_path);
    assert(image != NULL && image->has_dwarf && image->build_id[0] != '\0');
    memcpy(self_id, image->build_id, sizeof self_id);
    image_close(image);
    a_function_has_its_name();
    a_return_address_is_the_byte_before();
    what_was_inlined_is_seen();
    another_build_is_never_used();
    the_file_is_found_elsewhere();
    what_is_kept_is_checked();
    names_are_readable();
    code_is_what_is_in_memory();
    stubs_have_names();
    the_kernels_code_has_names();
    damage_does_no_harm();
    return 0;
}
