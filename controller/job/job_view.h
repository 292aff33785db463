/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the windows of a run come to, for people: who is suspected, since when, and what is or would
 * be done. Whom they blame is job_suspects.h, what follows for their hosts job_judging.h. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/job/job_suspects.h"
#include "lib/base/macro.h"
#include "lib/policy/job_judge.h"

/* All borrowed. */
struct job_view_input {
	/* The newest analysed windows of the job's newest run, newest first; none: it waits. */
	const struct job_window *windows;
	size_t n;
	bool rejected;			     /* the newest window of all was */
	const struct job_suspects *suspects; /* of these windows */
	const struct job_judge_result
		*judged; /* of these suspects; NULL: nothing is known of hosts */
};

/*
 * What the API shows of the job (docs/jobs.md): new reference. Each suspect has "windows", the
 * numbers of those that blame it, "lapsed", and "action" and "reason" of its own; "decision" is
 * the hardest of them.
 */
json_t *job_view(const struct job_view_input *in);

/*
 * Is its owner to be told that it slows itself, or that nobody can tell why it is slow? Once for
 * each cause of a run, by what was shown `before`: "informed" of the view becomes the causes he was
 * told of.
 */
bool job_view_informs(json_t *view, const json_t *before);
