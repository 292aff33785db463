/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe prints: bytes in, samples out, and a count of what was none.
 * One JSON object a line (sample/1, lib/report/report.h). Pure: no I/O, no clock.
 *
 * Invariants: at most SAMPLE_COUNT_MAX samples and one line of SAMPLE_LINE_MAX
 * bytes are held, so memory stays flat whatever is printed. Passing a limit
 * sticks: what comes later is not looked at, what came before is kept.
 */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/report/report.h"

struct probe_output {
	struct sample *samples; /* owned, in the order printed */
	size_t n_samples;
	uint64_t n_bytes;
	size_t n_lines;
	size_t n_garbage;		/* lines that are no sample; blank ones do not count */
	size_t garbage_line;		/* the first of them, from 1 */
	char garbage_why[ERR_MSG_SIZE]; /* what is wrong with it, valid UTF-8 */
	const char *too_much;		/* the limit that was passed, in words; NULL: none */
	struct strbuf line;		/* the line that has no end yet */
};

void probe_output_init(struct probe_output *out);
void probe_output_release(struct probe_output *out);

/* Take the next `n` bytes. 0, or -E2BIG from the moment a limit was passed. */
int probe_output_feed(struct probe_output *out, const char *bytes, size_t n);

/* Nothing more comes: judge a last line without a newline. */
void probe_output_end(struct probe_output *out);

/*
 * The verdict on the output of a probe that said it went well: PROBLEM_TOO_MUCH,
 * PROBLEM_GARBAGE or PROBLEM_EMPTY with a sentence in new memory (`ret_words`),
 * or -1 when there are only good samples.
 */
int probe_output_verdict(const struct probe_output *out, char **ret_words);

/*
 * The probe was stopped half-way because a job arrived: all it delivered is in
 * state aborted, without results.
 */
void probe_output_abort(struct probe_output *out);
