/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/pair_hosts.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/unit/test.h"

static int emit(struct probe *probe, struct sample *s)
{
	struct pair_host *h = (struct pair_host *)probe;

	CHECK(h->n_samples < PAIR_HOST_SAMPLES_MAX);
	h->samples[h->n_samples++] = *s;
	*s = sample_init();
	return 0;
}

void pair_host_open(struct pair_host *h, int fd, bool leads)
{
	*h = (struct pair_host){ .n_samples = 0 };
	pair_fabric_open(&h->fabric, PAIR_HOST_RAILS);
	/* Few polls per simulated second: only the reported results matter. */
	h->fabric.sim.poll_s = 20e-6;
	h->session = (struct pair_session){
		.probe = &h->probe,
		.engine = &h->fabric.sim.engine,
		.sides = h->fabric.sides,
		.n_sides = PAIR_HOST_RAILS,
		.options = &h->fabric.options,
		.gpus = &h->gpus,
		.memory_bytes = PAIR_FABRIC_BYTES,
		.other = "other:1",
		.line = { .fd = fd, .name = "the other" },
		.leads = leads,
		.peer = pair_message_init(PAIR_BYE),
		.deadline_us = clock_mono_us() + PAIR_SOON_US,
		.emit = emit,
	};
}

void pair_host_close(struct pair_host *h)
{
	size_t i;

	for (i = 0; i < h->n_samples; i++)
		sample_release(&h->samples[i]);
	pair_lanes_close(&h->session.lanes);
	oob_close(&h->session.line);
	pair_message_release(&h->session.peer);
	pair_fabric_close(&h->fabric);
	pair_gpus_release(&h->gpus);
}

static void *run(void *argument)
{
	struct pair_host *h = argument;

	h->r = pair_session_run(&h->session, &h->err);
	if (h->r < 0)
		oob_close(&h->session.line);
	return NULL;
}

void pair_hosts_open(struct pair_host *leader, struct pair_host *follower)
{
	int fds[2];

	(void)setenv("ASSAY_NODE", "node-x", 1);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair_host_open(leader, fds[0], true);
	pair_host_open(follower, fds[1], false);
}

void pair_hosts_run(struct pair_host *leader, struct pair_host *follower)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, run, follower), 0);
	run(leader);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

const struct sample *pair_host_find(const struct pair_host *h, const char *check,
				    const char *subject)
{
	size_t i;

	for (i = 0; i < h->n_samples; i++) {
		if (streq(h->samples[i].check, check) && streq(h->samples[i].subject, subject))
			return &h->samples[i];
	}
	return NULL;
}
