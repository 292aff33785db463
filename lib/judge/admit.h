/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to "may a job start on this host?", from the newest verdict.
 * Pure: the verdict, the time and the options in, the answer out.
 *
 *	pass                                             -> ok
 *	warn, or a local slow result (fail, not fatal)   -> degraded (admitted unless strict)
 *	a fatal signature seen here, a fresh fleet
 *	opinion of fail                                  -> bad
 *	a fatal signature seen here, and a fresh opinion
 *	that admits as degraded: too many hosts of the
 *	fleet refuse for the same signature              -> degraded
 *	none, stale, from the future, another host's or machine's,
 *	inconclusive                                     -> unknown (admitted when open)
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
	const char *machine; /* this one (lib/sys/machine.h); NULL: not known */
	bool fail_closed;    /* unknown refuses */
	bool strict;	     /* degraded refuses */
};

struct admit {
	int answer; /* enum admit_answer */
	bool admit;
	double age_s;  /* of the verdict, NAN when there is none */
	char *profile; /* or NULL */
	bool fleet;    /* source: the controller's opinion rather than this host's own */
	char *reasons[ADMIT_REASONS_MAX]; /* sentences, worst first */
	size_t n_reasons;
};

/*
 * `v` may be NULL (none or unreadable: `why_none` is the reason then); `node`
 * is this host's name. Ages count by the time since the boot where that is
 * known (lib/sys/clock_pair.h): a clock that jumps makes no verdict fresh. Cannot fail.
 */
void admit_decide(const struct verdict *v, const char *why_none, const char *node,
		  const struct clock_pair *now, const struct admit_options *options,
		  struct admit *ret);
void admit_release(struct admit *a);
json_t *admit_encode(const struct admit *a);
