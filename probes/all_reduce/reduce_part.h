/* SPDX-License-Identifier: Apache-2.0 */
/* The part of one rank: its ring, and operations on it. */
#pragma once

#include <stdint.h>

#include "probes/coll/coll.h"

struct coll_offer;
struct err;
struct oob;
struct reduce_message;
struct reduce_session;

int reduce_say(struct oob *line, const struct reduce_message *m, uint64_t deadline_us,
	       struct err *err);
int reduce_hear(struct oob *line, uint64_t deadline_us, struct reduce_message *ret, struct err *err);

/* "rank 2 (node-c)", or its address if its name is unknown. The caller frees it. */
char *reduce_name(const struct reduce_session *s, unsigned rank);

/* The operation used on the rail: on GPU memory it has no sums (coll/verbs.h). */
struct coll_op reduce_op(const struct reduce_session *s);

/* Do this rank's part for a request; `ret` is its answer. */
void reduce_open(struct reduce_session *s, uint64_t rail, struct reduce_message *ret);
void reduce_join(struct reduce_session *s, const struct coll_offer *of_neighbours,
		 struct reduce_message *ret);
/* The NCCL counterpart: join the group of this id, until `watch` gives up. */
void reduce_unite(struct reduce_session *s, const char *id, const struct coll_watch *watch,
		  struct reduce_message *ret);
void reduce_go(struct reduce_session *s, const struct reduce_message *go,
	       const struct coll_watch *watch, struct reduce_message *ret);
void reduce_shut(struct reduce_session *s);

/* Judge foreign traffic at this rank's port, given the resends of all ranks. */
void reduce_see(struct reduce_session *s, const struct reduce_message *whose,
		struct reduce_message *ret);
