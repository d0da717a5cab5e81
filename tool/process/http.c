/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/http.h. A URL may name a server, a page that lists profiles, or a profile; pages
 * that only list are noticed by what they answer, and the profile below them is asked for.
 * Everything goes into a file of our own, never into memory: a server may send more than
 * there is. What a server answers instead of a profile is the message that the user gets.
 */
#include "tool/process/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/terminal/terminal.h"

enum {
    URL_MAX = 2048,       /* what servers and proxies accept */
    CONNECT_SECONDS = 10, /* a host that does not answer by then is down or behind a filter */
    IDLE_SECONDS = 60, /* without a byte, beside the seconds that the server was asked to sample */
    REDIRECTS_MAX = 5,
    NAMES_AT_ONCE = 1000, /* addresses in one request: 20 KB, which servers take */
    WORD_MAX = 20,        /* +0x and 16 digits */
};
/* Of an answer, which goes to a file: more than any profile has, less than what fills a disk. */
static const curl_off_t BYTES_MAX = (curl_off_t)4 << 30;

static struct {
    void *library;
    CURL *(*init)(void);
    CURLcode (*set)(CURL *handle, CURLoption option, ...);
    CURLcode (*perform)(CURL *handle);
    CURLcode (*info)(CURL *handle, CURLINFO info, ...);
    const char *(*reason)(CURLcode code);
    void (*cleanup)(CURL *handle);
} curl;

static const char insecure[] = "https+insecure://";

static bool curl_open(struct error *error);
static bool leads_to(const char *path, const char *page);
static bool url_make(char text[URL_MAX], const char *url, const char *path, unsigned seconds);
static bool one_fetch(const char *url, const struct http_options *options, FILE *file, long *status,
                      struct error *error);
static CURLcode transfer(const char *url, const char *body, const struct http_options *options,
                         FILE *file, long *status);
static void identify(CURL *handle, const struct http_options *options);
static int transfer_progress(void *context, curl_off_t all, curl_off_t done, curl_off_t up_all,
                             curl_off_t up_done);
static size_t names_take(struct profile *profile, FILE *answer);

bool http_profile(const char *url, const struct http_options *options, FILE *file,
                  struct error *error)
{
    /* With --seconds, the server records CPU time. */
    static const char *const all[][2] = {{"/debug/pprof/heap", "/pprof/heap"},
                                         {"/debug/pprof/profile", "/pprof/profile"}};
    const char *const *pages = all[options->seconds > 0];
    char text[URL_MAX];
    long status = 0;
    const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    const char *path = host + strcspn(host, "/?#");
    if (!curl_open(error))
        return false;
    bool bare = leads_to(path, pages[0]) || leads_to(path, pages[1]);
    for (size_t i = 0; i < (bare ? COUNT_OF(all[0]) : 1); i++) {
        if (bare && !leads_to(path, pages[i]))
            continue;
        if (!url_make(text, url, bare ? pages[i] : NULL, options->seconds))
            return error_set(error, ERROR_USAGE, "the URL is too long");
        if (one_fetch(text, options, file, &status, error))
            return fflush(file) == 0 || error_set(error, ERROR_INPUT, "the file can't be written");
        /* What the server says instead may be longer than the next page. */
        if (status != 404 || fseek(file, 0, SEEK_SET) != 0 || ftruncate(fileno(file), 0) != 0)
            break;
    }
    return error_hint(error, "curl -v '%s' shows the server's answer", text);
}

static bool curl_open(struct error *error)
{
    if (curl.library)
        return true;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(error, ERROR_INPUT, "URLs need libcurl, which is not installed");
        return error_hint(error, "apt install libcurl4, dnf install libcurl or apk add libcurl; or "
                                 "fetch the file yourself");
    }
    *(void **)&curl.init = dlsym(library, "curl_easy_init");
    *(void **)&curl.set = dlsym(library, "curl_easy_setopt");
    *(void **)&curl.perform = dlsym(library, "curl_easy_perform");
    *(void **)&curl.info = dlsym(library, "curl_easy_getinfo");
    *(void **)&curl.reason = dlsym(library, "curl_easy_strerror");
    *(void **)&curl.cleanup = dlsym(library, "curl_easy_cleanup");
    if (!curl.init || !curl.set || !curl.perform || !curl.info || !curl.reason || !curl.cleanup)
        return error_set(error, ERROR_INPUT, "this libcurl lacks functions that memoir needs");
    curl.library = library;
    return true;
}

/* Whether a path is a list of what there is, with this page among it: "/", "/debug/pprof/". */
static bool leads_to(const char *path, const char *page)
{
    size_t length = strlen(path);
    length -= length > 0 && path[length - 1] == '/';
    return length == 0 || (strncmp(path, page, length) == 0 && page[length] == '/' &&
                           !strchr(page + length + 1, '/'));
}

/* Scheme and host, then `path`, or the URL's own if that is NULL. */
static bool url_make(char text[URL_MAX], const char *url, const char *path, unsigned seconds)
{
    const char *scheme = strstr(url, "://") ? "" : "http://";
    const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    size_t length = strcspn(host, "/?#") + (size_t)(host - url);
    const char *rest = path ? path : url + length;
    int used = snprintf(text, URL_MAX, "%s%.*s%s", scheme, (int)length, url, rest);
    if (used > 0 && used < URL_MAX && seconds > 0 && !strstr(rest, "seconds="))
        used += snprintf(text + used, URL_MAX - (size_t)used, "%cseconds=%u",
                         strchr(rest, '?') ? '&' : '?', seconds);
    return used > 0 && used < URL_MAX;
}

