/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries loaded at run time, described by tables of X(needed, result, member, symbol,
 * parameters) as in cuda_abi.h, so that the program also runs on a host without them, and tests can
 * substitute fakes through LD_LIBRARY_PATH.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* A row of a table: where the address of a symbol is stored. */
struct library_symbol {
	const char *name;
	bool needed;
	void *member; /* a pointer to a function pointer */
};

/* A row of an array of these; `table` points to the struct with the members. */
#define LIBRARY_SYMBOL(is_needed, result, member_name, symbol, parameters) \
	{ .name = #symbol, .needed = (is_needed), .member = &table->member_name },

/* -ENOTSUP with the loader's message. Never unloaded. */
int library_load(const char *soname, void **ret, struct err *err);

/*
 * Load a CUDA library that does not come with the driver: the first of `sonames` (best first,
 * NULL-terminated) found in
 *
 *   1. the directories in ASSAY_CUDA_PATH, separated by ':';
 *   2. the loader's search path (LD_LIBRARY_PATH, ldconfig);
 *   3. the installations of CUDA, Python packages (pip) and conda below /usr, /usr/local and /opt,
 *      $VIRTUAL_ENV and $CONDA_PREFIX, each below the sysroot.
 *
 * In 1 and 3, files that anyone except root and this user could have put there are not loaded
 * (lib/sys/writers.h, up to the root), because a daemon running as root would execute them. The
 * search reads at most LIBRARY_ENTRIES_MAX directory entries. `ret_soname` is one of `sonames`.
 * -ENOTSUP with one sentence that says where it was searched for, and why an existing file was not
 * used.
 */
enum { LIBRARY_ENTRIES_MAX = 20000 };
int library_load_cuda(const char *const *sonames, void **ret, const char **ret_soname,
		      struct err *err);

/* Look up the members; NULL for missing optional ones. -ENOTSUP if a needed one is missing. */
int library_find(void *library, const char *soname, const struct library_symbol *symbols, size_t n,
		 struct err *err);
