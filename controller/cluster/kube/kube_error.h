/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer means. A server says it with a Status, what stands before it with whatever it
 * likes: a body is JSON only where its Content-Type says so. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/err.h"

/* What came back, as it came. */
struct kube_raw {
	const char *method, *path;
	int r;		 /* negative: no whole answer came, and `why` */
	const char *why; /* or NULL */
	unsigned status;
	const char *content_type, *body;
	size_t len;
	uint64_t retry_after_us; /* 0: the header is absent */
	const char *audit;
	bool streamed; /* what a 2xx brought is told already */
};

/* An answer and what it borrows from. */
struct kube_reading {
	struct kube_answer answer;
	json_t *body; /* owned */
	struct err words;
};

/* Never fails: what cannot be understood is an answer, too. `ret` must not move while it is used. */
void kube_answer_read(const struct kube_raw *raw, struct kube_reading *ret);
void kube_reading_release(struct kube_reading *reading);
