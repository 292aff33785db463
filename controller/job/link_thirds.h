/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third hosts for the pairs of a link (link_pairs.h): spares of the ends' model as in job_advice.h,
 * not of the job, those in a rack of the ends first; and ends that pairs have cleared, while they
 * are free.
 */
#pragma once

#include <jansson.h>

#include "controller/job/link_pairs.h"

/*
 * Returns at most PAIR_RUNGS_THIRDS_MAX names for the ends in `run` of the entry, new reference.
 * `ret_asked`: the cluster is being asked whether jobs run on further candidates.
 */
int link_thirds_find(const struct link_pairs_of *w, const json_t *entry, const json_t *run,
		     json_t **ret, bool *ret_asked);
