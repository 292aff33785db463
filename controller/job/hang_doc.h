/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's document about a job's ranks (assay-hang/1, docs/hangs.md), reduced to what the host is
 * trusted with: everything about the ranks placed on it; of other ranks of the job only what RAS
 * told it, as one rank answers for its communicators. Pure except for memory.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/hang_places.h"
#include "lib/base/macro.h"

/* Below this a host does not call it a standstill. */
#define HANG_DOC_STILL_S 60.0
/* Network traffic of a rank above this means that it moves something. */
#define HANG_DOC_TRAFFIC_BYTES_S 1e6

/* Summary of the host's own ranks. */
struct hang_doc_facts {
	int64_t run, world;
	double age_s;
	size_t own, told, refused; /* ranks: placed there; reported by RAS; neither */
	double still_s;		   /* the longest standstill; 0: none */
	bool sure;		   /* by something that no pause causes (lib/policy/hung.h) */
	bool traffic;
	uint64_t positions, progress; /* number and sum; same number, higher sum: progress */
};

/* Reduce `doc`, which hang_json.h accepts: "ranks" are the host's own, "told" those of others. */
void hang_doc_cut(json_t *doc, const struct hang_places *places, const char *node,
		  struct hang_doc_facts *ret);
