/* SPDX-License-Identifier: MIT */
/* Profiles that an old command line names by URL: fetched, kept where the old commands kept them.
 */
#include "tool/compat/compat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/process/process.h"

bool compat_is_url(const char *word)
{
    if (access(word, F_OK) == 0)
        return false;
    if (strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0 ||
        strncmp(word, "https+insecure://", 17) == 0)
        return true;
    const char *colon = strchr(word, ':'), *slash = strchr(word, '/');
    return colon && colon > word && isdigit((unsigned char)colon[1]) && (!slash || slash > colon);
}

/* The folder of the command that people gave, or one of its name at home. */
static void folder_of(const struct compat_words *words, char *path, size_t size)
{
    bool jeprof = words->command == COMPAT_JEPROF;
    const char *given = getenv(jeprof ? "JEPROF_TMPDIR" : "PPROF_TMPDIR"), *home = getenv("HOME");
    if (given && given[0])
        snprintf(path, size, "%s", given);
    else
        snprintf(path, size, "%s/%s", home ? home : "/tmp", jeprof ? "jeprof" : "pprof");
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        compat_fail("Unable to create profile directory %s: %s", path, strerror(errno));
}

static const char *file_of(const struct compat_words *words, enum compat_option option)
{
    const char *path = compat_text(words, option);
    if (path[0] != '\0' && access(path, R_OK) != 0)
        compat_fail("%s: %s", path, strerror(errno));
    return path[0] != '\0' ? path : NULL;
}

/* How Go's is told to fetch; it gives the server five seconds more than the timeout. */
static struct http_options options_of(const struct compat_words *words)
{
    double timeout = words->value[COMPAT_TIMEOUT].number;
    struct http_options options = {.timeout =
                                       timeout > 0 && timeout < 1e6 ? (unsigned)timeout + 5 : 0,
                                   .cert = file_of(words, COMPAT_TLS_CERT),
                                   .key = file_of(words, COMPAT_TLS_KEY),
                                   .authority = file_of(words, COMPAT_TLS_CA)};
    if (!options.cert != !options.key)
        compat_fail("-tls_%s is specified, so -tls_%s must also be specified",
                    options.cert ? "cert" : "key", options.cert ? "key" : "cert");
    return options;
}

char *compat_fetch(const struct compat_words *words, const char *url)
{
    const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    size_t length = strcspn(host, "/");
    const char *path = host + length;
    bool bare = path[0] == '\0' || strcmp(path, "/") == 0;
    bool cpu = words->command != COMPAT_GO && (bare || strstr(path, "/profile"));
    char folder[2048], *full, *name, *temporary;
    struct error error = {0};
    struct http_options options = options_of(words);
    if (cpu || words->value[COMPAT_SECONDS].on)
        options.seconds = (unsigned)words->value[COMPAT_SECONDS].number;
    folder_of(words, folder, sizeof folder);
    if (asprintf(&full, "%.*s%s", (int)(path - url), url,
                 words->command != COMPAT_GO && bare ? "/pprof/profile" : path) < 0 ||
        asprintf(&name, "%s/%s.%lld.%.*s%s", folder, words->name, (long long)time(NULL),
                 (int)length, host, bare ? "" : path) < 0)
        compat_out_of_memory();
    for (char *at = name + strlen(folder) + 1; *at; at++)
        if (*at == '/' || *at == '?' || iscntrl((unsigned char)*at))
            *at = '.';
    if (asprintf(&temporary, "%s.part", name) < 0)
        compat_out_of_memory();
    fprintf(stderr, "Fetching profile from %s to\n  %s\n", full, name);
    int handle = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = handle < 0 ? NULL : fdopen(handle, "w");
    if (!file)
        compat_fail("%s: %s", temporary, strerror(errno));
    bool got = http_profile(full, &options, file, &error);
    bool whole = fclose(file) == 0;
    if (!got || !whole || rename(temporary, name) != 0) {
        unlink(temporary);
        compat_fail("Failed to get profile: %s: %s", full, got ? strerror(errno) : error.text);
    }
    fprintf(stderr, "Wrote profile to %s\n", name);
    free(temporary);
    free(full);
    return name;
}

void compat_fetch_names(const struct compat_words *words, struct profile *profile)
{
    for (size_t i = 0; i < words->operands_count; i++) {
        if (!compat_is_url(words->operands[i]))
            continue;
        struct http_options options = options_of(words);
        http_names(words->operands[i], &options, profile);
    }
}
