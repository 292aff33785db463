/* SPDX-License-Identifier: Apache-2.0 */
/* Two hosts with a session over a socket, each with its own simulated fabric. */
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
	struct probe probe; /* first: the sink casts it to its host */
	struct pair_fabric fabric;
	struct pair_session session;
	struct pair_gpus gpus; /* of fabric.options.gpus, if given */
	struct sample samples[PAIR_HOST_SAMPLES_MAX];
	size_t n_samples;
	struct err err;
	int r;
};

/* Opens a host on the socket `fd`, which it then owns. */
void pair_host_open(struct pair_host *h, int fd, bool leads);
void pair_host_close(struct pair_host *h);

void pair_hosts_open(struct pair_host *leader, struct pair_host *follower);

/* Runs both to completion; sets `r` and `samples`. */
void pair_hosts_run(struct pair_host *leader, struct pair_host *follower);

/* Returns the sample it emitted for this check and subject, or NULL. */
const struct sample *pair_host_find(const struct pair_host *h, const char *check,
				    const char *subject);
