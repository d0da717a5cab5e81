/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=- debug=- */
/* A read of the text of a string that is gone. */
#include <string>

#include "tests/misuse/misuse.h"

int main()
{
    auto *string = new std::string(200, 'a');
    volatile char *text = static_cast<char *>(opaque(&(*string)[0]));
    delete string;
    wrong();
    (void)text[3];
    return survived();
}
