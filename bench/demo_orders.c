/* SPDX-License-Identifier: MIT */
/* The demo's fault: an order is read after it was closed. */
#include <stdio.h>
#include <stdlib.h>

struct order {
    int number, total;
};

__attribute__((noinline)) static struct order *order_open(int number)
{
    struct order *order = calloc(1, sizeof *order);
    if (order != NULL)
        order->number = number;
    return order;
}

__attribute__((noinline)) static int order_close(struct order *order)
{
    int total = order->total;
    free(order);
    return total;
}

__attribute__((noinline)) static int order_bill(const struct order *order)
{
    return order->number * 100 + order->total;
}

int main(void)
{
    struct order *order = order_open(7);
    int sum = order == NULL ? 0 : order_close(order);
    sum += order == NULL ? 0 : order_bill(order);
    printf("%d\n", sum);
    return 0;
}
