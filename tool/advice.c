/* SPDX-License-Identifier: MIT */
/* See tool/advice.h. */
#include "tool/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/process/process.h"

void advice_of(const struct symbol_module *module, char text[ADVICE_SIZE])
{
    char package[ADVICE_SIZE / 2];
    text[0] = '\0';
    if (symbol_is_made(module->path)) {
        if (module->path[0] != '[' && module->named == 0)
            snprintf(text, ADVICE_SIZE, "%s",
                     "code of an unloaded library (keep it loaded: no dlclose), or "
                     "generated at run time: let its compiler write /tmp/perf-PID.map (node "
                     "--perf-basic-prof, java -XX:+DumpPerfMapAtExit, PYTHONPERFSUPPORT=1, "
                     "DOTNET_PerfMapEnabled=1)");
        return;
    }
    if (module->quality == SYMBOL_NOTHING && !module->file)
        snprintf(text, ADVICE_SIZE,
                 module->build_id[0]
                     ? "the file is missing: give its folder with --sysroot or --debug-path, "
                       "or use --fetch"
                     : "the file is missing: give it with --program or --sysroot");
    else if (module->quality == SYMBOL_MISMATCH)
        snprintf(text, ADVICE_SIZE,
                 "%s is another build: give the right one with --program or "
                 "--debug-path, or use --fetch",
                 module->other_file ? module->other_file : module->path);
    else if (module->split_missing && module->bundle_file)
        snprintf(text, ADVICE_SIZE,
                 "its .dwo files, which name inlined functions, are missing, and %s is "
                 "of another build: replace it by the right one",
                 module->bundle_file);
    else if (module->split_missing)
        snprintf(text, ADVICE_SIZE, "%s",
                 "its .dwo files, which name inlined functions, are missing: restore "
                 "them, or put a .dwp beside it or in --debug-path, or build it without "
                 "-gsplit-dwarf");
    else if (module->quality == SYMBOL_FULL || module->quality == SYMBOL_GIVEN)
        return;
    else if (package_debug(module->path, package, sizeof package))
        snprintf(text, ADVICE_SIZE, "%s   or   --fetch", package);
    else
        snprintf(text, ADVICE_SIZE, "%s",
                 module->quality == SYMBOL_TABLE
                     ? "build it with -g for lines and inlined functions"
                     : "it is stripped: build it with -g and leave its symbols, or --fetch");
}

void advice_fetch(const struct symbol_report *report)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (report->fetch == SYMBOL_FETCH_NO_LIBRARY)
        terminal_warn("--fetch needs libdebuginfod: apt-get install libdebuginfod1");
    else if (!urls || !*urls)
        terminal_warn("--fetch: DEBUGINFOD_URLS is not set, so there is no server to ask; "
                      "for example DEBUGINFOD_URLS=https://debuginfod.elfutils.org");
    else if (report->fetch == SYMBOL_FETCH_LATE)
        terminal_warn("--fetch: no answer from %s within %s seconds (DEBUGINFOD_TIMEOUT); "
                      "using local names only",
                      urls, getenv("DEBUGINFOD_TIMEOUT"));
}
