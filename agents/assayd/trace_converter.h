/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-optrace --part on one file at a time, shut in (trace_sandbox.h), under the event loop: what
 * it prints goes into a file of ours, a piece at a time, so that this program stays small; what it
 * says of the part is believed as far as the owner of the file is.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct sd_event;
struct trace_converter;

#define TRACE_CONVERTER_WALL_US (90 * USEC_PER_SEC)

enum {
	TRACE_CONVERTER_OUTPUT_MAX = 4 * 1024 * 1024, /* bytes of a part */
	TRACE_CONVERTER_HEAD_MAX = 512,		      /* bytes of the line before it */
	TRACE_CONVERTER_WORDS_MAX = 512,
};

struct trace_converted {
	enum trace_refusal
		why;	   /* TRACE_TAKEN: the rest is of the part; TRACE_GONE: nothing is wanted */
	const char *words; /* what it said, "" for nothing; borrowed */
	int64_t rank, step;
	unsigned part, of;
	double first_s, last_s; /* since 1970 */
	int fd; /* of a file that has no name any more; closed after `done` unless taken: set to -1 */
	size_t offset, size;
};

/* `done` is called once for each that was started. */
struct trace_converter *trace_converter_new(struct sd_event *event, const char *dir,
					    void (*done)(void *context, struct trace_converted *c),
					    void *context);
void trace_converter_free(struct trace_converter *c);
bool trace_converter_runs(const struct trace_converter *c);

/*
 * Convert the file open at `fd`, as its owner; `arguments` of assay-optrace, NULL-terminated, are
 * copied. -EBUSY, or why nothing can be started.
 */
int trace_converter_start(struct trace_converter *c, int fd, const struct stat *owner,
			  char *const *arguments, struct err *err);
