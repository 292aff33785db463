/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `assay run`. */
#pragma once

#include <stdint.h>

#include "agents/run/exit_style.h"
#include "lib/base/macro.h"
#include "lib/sys/term.h"

struct err;

enum {
	RUN_PROBES_MAX = 64,
	RUN_ARGS_MAX = 64,     /* arguments for one probe */
	RUN_DECLINE_MAX = 512, /* bytes of the reason why nothing is run */
};

struct run_options {
	const char *profile;		    /* NULL: quick, or "probes" if any are named */
	const char *probes[RUN_PROBES_MAX]; /* named one by one, in order */
	size_t n_probes;
	uint64_t budget_us; /* 0: the profile's */
	uint64_t wait_us;   /* for the lock of active probes */
	bool run_busy;
	bool report;		/* spool the report */
	const char *order;	/* id of the order that it answers, or NULL */
	const char *order_kind; /* "deep", "pair" or "allreduce" */
	const char *decline;	/* why nothing is to be run, or NULL */
	int decline_code;	/* its enum problem_code */
	char *const *args;	/* for the one probe, instead of its profile's; or NULL */
	const char *policy, *sku, *profiles; /* files, or NULL */
	enum exit_style style;
	enum output output;
	bool output_given;
};

/*
 * Does the run answer an order for a test with other hosts, which says little about this one
 * alone?
 */
bool run_options_meet(const struct run_options *o);

/* Option keys, for the tables of commands that also run probes. */
enum run_option {
	RUN_OPT_PROFILE = 0x100,
	RUN_OPT_PROBE,
	RUN_OPT_BUDGET,
	RUN_OPT_WAIT,
	RUN_OPT_BUSY,
	RUN_OPT_POLICY,
	RUN_OPT_SKU,
	RUN_OPT_PROFILES,
	RUN_OPT_REPORT,
	RUN_OPT_EXIT_STYLE,
	RUN_OPT_ORDER,
	RUN_OPT_ORDER_KIND,
	RUN_OPT_DECLINE,
	RUN_OPT_END, /* first key for other options */
};

/* Handle one option. 0, -EINVAL with a message, or 1 if it is not one of these. */
int run_options_take(int key, const char *arg, struct run_options *o, struct err *err);

/*
 * Parse the options. Returns 0, or -EINVAL with a message for a bad value; argp ends the program
 * with the style's status for an unknown option. All strings are borrowed from argv.
 */
int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *err);
