/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job description that a person writes for assay-attribute --remedies: YAML with the keys in
 * docs/remedies.md. Where it describes the present job it must agree with the trace: outlook.h
 * checks that.
 */
#pragma once

#include <stdint.h>

#include "attribution/description_hotspa.h"
#include "lib/json/json.h"

enum {
	DESCRIPTION_LAYERS_MAX = 512, /* of the model */
	DESCRIPTION_STAGES_MAX = 1024,
	DESCRIPTION_HOSTS_MAX = 1024, /* named ones */
};

struct description_layers {
	double *forward_s, *backward_s; /* owned: per micro-batch; NULL: from the trace */
	double *bytes;			/* owned */
	size_t n;
};

struct description_stages {
	size_t *layers; /* owned: of each present stage */
	size_t n;
};

struct description {
	const char *path; /* borrowed */
	json_t *doc;	  /* owned */
	struct yaml_lines lines;
	struct description_layers layers; /* of the model, in order */
	struct description_stages stages;
	uint64_t microbatches; /* per pipeline; 0: as in the trace */
	uint64_t spares, failures;
	double memory, ends;   /* bytes per stage, and what either end needs besides layers */
	double link;	       /* bytes per second between hosts */
	double restart_s;      /* including work lost since the checkpoint; NAN: not given */
	double failures_a_day; /* of a host; NAN: not given */
	double repair_h;       /* until a lost host is back */
	double certainty;      /* that the spares suffice */
	char **lose;	       /* owned: hosts to give up, in this order; NULL: the slowest */
	json_t *slowdown;      /* owned: {host: factor}; NULL: only from the trace */
	struct description_hotspa hotspa;
};

/* Release it even after a failure. -EINVAL: "FILE: key: what"; else the errno of reading. */
int description_read(const char *path, struct description *ret_description, struct err *err);
void description_release(struct description *description);

/*
 * Set the error "FILE:LINE: key: MESSAGE" for the root's member `key`, with the line of its
 * value, and return -EINVAL.
 */
int description_fail(const struct description *description, const char *key, struct err *err,
		     const char *fmt, ...) PRINTF(4, 5);

/* The same for entry `i` of list `list` in member `key`: "FILE:LINE: key.list[i]: MESSAGE". */
struct description_place {
	const char *key, *list;
	size_t i;
};
int description_fail_at(const struct description *description, const struct description_place *place,
			struct err *err, const char *fmt, ...) PRINTF(4, 5);
