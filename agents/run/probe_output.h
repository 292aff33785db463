/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of a probe's output: bytes in, samples out, and a count of invalid lines. One JSON
 * object per line (sample/1, lib/report/report.h). Pure: no I/O, no clock.
 *
 * Invariants: it holds at most SAMPLE_COUNT_MAX samples and one line of SAMPLE_LINE_MAX bytes, so
 * memory is bounded whatever is printed. Once a limit is exceeded, later output is ignored and
 * earlier samples are kept.
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
	size_t n_garbage;		/* lines that are not a sample, except blank ones */
	size_t garbage_line;		/* number of the first of them, from 1 */
	char garbage_why[ERR_MSG_SIZE]; /* its error, valid UTF-8 */
	const char *too_much;		/* description of the limit exceeded; NULL: none */
	struct strbuf line;		/* the incomplete last line */
};

void probe_output_init(struct probe_output *out);
void probe_output_release(struct probe_output *out);

/* Parse the next `n` bytes. 0, or -E2BIG from the time a limit was exceeded. */
int probe_output_feed(struct probe_output *out, const char *bytes, size_t n);

/* End of output: parse a last line that lacks a newline. */
void probe_output_end(struct probe_output *out);

/*
 * Judge the output of a probe that exited with success: PROBLEM_TOO_MUCH, PROBLEM_GARBAGE or
 * PROBLEM_EMPTY with a sentence in `ret_words`, which the caller frees; -1 if there are only
 * valid samples.
 */
int probe_output_verdict(const struct probe_output *out, char **ret_words);

/*
 * The probe was stopped half-way because a job arrived: all its samples become aborted and lose
 * their results.
 */
void probe_output_abort(struct probe_output *out);
