/* SPDX-License-Identifier: Apache-2.0 */
/* Two hosts with a session over a socket between them, each with a simulated fabric of its own. */
#pragma once

#include "lib/base/err.h"
#include "probes/harness/probe.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_session.h"
#include "tests/unit/pair_fabric.h"

enum { PAIR_HOST_RAILS = 2, PAIR_HOST_SAMPLES_MAX = 64 };

#define PAIR_SOON_US (120 * USEC_PER_SEC)

/* One of the two hosts; both are node-x. */
struct pair_host {
	struct probe probe; /* first: what is emitted finds its host by it */
	struct pair_fabric fabric;
	struct pair_session session;
	struct pair_gpus gpus; /* of fabric.options.gpus, once they are asked for */
	struct sample samples[PAIR_HOST_SAMPLES_MAX];
	size_t n_samples;
	struct err err;
	int r;
};

/* Over the socket `fd`, which it takes. */
void pair_host_open(struct pair_host *h, int fd, bool leads);
void pair_host_close(struct pair_host *h);

void pair_hosts_open(struct pair_host *leader, struct pair_host *follower);

/* Both to their end: `r` and `samples`. */
void pair_hosts_run(struct pair_host *leader, struct pair_host *follower);

/* What it emitted of this check and subject, or NULL. */
const struct sample *pair_host_find(const struct pair_host *h, const char *check,
				    const char *subject);
