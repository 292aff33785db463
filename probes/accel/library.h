/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries loaded while the program runs, by tables of X(needed, result,
 * member, symbol, parameters) as in cuda_abi.h: a host without one runs the
 * program all the same, and tests put fakes in its place by LD_LIBRARY_PATH.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* One line of a table: where the address of a symbol goes. */
struct library_symbol {
	const char *name;
	bool needed;
	void *member; /* a pointer to a function */
};

/* A line of an array of them; `table` points to the struct with the members. */
#define LIBRARY_SYMBOL(is_needed, result, member_name, symbol, parameters) \
	{ .name = #symbol, .needed = (is_needed), .member = &table->member_name },

/* -ENOTSUP with the loader's words. Once loaded it stays. */
int library_load(const char *soname, void **ret, struct err *err);

/* Fill the members; NULL for what is not needed and not there. -ENOTSUP for what is needed. */
int library_find(void *library, const char *soname, const struct library_symbol *symbols, size_t n,
		 struct err *err);
