/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of probes that only read state: the finding about a subject, and its sentence. */
#pragma once

#include <stdarg.h>

#include "lib/base/macro.h"
#include "probes/harness/probe.h"

/* The finding, in increasing severity. */
enum finding {
	FINDING_GOOD,  /* ok true */
	FINDING_NOTE,  /* ok null: a fact, neither good nor bad by itself */
	FINDING_INFO,  /* ok false, severity info: worth reporting, never bad */
	FINDING_WARN,  /* ok false, severity warn */
	FINDING_FAIL,  /* ok false: a failure, but no reason to cordon by itself */
	FINDING_FATAL, /* ok false, severity fatal: needs no confirmation */
};

/* A sample of `check` about `subject` with `value` (NAN: null). */
struct sample finding_sample(const char *check, const char *subject, double value);

/*
 * Put the finding and its sentence into `s`, and the unit (unless set) and `better` from the
 * probe's table of checks.
 */
void finding_fill(const struct probe_desc *desc, struct sample *s, enum finding finding,
		  const char *note_fmt, va_list args) PRINTF(4, 0);
