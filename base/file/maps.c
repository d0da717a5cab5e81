/* SPDX-License-Identifier: MIT */
/*
 * See base/file/maps.h. The file is read in pieces of a few KiB, and a line is parsed where it
 * lies. A build id is taken from the ELF header that the file's first mapping begins with: read by
 * the kernel (/proc/self/mem), else from our own memory after a test, else from the file. The other
 * mappings of the file then have the same id.
 */
#include "base/file/maps.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/os.h"
#include "base/print.h"

enum { HEADERS_MAX = 64, NOTES_MAX = 1024 }; /* of a file; linkers write about 13, in 100 bytes */
enum { DIRECT = -2 }; /* instead of a descriptor: our own memory, each address tested first */

/* A source of bytes: memory, or a file where `base` is 0. */
struct source {
    int fd;
    uint64_t base;
};

static bool lines_open(struct maps *maps);

bool maps_open(struct maps *maps)
{
    memset(maps, 0, offsetof(struct maps, text));
    maps->memory = -1;
    if (!lines_open(maps)) {
        loaded_start(&maps->loaded);
        return true;
    }
    maps->memory = os_open_own("/proc/thread-self/mem", "/proc/self/mem");
    return true;
}

void maps_close(struct maps *maps)
{
    if (maps->lines >= 0)
        os_close(maps->lines);
    if (maps->memory >= 0)
        os_close(maps->memory);
}

static ssize_t read_some(int fd, void *buffer, size_t size)
{
    ssize_t got;
    unsigned tries = 0;
    do
        got = os_read(fd, buffer, size);
    while (os_again(got, &tries));
    return got;
}

/* False if there is nothing. */
static bool lines_start(struct maps *maps, const char *path)
{
    maps->lines = os_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (maps->lines < 0)
        return false;
    ssize_t got = read_some(maps->lines, maps->text, sizeof maps->text - 1);
    if (got > 0) {
        maps->to = (size_t)got;
        return true;
    }
    os_close(maps->lines);
    maps->lines = -1;
    return false;
}

/* The process's file is empty once its first thread has ended. The thread's own would do always,
 * but under qemu it is about other addresses than the program's. */
static bool lines_open(struct maps *maps)
{
    return lines_start(maps, "/proc/self/maps") || lines_start(maps, "/proc/thread-self/maps");
}

bool maps_open_flags(struct maps *maps)
{
    memset(maps, 0, offsetof(struct maps, text));
    maps->memory = -1;
    return lines_start(maps, "/proc/self/smaps") || lines_start(maps, "/proc/thread-self/smaps");
}

/* Moves the unread rest to the front and reads more. False if nothing came. */
static bool fill(struct maps *maps)
{
    memmove(maps->text, maps->text + maps->from, maps->to - maps->from);
    maps->to -= maps->from;
    maps->from = 0;
    size_t room = sizeof maps->text - 1 - maps->to;
    ssize_t got = maps->over || room == 0 ? 0 : read_some(maps->lines, maps->text + maps->to, room);
    if (got <= 0) {
        maps->over = maps->over || room > 0;
        return false;
    }
    maps->to += (size_t)got;
    return true;
}

/* The next line, with a 0 in place of its newline; NULL at the end. */
static char *next_line(struct maps *maps)
{
    for (;;) {
        char *line = maps->text + maps->from;
        char *newline = memchr(line, '\n', maps->to - maps->from);
        if (newline != NULL) {
            *newline = '\0';
            maps->from = (size_t)(newline - maps->text) + 1;
            if (!maps->cut)
                return line;
            maps->cut = false;
            continue;
        }
        if (fill(maps))
            continue;
        if (maps->over)
            return NULL; /* the kernel ends every line */
        bool more = maps->cut;
        maps->cut = true; /* the rest of the line is dropped */
        maps->text[maps->to] = '\0';
        maps->from = maps->to;
        if (!more)
            return maps->text;
    }
}

static bool number(const char **at, unsigned base, char end, uint64_t *value)
{
    const char *from = *at;
    *value = 0;
    for (;; (*at)++) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit >= base)
            break;
        *value = *value * base + digit;
    }
    if (*at == from || **at != end)
        return false;
    (*at)++;
    return true;
}

/* "start-end rwxp offset major:minor inode   path" */
static bool parse(const char *line, struct map *map)
{
    uint64_t major, minor;
    if (!number(&line, 16, '-', &map->start) || !number(&line, 16, ' ', &map->end))
        return false;
    if (strlen(line) < 5 || line[4] != ' ')
        return false;
    map->readable = line[0] == 'r';
    map->writable = line[1] == 'w';
    map->executable = line[2] == 'x';
    map->shared = line[3] == 's';
    line += 5;
    if (!number(&line, 16, ' ', &map->offset) || !number(&line, 16, ':', &major) ||
        !number(&line, 16, ' ', &minor))
        return false;
    map->device = major << 32 | minor;
    map->inode = 0;
    while (*line >= '0' && *line <= '9')
        map->inode = map->inode * 10 + (uint64_t)(*line++ - '0');
    while (*line == ' ')
        line++;
    map->path = line;
    return map->start < map->end;
}

/* The same from the loader's list. Its objects have numbers in the place of inodes. */
static bool loaded_map(struct maps *maps, struct map *map)
{
    struct loaded_part part;
    if (!loaded_next(&maps->loaded, &part))
        return false;
    *map = (struct map){.start = part.start,
                        .end = part.end,
                        .offset = part.offset,
                        .inode = part.object,
                        .readable = part.readable,
                        .writable = part.writable,
                        .executable = part.executable,
                        .path = maps->loaded.path};
    return true;
}

