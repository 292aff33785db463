/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is known of one host, in one document for whoever repairs it:
 *
 *	{"v": 1, "kind": "evidence", "node", "made", "by", "why", "parts": [{part, id, what}],
 *	 "incidents", "acted", "verdicts", "kernel_log": [{subject, code, lines, note, time}],
 *	 "samples", "topology"}
 */
#pragma once

#include <jansson.h>

struct err;
struct link;

enum { EVIDENCE_VERDICTS = 200 }; /* the last reports that are told */

/* Errors as host_get(). */
int evidence_fetch(struct link *link, const char *node, json_t **ret, struct err *err);

/*
 * Parts with what is written on them, from what the host reported: its GPUs, its
 * modules, its RNICs, the switch ports they hang on; `named` are those of the controller's `parts`,
 * or NULL. New reference. Pure.
 */
json_t *evidence_parts(const json_t *samples, const json_t *topology, const json_t *named);

/* What the kernel log said, from the samples about it. New reference. Pure. */
json_t *evidence_kernel_log(const json_t *samples);
