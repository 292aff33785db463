/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a part of this host may lose before the judge says so: the rules of
 * verdict.h turned round. Pure.
 *
 * A loss is told from the value that a subject has now, with all the others as
 * they are: one that is a little above its peers may lose a little more. What
 * is named is a warn or worse; what fails needs two references, or one that is
 * far off. A row promises for any of its subjects, so its loss is that of the
 * subject which may lose most.
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
	 * In a larger group of peers one value less does not make half of them
	 * low; in a smaller one each loss is tried.
	 */
	SENSITIVITY_TRIED_MAX = 128,
};

/* Standard deviations by which a loss must pass the floor to be seen in 39 of 40 runs. */
#define SENSITIVITY_SURE 2.0
/* A floor nearer than this to a good value is passed by chance once in 740 runs or more often. */
#define SENSITIVITY_CHANCE 3.0

/* Where a finding begins. */
struct loss {
	double limit;	  /* the value beyond which it does; NAN: nowhere */
	double amount;	  /* from the value to the limit, in its unit; 0 when it is beyond; NAN */
	double part;	  /* amount / value; INFINITY of 0; NAN when it begins nowhere */
	unsigned sources; /* bits 1 << enum verdict_source: who says so */
};

enum sense {
	SENSE_NOT_MEASURED, /* the run has no value of it */
	SENSE_RECORDED,	    /* a state without a better side */
	SENSE_NOTHING,	    /* a value, and nothing to compare it with */
	SENSE_PROBE,	    /* the probe itself says whether it is good (`ok`) */
	SENSE_COMPARED,	    /* there is a reference */
};
extern const char *const sense_names[];

/* Of one sample. */
struct sensitivity {
	const struct sample *sample; /* borrowed */
	enum sense sense;
	int level; /* enum verdict_level it has now, by itself and by its references */
	struct loss warns, fails;
	struct expectation e[EXPECTATIONS_MAX];
	size_t n;
	bool leaning;	  /* half of its peers are low: they say nothing of it */
	bool counts;	  /* things that are there or not */
	bool remembered;  /* own history can become a reference */
	size_t n_history; /* earlier values there are */
	double windows;	  /* robust spread of the sub-windows as a part of their median; NAN */
	double runs;	  /* the same of the earlier runs */
};

/* One for each sample of the report, in its order, into `ret`. */
void sensitivity_of(const struct report *report, const struct judge_inputs *inputs,
		    struct sensitivity *ret);
