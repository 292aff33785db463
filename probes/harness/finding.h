/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the probes that read and never load: what one says of its
 * subject, and the sentence that says it.
 */
#pragma once

#include <stdarg.h>

#include "lib/base/macro.h"
#include "probes/harness/probe.h"

/* What a sample says of its subject, in rising order. */
enum finding {
	FINDING_GOOD,  /* ok true */
	FINDING_NOTE,  /* ok null: a fact that is neither good nor bad by itself */
	FINDING_INFO,  /* ok false, severity info: worth telling, never bad */
	FINDING_WARN,  /* ok false, severity warn */
	FINDING_FAIL,  /* ok false: sick, but not by itself a reason to cordon */
	FINDING_FATAL, /* ok false, severity fatal: a signature that needs no second look */
};

/* A sample of `check` about `subject` with `value` (NAN: null). */
struct sample finding_sample(const char *check, const char *subject, double value);

/*
 * Put the finding and its sentence into `s`, with unit (unless set) and
 * `better` as the probe's table of checks says.
 */
void finding_fill(const struct probe_desc *desc, struct sample *s, enum finding finding,
		  const char *note_fmt, va_list args) PRINTF(4, 0);
