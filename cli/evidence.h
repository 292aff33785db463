/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything known about a host, in one document for whoever repairs it:
 *
 *	{"v": 1, "kind": "evidence", "node", "made", "by", "why", "parts": [{part, id, what}],
 *	 "incidents", "acted", "verdicts", "kernel_log": [{subject, code, lines, note, time}],
 *	 "samples", "topology"}
 */
#pragma once

#include <jansson.h>

struct err;
struct link;

enum { EVIDENCE_VERDICTS = 200 }; /* the newest ones, at most */

/* Errors as host_get(). */
int evidence_fetch(struct link *link, const char *node, json_t **ret, struct err *err);

/*
 * Parts with their serial numbers and labels, from the host's reports: its GPUs, its modules, its
 * RNICs and their switch ports. `named` are the controller's `parts`, or NULL. New reference.
 * Pure.
 */
json_t *evidence_parts(const json_t *samples, const json_t *topology, const json_t *named);

/* Kernel log messages, from the samples about them. New reference. Pure. */
json_t *evidence_kernel_log(const json_t *samples);
