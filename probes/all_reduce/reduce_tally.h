/* SPDX-License-Identifier: Apache-2.0 */
/* Summarises the windows of all ranks: link rates, how late each rank was, the slow link. */
#pragma once

#include <stdint.h>

#include "probes/all_reduce/reduce_message.h"

struct reduce_session;
struct reduce_tally;

/* Rank 0: add a window that all ranks have answered; `own` is its own answer. */
void reduce_tally_add(struct reduce_session *s, const struct reduce_message *own,
		      struct reduce_tally *t);

/* The REDUCE_RESULT of one or more windows. Sorts the times in `t`. */
struct reduce_message reduce_tally_result(const struct reduce_session *s, uint64_t rail,
					  struct reduce_tally *t);
