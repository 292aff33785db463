/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles.yaml: which probes a profile runs, with which arguments and budgets.
 *
 *	v: 1
 *	profiles:
 *	  quick:
 *	    budget: 45s
 *	    probes:
 *	      - {name: gemm, exec: PATH, args: [..], budget: 10s, active: true}
 *
 * `exec` is for a program of others; without it the program is
 * assay-probe-<name> of this suite. Files are strict: every complaint names the
 * place as "FILE: path.to.key: what".
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	PROFILES_MAX = 32,	 /* profiles in a file */
	PROFILE_PROBES_MAX = 64, /* probes in a profile */
	PROFILE_ARGS_MAX = 64,	 /* arguments of a probe */
};

struct profile_probe {
	char *name;
	char *exec;  /* program, absolute; NULL: assay-probe-<name> of this suite */
	char **args; /* NULL-terminated; NULL when there are none */
	uint64_t budget_us;
	uint64_t least_us; /* with less it is left out of a shorter run; 0: any will do */
	bool active;	   /* loads devices: runs alone. The default, for it is the safe one. */
};

struct profile {
	char *name;
	uint64_t budget_us;
	struct profile_probe *probes;
	size_t n_probes;
};

struct profiles {
	struct profile *items;
	size_t n;
};

/* Read and check a file. -EINVAL, -ENOENT, -EFBIG and the like. */
int profiles_read(const char *path, struct profiles *ret, struct err *err);

/* The same from a value in hand. -EINVAL. */
int profiles_decode(const struct jval *root, struct profiles *ret, struct err *err);

void profiles_release(struct profiles *p);

/* The profile of that name, or NULL. Borrowed. */
const struct profile *profiles_find(const struct profiles *p, const char *name);

/* Wall clock that a profile's probes need: the longest passive one, then each active one. */
uint64_t profile_need_us(const struct profile_probe *probes, size_t n);

/*
 * True for a name that is safe as a part of a file name and of a command:
 * letters, digits, '-' and '_', at most PROFILE_NAME_MAX (lib/report/report.h).
 */
bool profile_name_ok(const char *name);
