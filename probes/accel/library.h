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

/*
 * A library of CUDA that no driver brings along: the first of `sonames` (best first, NULL at the
 * end) that is found in
 *
 *	1. the directories of ASSAY_CUDA_PATH, which has ':' between;
 *	2. what the loader knows (LD_LIBRARY_PATH, ldconfig);
 *	3. the trees of CUDA, of Python packages (pip) and of conda below /usr, /usr/local and /opt,
 *	   of $VIRTUAL_ENV and of $CONDA_PREFIX, each below the sysroot.
 *
 * Nothing of 1 and 3 is loaded that others than root and we ourselves could put there
 * (lib/sys/writers.h, up to the root): a daemon of root would run it. The search reads
 * LIBRARY_ENTRIES_MAX directory entries at most. `ret_soname` is one of `sonames`. -ENOTSUP with
 * one sentence that says where it was looked for, and why a file that is there was not taken.
 */
enum { LIBRARY_ENTRIES_MAX = 20000 };
int library_load_cuda(const char *const *sonames, void **ret, const char **ret_soname,
		      struct err *err);

/* Fill the members; NULL for what is not needed and not there. -ENOTSUP for what is needed. */
int library_find(void *library, const char *soname, const struct library_symbol *symbols, size_t n,
		 struct err *err);
