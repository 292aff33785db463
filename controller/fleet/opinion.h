/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's verdict on a host, as sent to its agent. Pure.
 *
 * - the worst open incident decides; without one, the combination of the last runs, at most `warn`,
 *   since a single bad run is no proof;
 * - `fail` makes `assay admit` refuse jobs, so it is sent only for hosts that we took out of
 *   service, with who did it and why. Otherwise `warn` is the most: in observe mode, or if a budget
 *   refuses, nothing is taken out of service;
 * - a host that refuses jobs for a signature that too many hosts refuse them for (budget.deny) gets
 *   `admit: degraded`;
 * - a host without reports is `inconclusive`;
 * - a host that has joined and passed no test since is at least `warn`: `assay admit` never says
 *   ok.
 *
 * An opinion is valid for OPINION_LIFE_US. It is sent when it has changed or half of that has
 * passed, so that a lost message is made up for in time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define OPINION_LIFE_US USEC_PER_HOUR

/* All borrowed. */
struct opinion_input {
	const json_t *node;	 /* from the API: verdict, sentence */
	const json_t *incidents; /* array of its open incidents */
	const char *cordoned;	 /* why we took it out of service; NULL: we did not */
	const char *let_in;	 /* why it admits jobs nevertheless; NULL: its own judgement */
	const char *policy;	 /* version of the policy */
};

/* {"verdict", "policy", "expires", "sentence", "admit"?}. New reference. */
json_t *opinion_make(const struct opinion_input *in, uint64_t now_real_us);

/* What was last sent to each host. */
struct opinions {
	void *tree;
	size_t n;
};

/* Must the opinion be sent? `now_us` is monotonic. */
bool opinions_due(const struct opinions *o, const char *node, const json_t *opinion,
		  uint64_t now_us);

void opinions_told(struct opinions *o, const char *node, const json_t *opinion, uint64_t now_us);

/* The host's call broke, so it is unknown what arrived. */
void opinions_forget(struct opinions *o, const char *node);

void opinions_release(struct opinions *o);
