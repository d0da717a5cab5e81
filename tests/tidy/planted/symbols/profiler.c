/* SPDX-License-Identifier: MIT */
/* A libprofiler.so that brings a malloc. */
int ProfilerStart(const char *path)
{
    return path != 0;
}

const char memoir_mode_cpu[] = "libprofiler.so.0";

void *malloc(unsigned long size)
{
    return (void *)size;
}
