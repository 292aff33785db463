/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSPa for a described job: sequences in groups by their length, a plan for each, and what the
 * switches between them take. It is advised only where sequence lengths are what slows the job.
 *
 * The plans are priced by the description, and scaled so that the plan of now computes as much in
 * a step as the trace does. Each runs on the hosts of the trace, with their slowdown, and under
 * operations that differ as those of the trace do (pack_pace.h). What a step takes beyond what
 * pipelines would if they did nothing but compute stays.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/outlook_check.h"

struct outlook_hotspa {
	double after;	 /* of pipelines alone, seconds of a step, with the switches */
	char *note;	 /* owned */
	json_t *members; /* owned: what the remedy has beyond those of all */
};

/* As outlook_find(). 0 when nothing of HotSPa is described. */
int outlook_hotspa_check(const struct attribution *attribution, const struct measured *measured,
			 const struct description *description, const char *trace, struct err *err);

/*
 * -ENOENT: nothing of it is described. -ERANGE or -EINVAL: it cannot be had, or gives nothing,
 * with the reason.
 */
int outlook_hotspa_find(const struct attribution *attribution,
			const struct description *description, const struct outlook_job *of,
			struct outlook_hotspa *ret_found, struct err *err);
