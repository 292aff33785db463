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
 * `exec` names a third-party program; without it the program is assay-probe-<name> of this suite.
 * Parsing is strict; errors name the place: "FILE: path.to.key: what".
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
	char *exec;  /* absolute path; NULL: assay-probe-<name> of this suite */
	char **args; /* NULL-terminated; NULL if there are none */
	uint64_t budget_us;
	uint64_t least_us; /* left out of a shorter run that gives it less; 0: never */
	bool active;	   /* loads devices, so it runs alone; the default, because it is safe */
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

/* The same from a parsed value. -EINVAL. */
int profiles_decode(const struct jval *root, struct profiles *ret, struct err *err);

void profiles_release(struct profiles *p);

/* The profile of that name, or NULL. Borrowed. */
const struct profile *profiles_find(const struct profiles *p, const char *name);

/* Wall-clock time that these probes need: the longest passive one, then each active one. */
uint64_t profile_need_us(const struct profile_probe *probes, size_t n);

/*
 * Is the name safe in a file name and in a command? Letters, digits, '-' and '_', at most
 * PROFILE_NAME_MAX (lib/report/report.h).
 */
bool profile_name_ok(const char *name);
