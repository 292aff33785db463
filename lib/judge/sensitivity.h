/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much performance a part of this host can lose before the judge notices: the rules of
 * verdict.h, inverted. Pure.
 *
 * A loss counts from the value that a subject has now, with all others unchanged: one that is
 * slightly above its peers can lose slightly more. A part is noticed when it gets a warn or worse;
 * a fail needs two references, or one that is far off. A row holds for all of its subjects, so its
 * loss is that of the subject that can lose most.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/peers.h"

struct judge_inputs;
struct report;
struct sample;

enum {
	/*
	 * In a larger group of peers, lowering one value cannot make half of them low; in a smaller
	 * one each loss is tried.
	 */
	SENSITIVITY_TRIED_MAX = 128,
};

/* Standard deviations by which a loss must exceed the floor to be noticed in 39 of 40 runs. */
#define SENSITIVITY_SURE 2.0
/* A good value is beyond a floor closer than this by chance in one of 740 runs, or more often. */
#define SENSITIVITY_CHANCE 3.0

/* The loss at which a finding begins. */
struct loss {
	double limit;	  /* the value beyond which it begins; NAN: never */
	double amount;	  /* from the value to the limit, in its unit; 0 if already beyond; NAN */
	double part;	  /* amount / value; INFINITY if the value is 0; NAN if it never begins */
	unsigned sources; /* bits 1 << enum verdict_source: the references that find it */
};

enum sense {
	SENSE_NOT_MEASURED, /* the run has no value */
	SENSE_RECORDED,	    /* a state without a better side */
	SENSE_NOTHING,	    /* a value, but nothing to compare it with */
	SENSE_PROBE,	    /* judged by the probe itself (`ok`) */
	SENSE_COMPARED,	    /* there is a reference */
};
extern const char *const sense_names[];

/* The sensitivity of one sample. */
struct sensitivity {
	const struct sample *sample; /* borrowed */
	enum sense sense;
	int level; /* enum verdict_level now, by the probe and by its references */
	struct loss warns, fails;
	struct expectation e[EXPECTATIONS_MAX];
	size_t n;
	bool leaning;	  /* half of its peers are low, so they are no reference */
	bool counts;	  /* things that are present or not */
	bool remembered;  /* own history can become a reference */
	size_t n_history; /* number of earlier values */
	double windows;	  /* robust spread of the sub-windows, relative to their median; NAN */
	double runs;	  /* the same for earlier runs */
};

/* Fills `ret` with one entry per sample of the report, in its order. */
void sensitivity_of(const struct report *report, const struct judge_inputs *inputs,
		    struct sensitivity *ret);
