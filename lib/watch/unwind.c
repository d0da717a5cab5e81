#include "lib/watch/unwind.h"
void unwind(struct walk *walk, const struct caller *from, unsigned most)
{
    (void)most;
    walk->pcs[0] = from->pc;
    walk->count = 1;
    walk->same = 0;
}
void unwind_forget(void)
{
}
