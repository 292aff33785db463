/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a session, on either side: its messages, measurement and samples. */
#pragma once

#include "probes/rnic_pair/pair_session.h"

/* What a step is about. */
struct pair_step {
	size_t rail;
	bool forth; /* the leader writes */
	bool rates;
	unsigned mtu; /* 0: the ports' */
	uint64_t us;  /* duration of one measurement */
};

struct pair_outcome {
	struct pair_verdict verdict;
	bool lost_full;
	struct sample samples[2]; /* of a step that measures rates */
};
void pair_outcome_release(struct pair_outcome *o);

int pair_say(struct pair_session *s, const struct pair_message *m, struct err *err);

/* Receive the next message, within `us`. */
int pair_hear(struct pair_session *s, uint64_t us, struct pair_message *ret, struct err *err);

/* Write through the connected lanes as the step says. */
void pair_step_write(struct pair_session *s, const struct pair_step *step, struct pair_outcome *ret);

/* Open our lanes for a step. Errors are of set-up and are also stored in `ret`. */
int pair_step_open(struct pair_session *s, const struct pair_step *step, struct pair_verdict *ret);
int pair_step_connect(struct pair_session *s, const struct pair_offer *peer,
		      struct pair_verdict *ret);

/*
 * The other side wrote `written` while we were `reading`. Describes foreign traffic in that time if
 * it is too much, for the samples of both sides; otherwise NULL. The caller frees the result.
 */
char *pair_step_heard(struct pair_session *s, const struct pair_written *written);

/* Emit the samples of a final message (the connection, or both rates). Takes ownership. */
int pair_step_emit(struct pair_session *s, size_t rail, bool forth, struct sample *samples,
		   size_t n);

/* Emit samples in this state for everything not emitted yet. Errors of probe_emit(). */
int pair_step_emit_rest(struct pair_session *s, int state, const char *why);
