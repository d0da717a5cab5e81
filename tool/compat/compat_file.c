/* SPDX-License-Identifier: MIT */
/*
 * What the old commands see in a file and our readers do not tell: how its first line says that it
 * was sampled, and addresses outside of all mappings that may be the program's own.
 */
#include "tool/compat/compat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/symbol/elf/elf.h"

static void head_of_heap(struct compat_head *head, const char *line);
static void own_file(struct profile *profile, const char *path, uint32_t made, bool always);
static void own_segment(struct profile *profile, const char *path, const Elf64_Phdr *segment,
                        uint32_t made, bool always);

struct compat_head compat_head(const char *path)
{
    struct compat_head head = {0};
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "rbe");
    int first = file ? getc(file) : EOF;
    if (first != EOF && isprint(first) && ungetc(first, file) != EOF) {
        while (getline(&line, &room, file) > 0 && line[0] == '%')
            if (strncmp(line, "%warn", 5) == 0)
                fprintf(stderr, "WARNING:%s", line + 5);
        if (line && strncmp(line, "heap profile:", 13) == 0) {
            head_of_heap(&head, line);
        } else if (line && strncmp(line, "heap_v2/", 8) == 0) {
            head = (struct compat_head){
                .version = 2, .period = strtod(line + 8, NULL), .threaded = true};
        }
    }
    if (file)
        fclose(file);
    free(line);
    if (!(head.period >= 1) || !isfinite(head.period))
        head.version = 0;
    return head;
}

/* "heap profile: 1: 2 [3: 4] @ heap_v2/524288" */
static void head_of_heap(struct compat_head *head, const char *line)
{
    unsigned long long numbers[4];
    int end = 0;
    if (sscanf(line, "heap profile: %llu: %llu [ %llu: %llu]%n", &numbers[0], &numbers[1],
               &numbers[2], &numbers[3], &end) != 4 ||
        end == 0)
        return;
    const char *word = line + end;
    word += strspn(word, " \t");
    if (*word != '@') {
        if (numbers[0] == numbers[2] && numbers[1] == numbers[3])
            *head = (struct compat_head){.version = 1, .period = 128 * 1024};
        return;
    }
    word += 1 + strspn(word + 1, " \t");
    size_t length = strcspn(word, "/\r\n");
    if (length == 0 || (length == 11 && memcmp(word, "heapprofile", 11) == 0) ||
        !memmem(word, length, "heap", 4))
        return;
    head->version = memmem(word, length, "_v2", 3) ? 2 : 1;
    head->period = word[length] == '/' ? strtod(word + length + 1, NULL) : 0;
    if (head->version == 1)
        head->period /= 2;
    if (head->period == 0)
        head->period = 128 * 1024;
}

/* The first mapping of all is the program's. */
void compat_own(struct profile *profile, const char *program, const char *library)
{
    uint32_t made = profile->mappings.count > 0 ? (uint32_t)profile->mappings.count : 1;
    own_file(profile, program, made, library[0] != '\0' && made == 1);
    own_file(profile, library, made, false);
}

FILE *compat_named_file(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        return fdopen(fd, "r");
    if (fd >= 0) {
        close(fd);
        errno = EINVAL;
    }
    return NULL;
}

static void own_file(struct profile *profile, const char *path, uint32_t made, bool always)
{
    struct headers headers;
    FILE *file = compat_named_file(path);
    if (!file)
        return;
    if (headers_read_file(&headers, fileno(file)) && headers.whole)
        for (unsigned i = 0; i < headers.count; i++)
            if (headers.parts[i].p_type == PT_LOAD && (headers.parts[i].p_flags & PF_X))
                own_segment(profile, path, &headers.parts[i], made, always);
    fclose(file);
}

/* The code of a segment of a file, at the addresses that the file itself has: of all that is in no
 * mapping, or in one that was made here, from `made` on. */
static void own_segment(struct profile *profile, const char *path, const Elf64_Phdr *segment,
                        uint32_t made, bool always)
{
    struct profile_location *locations = profile->locations.items;
    struct profile_mapping mapping = {.start = segment->p_vaddr,
                                      .limit = segment->p_vaddr + segment->p_memsz,
                                      .offset = segment->p_offset};
    uint32_t number = 0;
    mapping.path = profile_string_of(profile, path);
    if (always)
        number = profile_mapping(profile, &mapping);
    for (size_t i = 0; i < profile->locations.count; i++) {
        struct profile_location *place = &locations[i];
        if ((place->mapping != 0 && place->mapping < made) || place->lines != 0 ||
            place->address < mapping.start || place->address >= mapping.limit)
            continue;
        if (number == 0)
            number = profile_mapping(profile, &mapping);
        place->mapping = number;
    }
}
