/* SPDX-License-Identifier: Apache-2.0 */
/* Data for the picture of a window: `detail` in the result of `assay-attribute --summary`
 * (docs/formats.md). Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct jval;

enum {
	SUMMARY_DETAIL_STEPS_MAX = 60,
	SUMMARY_DETAIL_LINES_MAX = 64, /* rows or columns in the map of a step */
	SUMMARY_DETAIL_TYPES_MAX = 32,
	SUMMARY_DETAIL_NAME_MAX = 64, /* bytes of an operation's name */
};

/* Check it and drop unknown members, into a json_t * that is owned. As jfield.decode. */
int summary_detail_decode(const struct jval *v, void *member, struct err *err);

/*
 * Sets the host of each worker: begin, name the host of each rank that is known, then end. If none
 * is named the hosts of the trace stay, unless they are not `believed`.
 */
struct summary_detail_hosts {
	json_t *nodes, *names, *places; /* owned */
	int64_t *workers; /* owned: by rank, the worker it was recorded for; -1: none */
	size_t bytes;	  /* of the names; beyond a limit none is stored */
};

void summary_detail_begin(struct summary_detail_hosts *hosts, const json_t *detail);
void summary_detail_name(struct summary_detail_hosts *hosts, int64_t rank, const char *host);
void summary_detail_end(struct summary_detail_hosts *hosts, json_t *detail, bool believed);
