/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of an answer. A server answers with a Status, a proxy in front of it with anything: a
 * body is parsed as JSON only if its Content-Type says so. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/err.h"

/* The answer as received. */
struct kube_raw {
	const char *method, *path;
	int r;		 /* negative: no complete answer; `why` is set */
	const char *why; /* or NULL */
	unsigned status;
	const char *content_type, *body;
	size_t len;
	uint64_t retry_after_us; /* 0: no such header */
	const char *audit;
	bool streamed; /* the content of a 2xx was passed on already */
};

/* An answer with the data it borrows from. */
struct kube_reading {
	struct kube_answer answer;
	json_t *body; /* owned */
	struct err words;
};

/* Never fails: an answer that makes no sense has a meaning, too. `ret` must not be moved while in
 * use. */
void kube_answer_read(const struct kube_raw *raw, struct kube_reading *ret);
void kube_reading_release(struct kube_reading *reading);
