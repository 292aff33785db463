/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a run's windows for people: suspects, since when, and what is or would be done.
 * Whom they blame is in job_suspects.h, the consequences for hosts in job_judging.h. Pure.
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
	/* The newest analysed windows of the job's newest run, newest first; none: waiting. */
	const struct job_window *windows;
	size_t n;
	bool rejected;			       /* the newest window of all was rejected */
	const struct job_suspects *suspects;   /* in these windows */
	const struct job_judge_result *judged; /* for these suspects; NULL: hosts are unknown */
};

/*
 * What the API shows of the job (docs/jobs.md). New reference. Each suspect has "windows", the
 * numbers of those that blame it, "lapsed", and an "action" and "reason" of its own; "decision" is
 * the most severe of them.
 */
json_t *job_view(const struct job_view_input *in);

/*
 * Should the owner be told that the job slows itself, or that the cause cannot be determined? Once
 * for each cause in a run, going by what was shown `before`: "informed" of the view becomes the
 * causes reported.
 */
bool job_view_informs(json_t *view, const json_t *before);
