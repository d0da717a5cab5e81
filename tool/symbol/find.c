/* SPDX-License-Identifier: MIT */
/* Where a module's file and its debug information are: see module_find. */
#include "tool/symbol/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens a file if it is of the right build. */
static struct image *find_try(struct module *module, const char *path)
{
    struct image *image = image_open(path);
    if (!image)
        return NULL;
    if (module->build_id[0] == '\0' || strcmp(module->build_id, image->build_id) == 0)
        return image;
    module->mismatch = true;
    image_close(image);
    return NULL;
}

void module_find(struct module *module, const struct symbol_options *options)
{
    (void)options;
    if (strcmp(module->path, "[vdso]") == 0)
        module->image = image_vdso();
    else if (module->path[0] == '/')
        module->image = find_try(module, module->path);
}
