/* SPDX-License-Identifier: MIT */
/* verdicts: default=told sampled=told full=wrong_size tight=wrong_size hardened=damage */
/* verdicts: debug=wrong_size */
/* A delete through a base without a virtual destructor. */
#include "tests/misuse/misuse.h"

struct base {
    int number;
    ~base()
    {
        number = 0;
    }
};

struct derived : base {
    char more[100];
};

int main()
{
    base *object = static_cast<base *>(opaque(new derived));
    wrong();
    delete object;
    return survived();
}
