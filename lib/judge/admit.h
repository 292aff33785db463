/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a job start on this host? Decided from the newest verdict. Pure: takes the verdict, the time
 * and the options.
 *
 *	pass                                             -> ok
 *	warn, or a local slow result (fail, not fatal)   -> degraded (admitted unless strict)
 *	a fatal signature seen here, or a fresh opinion
 *	of the controller that says fail                 -> bad
 *	a fatal signature seen here, but a fresh opinion
 *	says degraded because too many hosts of the fleet
 *	are refused for the same signature               -> degraded
 *	none, stale, from the future, of another host or machine,
 *	inconclusive                                     -> unknown (admitted unless fail_closed)
 *
 * A local slow result alone never refuses: a wrong SKU file must not stop a fleet.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"

struct clock_pair;

enum { ADMIT_REASONS_MAX = 16 };

enum admit_answer { ADMIT_OK, ADMIT_DEGRADED, ADMIT_BAD, ADMIT_UNKNOWN };
extern const char *const admit_answer_names[]; /* "ok" "degraded" "bad" "unknown" */

struct admit_options {
	uint64_t max_age_us;
	const char *machine; /* of this host (lib/sys/machine.h); NULL: not known */
	bool fail_closed;    /* refuse when unknown */
	bool strict;	     /* refuse when degraded */
};

struct admit {
	int answer; /* enum admit_answer */
	bool admit;
	double age_s;  /* of the verdict; NAN if there is none */
	char *profile; /* or NULL */
	bool fleet;    /* decided by the controller's opinion, not by this host's own verdict */
	char *reasons[ADMIT_REASONS_MAX]; /* sentences, worst first */
	size_t n_reasons;
};

/*
 * `v` may be NULL (none, or not readable: then `why_none` is the reason); `node` is the name of
 * this host. Ages are measured by the time since boot where it is known (lib/sys/clock_pair.h), so
 * a clock that jumps cannot make a verdict fresh. Cannot fail.
 */
void admit_decide(const struct verdict *v, const char *why_none, const char *node,
		  const struct clock_pair *now, const struct admit_options *options,
		  struct admit *ret);
void admit_release(struct admit *a);
json_t *admit_encode(const struct admit *a);
