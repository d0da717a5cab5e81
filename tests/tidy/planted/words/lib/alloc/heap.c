/* SPDX-License-Identifier: MIT */
// TODO: later
// TODO(#12): later
// FIXME
static char name[] = "/tmp/XXXXXX"; // XXX
// HACKED is another word
// a HACK
typedef struct {
    int a;
} span_t;
typedef struct span span_u;
typedef unsigned char byte_t;
typedef enum color color_t;
struct s {
    int a;
};
// built in /home/someone/memoir
// $HOME/home/x is fine, and so is base/root/x
