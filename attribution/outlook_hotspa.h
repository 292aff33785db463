/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSPa for a described job: groups of sequences by length, a plan for each, and the cost of
 * switching between them. It is recommended only if sequence lengths are what slows the job.
 *
 * The description gives the cost of the plans, scaled so that the present plan computes as much
 * per step as the trace. Each plan runs on the hosts of the trace with their slowdown, and with
 * the variation of operations in the trace (pack_pace.h). The part of a step beyond the compute
 * time of pipelines stays the same.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/outlook_check.h"

struct outlook_hotspa {
	double after;	 /* of pipelines alone, seconds per step, including switches */
	char *note;	 /* owned */
	json_t *members; /* owned: members specific to this remedy */
};

/* As outlook_find(). 0 if HotSPa is not described. */
int outlook_hotspa_check(const struct attribution *attribution, const struct measured *measured,
			 const struct description *description, const char *trace, struct err *err);

/* -ENOENT: not described. -ERANGE or -EINVAL: impossible or useless, with the reason. */
int outlook_hotspa_find(const struct attribution *attribution,
			const struct description *description, const struct outlook_job *of,
			struct outlook_hotspa *ret_found, struct err *err);
