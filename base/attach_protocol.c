/* SPDX-License-Identifier: MIT */
/* See base/attach_protocol.h. In containers and sandboxes any one of the folders may be missing. */
#include "base/attach_protocol.h"

void attach_folder(unsigned which, uint32_t uid, struct print *path)
{
    static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp"};
    if (which < sizeof places / sizeof *places)
        print_text(path, places[which]);
    else
        print_format(path, "/run/user/%u", uid);
    print_format(path, "/memoir-%u", uid);
}

void attach_socket(unsigned which, uint32_t uid, int pid, struct print *path)
{
    attach_folder(which, uid, path);
    print_format(path, "/%d.sock", pid);
}
