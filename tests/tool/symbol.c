/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses in this very program; another build id is refused; a damaged or
 * cut file has fewer symbols, or none, and does no harm; the easy names of C++ are made readable.
 */
#include "tool/symbol/symbol.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SELF_MOST = 64 << 20 };

static const char damaged[] = "damaged";
static char *self;
static size_t self_size;

__attribute__((noinline, used)) static int known_function(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value * 3;
}

/* Where in its file an address of this program is. */
static uint64_t file_offset(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, offset;
    char line[1024];
    assert(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        assert(sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3);
        if ((uintptr_t)address >= start && (uintptr_t)address < end) {
            fclose(maps);
            return (uintptr_t)address - start + offset;
        }
    }
    abort();
}

static void a_function_has_its_name(void)
{
    struct symbol symbol;
    struct symbol_file *file = symbol_open("/proc/self/exe", NULL, 0);
    assert(file != NULL && known_function(2) == 6);
    uint64_t at = file_offset((const void *)(uintptr_t)known_function);
    for (uint64_t offset = 0; offset < 4; offset++) {
        assert(symbol_find(file, at + offset, &symbol));
        assert(strcmp(symbol.name, "known_function") == 0);
        assert(symbol.offset == offset && !symbol.guess);
    }
    assert(!symbol_find(file, UINT64_MAX, &symbol));
    symbol_close(file);
    assert(symbol_open("/proc/self/exe", "another", 7) == NULL);
    assert(symbol_open("/proc", NULL, 0) == NULL &&
           symbol_open("/proc/self/maps", NULL, 0) == NULL);
}

static void write_self(size_t size)
{
    int fd = open(damaged, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, self, size) == (ssize_t)size);
    close(fd);
}

static void look(void)
{
    struct symbol symbol;
    struct symbol_file *file = symbol_open(damaged, "12345678", 0);
    if (file == NULL)
        return;
    for (uint64_t at = 0; at < self_size; at += self_size / 64)
        if (symbol_find(file, at, &symbol))
            assert(strlen(symbol.name) < SELF_MOST);
    symbol_close(file);
}

/* The bytes that say where the others are: the head, the parts, the sections, the symbols. */
static void damage_does_no_harm(void)
{
    uint64_t random = 2026;
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat stat;
    assert(fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size < SELF_MOST);
    self_size = (size_t)stat.st_size;
    self = malloc(self_size);
    assert(self != NULL && read(fd, self, self_size) == stat.st_size);
    close(fd);
    write_self(self_size);
    for (unsigned round = 0; round < unit_times(2000); round++) {
        char kept[64];
        size_t from = unit_random(&random) % 3 == 0 ? self_size - 4096 : 0;
        size_t at = from + unit_random(&random) % 4000;
        size_t length = 1 + unit_random(&random) % 8;
        memcpy(kept, self + at, length);
        for (size_t i = 0; i < length; i++)
            self[at + i] = (char)unit_random(&random);
        fd = open(damaged, O_WRONLY);
        assert(pwrite(fd, self + at, length, (off_t)at) == (ssize_t)length);
        look();
        memcpy(self + at, kept, length);
        assert(pwrite(fd, self + at, length, (off_t)at) == (ssize_t)length);
        close(fd);
    }
    for (unsigned round = 0; round < 40; round++) {
        write_self(unit_random(&random) % self_size);
        look();
    }
    unlink(damaged);
    free(self);
}

static void easy_names_are_readable(void)
{
    static const char *const names[][2] = {
        {"main", "main"},
        {"_Z11build_indexv", "build_index"},
        {"_ZN5Cache6insertEi", "Cache::insert"},
        {"_ZNK5Cache4findEi", "Cache::find"},
        {"_ZL6hiddenv", "hidden"},
        {"_ZN12_GLOBAL__N_15innerEv", "(anonymous)::inner"},
        {"_Z4moreIiEvT_", "more<...>"},
        {"_ZN5CacheC2Ev", "Cache"},
        {"_ZN3fooIiE3barEv", "_ZN3fooIiE3barEv"},
        {"_Z", "_Z"},
        {"_Z99x", "_Z99x"},
        {"_ZN", "_ZN"},
    };
    char text[64], tiny[4];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        symbol_readable(names[i][0], text, sizeof text);
        assert(strcmp(text, names[i][1]) == 0);
        symbol_readable(names[i][0], tiny, sizeof tiny);
        assert(strlen(tiny) < sizeof tiny);
    }
}

int main(void)
{
    a_function_has_its_name();
    damage_does_no_harm();
    easy_names_are_readable();
    return 0;
}
