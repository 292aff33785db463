/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs assay-optrace --part on one file at a time, sandboxed (trace_sandbox.h), under the event
 * loop. Its output goes to a file of ours piece by piece, so that this process stays small. What
 * it states about the part is trusted as far as the file's owner is.
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
	TRACE_CONVERTER_HEAD_MAX = 512,		      /* bytes of the header line */
	TRACE_CONVERTER_WORDS_MAX = 512,
};

struct trace_converted {
	enum trace_refusal why; /* TRACE_TAKEN: the rest is valid; TRACE_GONE: nothing wanted */
	const char *words;	/* its message or ""; borrowed */
	int64_t rank, step;
	unsigned part, of;
	double first_s, last_s; /* since 1970 */
	int fd;			/* unlinked file; closed after `done` unless set to -1 */
	size_t offset, size;
};

/* `done` is called once per conversion started. */
struct trace_converter *trace_converter_new(struct sd_event *event, const char *dir,
					    void (*done)(void *context, struct trace_converted *c),
					    void *context);
void trace_converter_free(struct trace_converter *c);
bool trace_converter_runs(const struct trace_converter *c);

/*
 * Convert the file open at `fd`, as its owner; `arguments` for assay-optrace, NULL-terminated,
 * are copied. -EBUSY, or why it could not be started.
 */
int trace_converter_start(struct trace_converter *c, int fd, const struct stat *owner,
			  char *const *arguments, struct err *err);
