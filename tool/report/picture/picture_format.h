/* SPDX-License-Identifier: MIT */
/* The formats of pictures: a row each, with its ending, which is also graphviz's word for it. */
#ifndef REPORT_PICTURE_PICTURE_FORMAT_H
#define REPORT_PICTURE_PICTURE_FORMAT_H

#define PICTURE_FORMATS(X) \
    X(HTML, "html")        \
    X(SVG, "svg")          \
    X(DOT, "dot")          \
    X(PDF, "pdf")          \
    X(PS, "ps")            \
    X(PNG, "png")          \
    X(GIF, "gif")

enum picture_format {
    PICTURE_NONE,
#define X(id, ending) PICTURE_##id,
    PICTURE_FORMATS(X)
#undef X
        PICTURE_PS2, /* `dot -Tps2`, for the old commands; no ending */
};

/* " .html .svg" and so on, for messages. */
extern const char picture_endings[];

/* "svg"; "" for PICTURE_NONE. */
const char *picture_format_word(enum picture_format format);
/* By the ending of a path, before that of a packed file; PICTURE_NONE: it is none of them. */
enum picture_format picture_format_of(const char *path);

#endif
