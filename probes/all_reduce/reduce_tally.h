/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks' windows come to: the rate of each link, how late each came, which link is slow. */
#pragma once

#include <stdint.h>

#include "probes/all_reduce/reduce_message.h"

struct reduce_session;
struct reduce_tally;

/* Rank 0: a window that all have answered, itself with `own`. */
void reduce_tally_add(struct reduce_session *s, const struct reduce_message *own,
		      struct reduce_tally *t);

/* The REDUCE_RESULT of one window or more, which are put in order. */
struct reduce_message reduce_tally_result(const struct reduce_session *s, uint64_t rail,
					  struct reduce_tally *t);
