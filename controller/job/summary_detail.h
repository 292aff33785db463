/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a window needs: `detail` of what `assay-attribute --summary` found
 * (docs/formats.md). Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct jval;

enum {
	SUMMARY_DETAIL_STEPS_MAX = 60,
	SUMMARY_DETAIL_LINES_MAX = 64, /* rows or columns of a step's map */
	SUMMARY_DETAIL_TYPES_MAX = 32,
	SUMMARY_DETAIL_NAME_MAX = 64, /* bytes of the name of an operation */
};

/* Checked, and what is not known left out, into a json_t * that is owned. As jfield.decode. */
int summary_detail_decode(const struct jval *v, void *member, struct err *err);

/*
 * Whose host each worker has: begin with nobody named, name the host of each rank that is known,
 * then end. Without any the hosts of the trace stay, unless they are not to be `believed`.
 */
struct summary_detail_hosts {
	json_t *nodes, *names, *places; /* owned */
	int64_t *workers; /* owned: by rank, the worker that it was recorded of; -1: none */
	size_t bytes;	  /* of the names; where they are too many none is kept */
};

void summary_detail_begin(struct summary_detail_hosts *hosts, const json_t *detail);
void summary_detail_name(struct summary_detail_hosts *hosts, int64_t rank, const char *host);
void summary_detail_end(struct summary_detail_hosts *hosts, json_t *detail, bool believed);