bool maps_next(struct maps *maps, struct map *map)
{
    char *line;
    if (maps->lines < 0)
        return loaded_map(maps, map);
    while ((line = next_line(maps)) != NULL)
        if (parse(line, map))
            return true;
    return false;
}

/* The last line about each mapping: "VmFlags: rd wr mr mw me dc ac". */
bool maps_is_apart(struct maps *maps)
{
    static const char flags[] = "VmFlags:";
    char *line;
    while ((line = next_line(maps)) != NULL)
        if (strncmp(line, flags, sizeof flags - 1) == 0)
            return strstr(line, " dc") != NULL || strstr(line, " wf") != NULL;
    return false;
}

static bool get(const struct source *source, uint64_t offset, void *bytes, size_t size)
{
    ssize_t got;
    unsigned tries = 0;
    if (source->fd == DIRECT)
        return os_peek(bytes, source->base + offset, size);
    do
        got = os_read_at(source->fd, bytes, size, source->base + offset);
    while (os_again(got, &tries));
    return got == (ssize_t)size;
}

/* The build id among notes: a name's length, a description's, a type, then both, each padded to
 * four bytes. */
unsigned maps_note_id(const uint8_t *notes, size_t size, uint8_t id[MAPS_ID_MAX])
{
    size_t at = 0;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || description > size - at - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0) {
            if (note.n_descsz > MAPS_ID_MAX)
                return 0;
            memcpy(id, notes + at + name, note.n_descsz);
            return note.n_descsz;
        }
        at += name + description;
    }
    return 0;
}

/* -1: no ELF header; else the length of the id. In memory (`loaded`) notes are found by their
 * address, in a file by their offset. */
static int id_in_elf(const struct source *source, bool loaded, uint8_t id[MAPS_ID_MAX])
{
    Elf64_Ehdr header;
    Elf64_Phdr part;
    uint8_t notes[NOTES_MAX];
    uint64_t first = UINT64_MAX; /* the address of the file's beginning, as linked */
    if (!get(source, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof part)
        return -1;
    unsigned count = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (!get(source, header.e_phoff + i * sizeof part, &part, sizeof part))
            return 0;
        if (part.p_type == PT_LOAD && first == UINT64_MAX)
            first = part.p_vaddr - part.p_offset;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!get(source, header.e_phoff + i * sizeof part, &part, sizeof part))
            return 0;
        size_t size = part.p_filesz < sizeof notes ? part.p_filesz : sizeof notes;
        uint64_t place = loaded ? part.p_vaddr - first : part.p_offset;
        if (part.p_type != PT_NOTE || !get(source, place, notes, size))
            continue;
        unsigned length = maps_note_id(notes, size, id);
        if (length > 0)
            return (int)length;
    }
    return 0;
}

/* Opens only regular paths: reading a device may have side effects. */
static int id_in_file(const char *path, uint8_t id[MAPS_ID_MAX])
{
    if (path[0] != '/' || strncmp(path, "/dev/", 5) == 0)
        return 0;
    struct source file = {os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0), 0};
    if (file.fd < 0)
        return 0;
    int length = id_in_elf(&file, false, id);
    os_close(file.fd);
    return length;
}

unsigned maps_build_id(struct maps *maps, const struct map *map, uint8_t id[MAPS_ID_MAX])
{
    bool same = map->inode != 0 && maps->device == map->device && maps->inode == map->inode;
    if (map->path[0] == '\0' || map->shared) /* linkers never map a library shared */
        return 0;
    if (map->offset == 0 || !same) {
        bool direct = maps->lines < 0;
        struct source memory = {direct ? DIRECT : maps->memory, map->start};
        int length = -1;
        if (map->offset == 0 && map->readable && (direct || maps->memory >= 0))
            length = id_in_elf(&memory, true, maps->id);
        if (length < 0 && same)
            length = (int)maps->id_length;
        else if (length < 0 && map->inode != 0 && (map->executable || maps->memory < 0))
            length = id_in_file(map->path, maps->id);
        maps->device = map->device;
        maps->inode = map->inode;
        maps->id_length = length < 0 ? 0 : (unsigned)length;
    }
    memcpy(id, maps->id, maps->id_length);
    return maps->id_length;
}

/* A line as the kernel writes it. */
static void line_write(struct sink *sink, const struct map *map)
{
    char text[128];
    struct print print;
    print_start(&print, text, sizeof text);
    print_hex(&print, map->start);
    print_char(&print, '-');
    print_hex(&print, map->end);
    print_format(&print, " %c%c%c%c ", map->readable ? 'r' : '-', map->writable ? 'w' : '-',
                 map->executable ? 'x' : '-', map->shared ? 's' : 'p');
    print_hex(&print, map->offset);
    print_format(&print, " 00:00 %lu   ", (unsigned long)map->inode);
    sink_bytes(sink, text, print_length(&print));
    sink_text(sink, map->path);
    sink_text(sink, "\n");
}

static bool loaded_write(struct maps *maps, struct sink *sink, const char *before)
{
    struct map map;
    bool any = false;
    if (!maps_open(maps))
        return false;
    for (; maps_next(maps, &map); any = true) {
        if (!any)
            sink_text(sink, before);
        line_write(sink, &map);
    }
    maps_close(maps);
    return any;
}

bool maps_copy(struct maps *scratch, struct sink *sink, const char *before)
{
    if (!lines_open(scratch))
        return loaded_write(scratch, sink, before);
    sink_text(sink, before);
    for (ssize_t got = (ssize_t)scratch->to; got > 0;
         got = read_some(scratch->lines, scratch->text, sizeof scratch->text))
        sink_bytes(sink, scratch->text, (size_t)got);
    os_close(scratch->lines);
    return true;
}