static bool one_fetch(const char *url, const struct http_options *options, FILE *file, long *status,
                      struct error *error)
{
    progress_start("fetching", url);
    CURLcode code = transfer(url, NULL, options, file, status);
    progress_end();
    if (code != CURLE_OK)
        return error_set(error, ERROR_TARGET, "%s: %s", url, curl.reason(code));
    if (*status >= 400)
        return error_set(error, ERROR_TARGET, "%s: the server answers %ld", url, *status);
    return true;
}

/* GET, or POST of `body`, into the file. The status is HTTP's; 0: there was no answer. */
static CURLcode transfer(const char *url, const char *body, const struct http_options *options,
                         FILE *file, long *status)
{
    bool unidentified = strncmp(url, insecure, sizeof insecure - 1) == 0;
    char plain[URL_MAX];
    snprintf(plain, sizeof plain, "%s%s", unidentified ? "https://" : "",
             unidentified ? url + sizeof insecure - 1 : url);
    CURL *handle = curl.init();
    *status = 0;
    if (!handle)
        return CURLE_OUT_OF_MEMORY;
    curl.set(handle, CURLOPT_URL, plain);
    identify(handle, options);
    if (unidentified) {
        curl.set(handle, CURLOPT_SSL_VERIFYPEER, 0L);
        curl.set(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    curl.set(handle, CURLOPT_TIMEOUT, (long)options->timeout);
    curl.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.set(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl.set(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl.set(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl.set(handle, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl.set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.set(handle, CURLOPT_LOW_SPEED_TIME, (long)options->seconds + IDLE_SECONDS);
    curl.set(handle, CURLOPT_ACCEPT_ENCODING, "");
    curl.set(handle, CURLOPT_NOSIGNAL, 1L);
    curl.set(handle, CURLOPT_USERAGENT, "memoir");
    curl.set(handle, CURLOPT_WRITEDATA, (void *)file);
    curl.set(handle, CURLOPT_NOPROGRESS, 0L);
    curl.set(handle, CURLOPT_XFERINFOFUNCTION, transfer_progress);
    curl.set(handle, CURLOPT_MAXFILESIZE_LARGE, BYTES_MAX);
    if (body)
        curl.set(handle, CURLOPT_POSTFIELDS, body);
    CURLcode code = curl.perform(handle);
    curl.info(handle, CURLINFO_RESPONSE_CODE, status);
    curl.cleanup(handle);
    return code;
}

/* The authority to trust, and the certificate that we show. */
static void identify(CURL *handle, const struct http_options *options)
{
    if (options->cert)
        curl.set(handle, CURLOPT_SSLCERT, options->cert);
    if (options->key)
        curl.set(handle, CURLOPT_SSLKEY, options->key);
    if (options->authority)
        curl.set(handle, CURLOPT_CAINFO, options->authority);
}

static int transfer_progress(void *context, curl_off_t all, curl_off_t done, curl_off_t up_all,
                             curl_off_t up_done)
{
    (void)context, (void)up_all, (void)up_done;
    progress_update(NULL, done > 0 ? (uint64_t)done : 0, all > 0 ? (uint64_t)all : 0);
    return done > BYTES_MAX;
}

size_t http_names(const char *url, const struct http_options *options, struct profile *profile)
{
    struct error error;
    char text[URL_MAX], *body = malloc((size_t)NAMES_AT_ONCE * WORD_MAX);
    const char *page = strstr(url, "/debug/pprof") ? "/debug/pprof/symbol" : "/pprof/symbol";
    size_t known = 0, used = 0, count = 0;
    bool ok = body && curl_open(&error) && url_make(text, url, page, 0);
    uint32_t all = (uint32_t)profile->locations.count;
    progress_start("names", text);
    for (uint32_t i = 0; i <= all && ok; i++) {
        const struct profile_location *location = i < all ? profile_location_at(profile, i) : NULL;
        if (location && (location->lines > 0 || location->address == 0))
            continue;
        if (location) {
            used += (size_t)snprintf(body + used, WORD_MAX, "%s0x%lx", count > 0 ? "+" : "",
                                     (unsigned long)location->address);
            count++;
        }
        if (count == 0 || (location && count < NAMES_AT_ONCE))
            continue;
        FILE *answer = tmpfile();
        long status;
        ok = answer && transfer(text, body, options, answer, &status) == CURLE_OK && status < 400;
        known += ok ? names_take(profile, answer) : 0;
        if (answer)
            fclose(answer);
        used = count = 0;
    }
    progress_end();
    free(body);
    return known;
}

/* "0x1234\tname" a line. */
static size_t names_take(struct profile *profile, FILE *answer)
{
    char *line = NULL;
    size_t room = 0, known = 0;
    rewind(answer);
    while (getline(&line, &room, answer) > 0) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        size_t length;
        end += strspn(end, " \t");
        length = strcspn(end, "\r\n");
        if (address == 0 || length == 0 || strncmp(end, "0x", 2) == 0)
            continue;
        struct profile_function function = {.name = profile_string(profile, end, length)};
        function.system_name = function.name;
        struct profile_line named = {profile_function(profile, &function), 0, 0};
        for (uint32_t i = 0; i < profile->locations.count; i++) {
            const struct profile_location *location = profile_location_at(profile, i);
            if (location->lines == 0 && location->address == address) {
                profile_set_lines(profile, i, &named, 1, LOCATION_LOOKED);
                known++;
            }
        }
    }
    free(line);
    return known;
}
