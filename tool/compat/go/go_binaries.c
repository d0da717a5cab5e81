/* SPDX-License-Identifier: MIT */
/*
 * PPROF_BINARY_PATH: folders that hold programs and libraries of other machines, by build id or by
 * name. What is found there, and is of the same build, is where a mapping's code is.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/go/go.h"
#include "tool/symbol/symbol.h"

static bool find(struct profile *profile, uint32_t number, const char *folder);
static bool move(struct profile *profile, uint32_t mapping, const char *file, const char *build_id);
static bool fits(const char *file, const char *build_id);
static bool move_by_build(struct profile *profile, uint32_t mapping, const char *folder,
                          const char *build_id);

void go_find_binaries(struct profile *profile)
{
    const char *given = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
    char *folders = NULL;
    if (asprintf(&folders, "%s%s",
                 given && given[0] ? given
                 : home            ? home
                                   : "",
                 given && given[0] ? "" : "/pprof/binaries") < 0)
        compat_out_of_memory();
    for (uint32_t i = 1; i < profile->mappings.count; i++) {
        bool found = false;
        for (char *at = folders; *at && !found; at += *at == ':') {
            size_t length = strcspn(at, ":");
            char *folder = strndup(at, length);
            if (!folder)
                compat_out_of_memory();
            for (size_t end = length; end > 1 && folder[end - 1] == '/'; end--)
                folder[end - 1] = '\0';
            found = length > 0 && find(profile, i, folder);
            free(folder);
            at += length;
        }
    }
    free(folders);
}

static bool find(struct profile *profile, uint32_t number, const char *folder)
{
    const struct profile_mapping *mapping = profile_mapping_at(profile, number);
    char *path = strdup(profile_text(profile, mapping->path)), name[4096];
    char *build_id = strdup(profile_text(profile, mapping->build_id));
    if (!path || !build_id)
        compat_out_of_memory();
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *bare = path + strspn(path, "/");
    bool moved = false;
    if (build_id[0] != '\0') {
        snprintf(name, sizeof name, "%s/%s/%s", folder, build_id, base);
        moved = (base[0] != '\0' && move(profile, number, name, build_id)) ||
                move_by_build(profile, number, folder, build_id);
        snprintf(name, sizeof name, "%s/%s/%s", folder, bare, build_id);
        moved = moved || move(profile, number, name, build_id);
    }
    if (!moved && base[0] != '\0') {
        snprintf(name, sizeof name, "%s/%s", folder, base);
        moved = move(profile, number, name, build_id);
        snprintf(name, sizeof name, "%s/%s", folder, bare);
        moved = moved || (strcmp(base, bare) != 0 && move(profile, number, name, build_id));
    }
    free(path);
    free(build_id);
    return moved;
}

/* Takes the mapping to the file if that is it. */
static bool move(struct profile *profile, uint32_t mapping, const char *file, const char *build_id)
{
    if (!fits(file, build_id))
        return false;
    uint32_t text = profile_string_of(profile, file);
    ((struct profile_mapping *)profile->mappings.items)[mapping].path = text;
    return true;
}

/* Whether the file may be the mapping's; one of another build is said. */
static bool fits(const char *file, const char *build_id)
{
    struct symbol_look look;
    struct symbol_options options = {0};
    if (access(file, R_OK) != 0)
        return false;
    symbol_look(file, &options, &look);
    free(look.debug_file);
    bool same = build_id[0] == '\0' || strcmp(build_id, look.build_id) == 0;
    if (look.elf && !same)
        fprintf(stderr, "Ignoring local file %s: build-id mismatch (%s != %s)\n", file, build_id,
                look.build_id);
    return look.elf && same;
}

/* All files in the folder of a build. */
static bool move_by_build(struct profile *profile, uint32_t mapping, const char *folder,
                          const char *build_id)
{
    char pattern[4096];
    glob_t found = {0};
    bool moved = false;
    snprintf(pattern, sizeof pattern, "%s/%s/*", folder, build_id);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !moved; i++)
            moved = move(profile, mapping, found.gl_pathv[i], build_id);
    globfree(&found);
    return moved;
}
