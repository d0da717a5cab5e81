/* SPDX-License-Identifier: MIT */
/*
 * gperftools' stack traces, for programs that say #include <gperftools/stacktrace.h>: compile with
 * -I.../include/memoir/compat. The functions are C++, as there. All of them may be called in a
 * signal handler. They give return addresses, the innermost first, and return how many there are,
 * at most `max_depth`; `skip_count` frames above the caller are left out.
 */
#ifndef GOOGLE_STACKTRACE_H_
#define GOOGLE_STACKTRACE_H_

#ifdef __cplusplus

int GetStackTrace(void **result, int max_depth, int skip_count);
/* `sizes` gets the bytes of each frame on the stack, 0 where that is not known. */
int GetStackFrames(void **result, int *sizes, int max_depth, int skip_count);
/* In a signal handler, with the handler's third argument: the stack of the code that was
 * interrupted, which comes first and is no return address. */
int GetStackTraceWithContext(void **result, int max_depth, int skip_count, const void *context);
int GetStackFramesWithContext(void **result, int *sizes, int max_depth, int skip_count,
                              const void *context);

#endif

#endif
