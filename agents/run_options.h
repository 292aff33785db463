/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `assay run`. */
#pragma once

#include <stdint.h>

#include "agents/exit_style.h"
#include "lib/macro.h"
#include "lib/term.h"

struct err;

enum { RUN_PROBES_MAX = 64 };

struct run_options {
	const char *profile;		    /* NULL: quick, or "probes" when any are named */
	const char *probes[RUN_PROBES_MAX]; /* named one by one, in their order */
	size_t n_probes;
	uint64_t budget_us; /* 0: the profile's */
	uint64_t wait_us;   /* for the lock of active probes */
	bool run_busy;
	bool report;			     /* hand it to the spool */
	const char *policy, *sku, *profiles; /* files, or NULL */
	enum exit_style style;
	enum output output;
	bool output_given;
};

/*
 * Fill the options. 0 or -EINVAL with the sentence for what is wrong in a
 * value; an unknown option ends the program, by argp, with the style's
 * status. All text is borrowed from argv.
 */
int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *err);
