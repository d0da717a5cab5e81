/* SPDX-License-Identifier: MIT */
/* one-thread */
/*
 * Names of functions become shorter inside of their arguments, and keep the function: templates,
 * operators whose names are brackets, anonymous namespaces, lambdas, conversions, expressions that
 * compare, pointers to functions, tags, clones, traits and closures of Rust, methods of Go. Long
 * and hostile ones take no time to speak of.
 */
#include <assert.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/picture/picture.h"
#include "tool/report/picture/svg.h"
#include "tool/report/report.h"
#include "tool/report/view.h"
#include "tool/terminal/style.h"
#include "tool/terminal/terminal.h"

static unsigned columns(const char *text)
{
    return (unsigned)strlen(text);
}

static void fits(const char *name, unsigned width, const char *wanted)
{
    char *text = strdup(name);
    assert(text);
    name_shorten(text, width, columns, "...");
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "%s in %u columns\n  is  %s\n  not %s\n", name, width, text, wanted);
        abort();
    }
    free(text);
}

static void shortened(void)
{
    fits("Parser::parse<int, char>(int)", 99, "Parser::parse<int, char>(int)");
    fits("a::b<c<d<long_inner_name>>>::f", 24, "a::b<c<d<...>>>::f");
    fits("a::b<c<d<long_inner_name>>>::f", 17, "a::b<c<...>>::f");
    fits("a::b<c<d<long_inner_name>>>::f", 13, "a::b<...>::f");
    fits("(anonymous namespace)::f<(anonymous namespace)::type>", 20, "f<type>");
    fits("(anonymous namespace)::pool::pool", 20, "pool::pool");
    fits("a::operator<<std::vector>", 1, "a::operator<<std::vector>");
    fits("a<bbbbbb>::operator< <cccccc>", 1, "a<...>::operator< <...>");
    fits("a<bbbbbb>::operator<< <cccccc>", 1, "a<...>::operator<< <...>");
    fits("a<bbbbbb>::operator<=> <cccccc>", 1, "a<...>::operator<=> <...>");
    fits("a<bbbbbb>::operator-><cccccc>", 1, "a<...>::operator-><...>");
    fits("a<bbbbbb>::operator>>=(cccccc&)", 1, "a<...>::operator>>=(...)");
    fits("a<bbbbbb>::operator()<cccccc>(dddddd) const", 1, "a<...>::operator()<...>(...) const");
    fits("a<bbbbbb>::operator[](cccccc)", 1, "a<...>::operator[](...)");
    fits("a<bbbbbb>::operator std::vector<cccccc>", 1, "a<...>::operator std::vector<...>");
    fits("f<(sizeof(long)>(4)), (1)<(2), 3>(int)", 1, "f<...>(int)");
    fits("f<((x)<<(2))>::g<((y)>>(2))>", 1, "f<...>::g<...>");
    fits("f<&a::operator< >::g", 1, "f<...>::g");
    fits("f<&a::operator->, &b::operator()>::g", 1, "f<...>::g");
    fits("f<std::string (*)(int, char)>(int (*)(std::string))", 1, "f<...>(...)");
    fits("main::{lambda(std::vector<int>)#1}::operator()", 1, "main::{lambda(...)#1}::operator()");
    fits("decltype(auto) f<long_name>(int*)", 1, "decltype(auto) f<...>(...)");
    fits("decltype ((x).f()) f<long_name>(int)", 1, "decltype (...) f<...>(int)");
    fits("f[abi:cxx11]<long_name>(other) [clone .isra.0]", 1,
         "f[abi:cxx11]<...>(...) [clone .isra.0]");
    fits("<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", 40, "alloc::vec::Vec<T>::extend");
    fits("<alloc::alloc::Global>::alloc_impl", 30, "alloc::alloc::Global::alloc_impl");
    fits("core::ops::function::FnOnce::call_once{{vtable.shim}}", 1,
         "core::ops::function::FnOnce::call_once{{vtable.shim}}");
    fits("<fn(aaaaaa) -> bbbbbb as Trait>::call", 1, "fn(...) -> bbbbbb::call");
    fits("github.com/user/package.(*LongTypeName).Method", 1,
         "github.com/user/package.(*LongTypeName).Method");
    fits("f<'<', '>', long_name>::g", 1, "f<...>::g");
    fits("cut::name<of::another<tool", 1, "cut::name<of::another<tool");
}

static void beheaded(void)
{
    char text[64];
    static const struct {
        const char *name, *shown;
        unsigned width;
    } rows[] = {
        {"one::two::three", "…three", 8},
        {"one<a::b>::two::three", "…two::three", 12},
        {"one::operator/", "…operator/", 11},
        {"very::long::operator std::vector<int>", "…operator std::vector<int>", 26},
        {"main::{lambda(a::b::cccc)#1}::operator()", "…operator()", 12},
        {"(anonymous namespace)::function_name", "function_name", 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        style_name(text, sizeof text, rows[i].name, rows[i].width);
        if (strcmp(text, rows[i].shown) != 0) {
            fprintf(stderr, "%s in %u columns is %s\n", rows[i].name, rows[i].width, text);
            abort();
        }
    }
}

/* Names of many kilobytes whose function is at the end, in buffers that are smaller. */
static void long_ones_keep_the_function(void)
{
    enum { LEVELS = 3000 };
    static char name[LEVELS * 16];
    char text[1024], picture[SVG_NAME_MAX];
    const struct style file = {.utf8 = true};
    size_t used = (size_t)snprintf(name, sizeof name, "(anonymous namespace)::Outer");
    for (int i = 0; i < LEVELS; i++)
        used += (size_t)snprintf(name + used, sizeof name - used, "<Type%d", i % 7);
    memset(name + used, '>', LEVELS);
    snprintf(name + used + LEVELS, sizeof name - used - LEVELS, "::own_function(int)");
    assert(strstr(style_name(text, sizeof text, name, 40), "own_function"));
    assert(strstr(style_cell(&file, text, sizeof text, name, 40), "Outer<Type0<…>>::own_function"));
    assert(strstr(style_cell(&file, text, sizeof text, name, 60000), "own_function"));
    assert(strstr(svg_name(picture, name, 60), "own_function"));
    assert(strstr(svg_name(picture, "(anonymous namespace)::a<bbbbbbbbbbbbbb>::function", 20),
                  "function"));
    assert(strcmp(svg_name(picture, "f(aaaaaaaaa)::{lambda(bbbbbbbbbb)#1}::operator()", 12),
                  "operator()") == 0);
}

static void hostile_ones_take_no_time(void)
{
    enum { SIZE = 1 << 16 };
    static const char *const parts[] = {
        "<", ">", "(", "a<", "::", "operator<", "<)", "{(", "->", "'"};
    static char name[SIZE];
    char text[256];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i]);
        for (size_t at = 0; at + length < SIZE; at += length)
            memcpy(name + at, parts[i], length + 1);
        style_name(text, sizeof text, name, 40);
        assert(strlen(text) < sizeof text);
        blame_is_library(name, "", "");
    }
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    shortened();
    beheaded();
    long_ones_keep_the_function();
    hostile_ones_take_no_time();
    assert(blame_is_library("std::vector<(anonymous namespace)::type>::push_back", "", ""));
    assert(!blame_is_library("(anonymous namespace)::own<std::vector<int>>::f", "", ""));
    return 0;
}
