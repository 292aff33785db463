/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a job that a person writes for assay-attribute --remedies: YAML, whose keys
 * docs/remedies.md lists. What it says about the job as it is, the trace must say too:
 * outlook.h holds them against each other.
 */
#pragma once

#include <stdint.h>

#include "attribution/description_hotspa.h"
#include "lib/json/json.h"

enum {
	DESCRIPTION_LAYERS_MAX = 512, /* of the model */
	DESCRIPTION_STAGES_MAX = 1024,
	DESCRIPTION_HOSTS_MAX = 1024, /* that are named */
};

struct description_layers {
	double *forward_s, *backward_s; /* owned: a micro-batch; NULL: by the trace */
	double *bytes;			/* owned */
	size_t n;
};

struct description_stages {
	size_t *layers; /* owned: of each stage now */
	size_t n;
};

struct description {
	const char *path; /* borrowed */
	json_t *doc;	  /* owned */
	struct yaml_lines lines;
	struct description_layers layers; /* of the model, in their order */
	struct description_stages stages;
	uint64_t microbatches; /* of each pipeline; 0: as many as in the trace */
	uint64_t spares, failures;
	double memory, ends; /* bytes of a stage, and what either end needs besides layers */
	double link;	     /* bytes a second of a host to others */
	double restart_s;    /* of the job, with what is lost since its checkpoint; NAN: not said */
	double failures_a_day; /* of a host; NAN: not said */
	double repair_h;       /* until a lost host is back */
	double certainty;      /* that the spares are enough */
	char **lose;	  /* owned: hosts that are given up, in this order; NULL: the slowest */
	json_t *slowdown; /* owned: {host: times}; NULL: none is known but by the trace */
	struct description_hotspa hotspa;
};

/* Release it even after a failure. -EINVAL: FILE: key: what; else the errno of reading. */
int description_read(const char *path, struct description *ret_description, struct err *err);
void description_release(struct description *description);

/*
 * Set "FILE:LINE: key: sentence", of the root's member `key`, by `fmt`; returns -EINVAL. The line
 * is of its value.
 */
int description_fail(const struct description *description, const char *key, struct err *err,
		     const char *fmt, ...) PRINTF(4, 5);

/* The same of entry `i` of the list `list` in the member `key`: "FILE:LINE: key.list[i]: sentence". */
struct description_place {
	const char *key, *list;
	size_t i;
};
int description_fail_at(const struct description *description, const struct description_place *place,
			struct err *err, const char *fmt, ...) PRINTF(4, 5);
