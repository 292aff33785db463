/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that meet for an all-reduce: one thread each, over sockets and one simulated fabric. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { HOSTS = 3, SAMPLES_MAX = 16, DEPTH = 16 };

#define SOON_US (60 * USEC_PER_SEC)

struct host {
	struct probe probe; /* first: emit() finds its host by it */
	struct reduce_session session;
	struct sample samples[SAMPLES_MAX];
	size_t n_samples;
	struct err err;
	int r;
};

/* The simulated fabric knows no threads: one at a time. */
static struct fleet {
	struct pair_fabric fabric;
	struct rdma_ops real;
	pthread_mutex_t lock;
	struct host hosts[HOSTS];
	char *addresses[HOSTS + 1];
	int dies;	     /* which host, -1 none, */
	uint64_t dies_after; /* when so many requests were made */
	bool flips;	     /* one bit of what comes in first */
} fleet;

/* Its clock is the real one: a host whose thread has to wait for a core loses no time by that. */
static void set_clock(void)
{
	fleet.fabric.sim.now_ns = clock_mono_us() * 1000;
}

static int locked_open(struct rdma_device *d, const struct rdma_queue_options *o,
		       struct rdma_queue **ret, struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	r = fleet.real.queue_open(d, o, ret, err);
	(void)pthread_mutex_unlock(&fleet.lock);
	return r;
}

static void locked_close(struct rdma_queue *q)
{
	(void)pthread_mutex_lock(&fleet.lock);
	fleet.real.queue_close(q);
	(void)pthread_mutex_unlock(&fleet.lock);
}

static int locked_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	r = fleet.real.queue_connect(q, peer, err);
	(void)pthread_mutex_unlock(&fleet.lock);
	return r;
}

/* A host that dies takes its sockets with it. */
static void die(void)
{
	if (fleet.dies < 0 || fleet.fabric.sim.requests < fleet.dies_after)
		return;
	(void)shutdown(fleet.hosts[fleet.dies].session.peers[0].line.fd, SHUT_RDWR);
	fleet.dies = -1;
}

static int locked_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	set_clock();
	r = fleet.real.post(q, work, n, err);
	if (fleet.flips && work[0].opcode == RDMA_WRITE) {
		((unsigned char *)(uintptr_t)work[0].remote)[2] ^= 0x40;
		fleet.flips = false;
	}
	die();
	(void)pthread_mutex_unlock(&fleet.lock);
	return r;
}

static int locked_receive(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
			  struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	r = fleet.real.receive(q, receives, n, err);
	(void)pthread_mutex_unlock(&fleet.lock);
	return r;
}

static int locked_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	set_clock();
	r = fleet.real.poll(q, ret, max, err);
	(void)pthread_mutex_unlock(&fleet.lock);
	if (r == 0)
		(void)sched_yield();
	return r;
}

static uint64_t locked_now(struct rdma_engine *e)
{
	uint64_t now_ns;

	(void)pthread_mutex_lock(&fleet.lock);
	set_clock();
	now_ns = fleet.real.now_ns(e);
	(void)pthread_mutex_unlock(&fleet.lock);
	return now_ns;
}

static int emit(struct probe *probe, struct sample *s)
{
	struct host *h = (struct host *)probe;

	CHECK(h->n_samples < SAMPLES_MAX);
	h->samples[h->n_samples++] = *s;
	*s = sample_init();
	return 0;
}

static void host_open(unsigned rank)
{
	struct host *h = &fleet.hosts[rank];
	struct reduce_session *s = &h->session;

	fleet.addresses[rank] = xasprintf("host%u:%u", rank, 7000 + rank);
	s->probe = &h->probe;
	s->sides = &fleet.fabric.sides[rank];
	s->n_sides = 1;
	s->n = HOSTS;
	s->rank = rank;
	s->addresses = fleet.addresses;
	s->token = "word";
	s->node = xasprintf("node-%u", rank);
	s->depth = DEPTH;
	s->seed = 1;
	s->bytes = fleet.fabric.sides[rank].target.bytes / 2;
	s->deadline_us = clock_mono_us() + SOON_US;
	s->window_us = 5 * USEC_PER_MSEC;
	s->emit = emit;
	reduce_session_init(s);
}

static void fleet_open(void)
{
	struct rdma_ops *ops = &fleet.fabric.ops;
	unsigned rank;

	fleet = (struct fleet){ .dies = -1, .lock = PTHREAD_MUTEX_INITIALIZER };
	pair_fabric_open(&fleet.fabric, HOSTS);
	fleet.fabric.sim.moves = true;
	fleet.fabric.sim.poll_s = 0;
	fleet.real = *ops;
	ops->queue_open = locked_open;
	ops->queue_close = locked_close;
	ops->queue_connect = locked_connect;
	ops->post = locked_post;
	ops->receive = locked_receive;
	ops->poll = locked_poll;
	ops->now_ns = locked_now;
	for (rank = 0; rank < HOSTS; rank++)
		host_open(rank);
}

static void fleet_close(void)
{
	unsigned rank;
	size_t i;

	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		for (i = 0; i < h->n_samples; i++)
			sample_release(&h->samples[i]);
		reduce_session_release(&h->session);
		free(h->session.node);
		free(fleet.addresses[rank]);
	}
	pair_fabric_close(&fleet.fabric);
}

/* What reduce_meet() does, over sockets of this process. */
static void *begin(void *argument)
{
	struct host *h = argument;
	struct reduce_session *s = &h->session;
	int r = 0;

	if (s->rank > 0)
		r = oob_begin(s->peers[0].line.fd, "rank 0", true, s->token, s->deadline_us,
			      &s->peers[0].line, &h->err);
	h->r = r < 0 ? r : reduce_session_run(s, &h->err);
	/* As when a process ends. */
	if (s->rank > 0)
		oob_close(&s->peers[0].line);
	return NULL;
}

static void *accept_and_begin(void *argument)
{
	struct host *h = argument;
	struct reduce_session *s = &h->session;
	unsigned rank;

	for (rank = 1; rank < HOSTS; rank++) {
		struct reduce_peer *p = &s->peers[rank];

		CHECK_EQ(oob_begin(p->line.fd, "another rank", false, s->token, s->deadline_us,
				   &p->line, &h->err),
			 0);
		CHECK_EQ(reduce_hear(&p->line, s->deadline_us, &p->answer, &h->err), 0);
		CHECK_EQ(p->answer.kind, REDUCE_HELLO);
		p->answered = true;
	}
	return begin(argument);
}

static void run(void)
{
	pthread_t threads[HOSTS];
	unsigned rank;

	for (rank = 1; rank < HOSTS; rank++) {
		int ends[2];

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		fleet.hosts[0].session.peers[rank].line.fd = ends[0];
		fleet.hosts[rank].session.peers[0].line.fd = ends[1];
	}
	for (rank = 0; rank < HOSTS; rank++)
		CHECK_EQ(pthread_create(&threads[rank], NULL, rank ? begin : accept_and_begin,
					&fleet.hosts[rank]),
			 0);
	for (rank = 0; rank < HOSTS; rank++)
		CHECK_EQ(pthread_join(threads[rank], NULL), 0);
}

static void every_host_tells_what_it_saw(void)
{
	static const char *const names[] = { "all_reduce.busbw", "all_reduce.link_bw",
					     "all_reduce.skew", "all_reduce.correct" };
	unsigned rank;
	size_t i;

	fleet_open();
	run();
	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, 0);
		CHECK_STR(h->err.msg, "");
		CHECK_EQ(h->n_samples, ARRAY_SIZE(names));
		for (i = 0; i < h->n_samples; i++) {
			CHECK_STR(h->samples[i].check, names[i]);
			CHECK_EQ(h->samples[i].state, SAMPLE_MEASURED);
			CHECK(isfinite(h->samples[i].value));
			CHECK_STR(h->samples[i].code, "rail:0");
			CHECK_STR(h->samples[i].with[0], rank == 0 ? "node-1" : "node-0");
		}
		CHECK_EQ(h->samples[0].w.n, REDUCE_WINDOWS);
		CHECK(h->samples[0].value > 0);
		CHECK(h->samples[2].value >= 0);
		CHECK_EQ(h->samples[3].ok, TRI_YES);
		CHECK_EQ(h->samples[3].n, 2);
	}
	CHECK_STR(fleet.hosts[2].samples[1].subject, "sim2:1>node-0");
	fleet_close();
}

static void wrong_data_is_told_by_who_has_it(void)
{
	unsigned rank, wrong = 0;

	fleet_open();
	fleet.flips = true;
	run();
	for (rank = 0; rank < HOSTS; rank++) {
		const struct sample *s = &fleet.hosts[rank].samples[3];

		CHECK_EQ(fleet.hosts[rank].n_samples, 4);
		if (s->ok != TRI_NO)
			continue;
		wrong++;
		CHECK_HAS(s->note, "1 wrong sums; the first is element");
	}
	CHECK(wrong > 0);
	fleet_close();
}

static void a_host_that_dies_is_named_to_all_others(void)
{
	unsigned rank;
	size_t i;

	fleet_open();
	fleet.dies = 2;
	fleet.dies_after = 100;
	run();
	CHECK_EQ(fleet.dies, -1);
	for (rank = 0; rank < 2; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, -ECANCELED);
		CHECK_EQ(h->session.suspect, 2);
		CHECK_HAS(h->session.why, "rank 2 (node-2)");
		CHECK_EQ(h->n_samples, 4);
		for (i = 0; i < h->n_samples; i++) {
			CHECK_EQ(h->samples[i].state, SAMPLE_ABORTED);
			CHECK_HAS(h->samples[i].note, "rank 2 (node-2)");
		}
	}
	CHECK(clock_mono_us() < fleet.hosts[0].session.deadline_us);
	fleet_close();
}

static void a_host_that_cannot_open_its_port_is_named(void)
{
	unsigned rank;

	fleet_open();
	(void)err_set(&fleet.fabric.sides[1].err, ENETDOWN, "sim1 port 1: down");
	run();
	for (rank = 0; rank < HOSTS; rank++) {
		CHECK_EQ(fleet.hosts[rank].r, -ECANCELED);
		CHECK_EQ(fleet.hosts[rank].session.suspect, 1);
		CHECK_STR(fleet.hosts[rank].session.why, "node-1: sim1 port 1: down");
	}
	fleet.fabric.sides[1].err = (struct err)ERR_INIT;
	fleet_close();
}

static void ranks_that_never_come_are_named(void)
{
	struct host *h = &fleet.hosts[0];
	char *listens;

	fleet_open();
	listens = fleet.addresses[0];
	fleet.addresses[0] = xstrdup("127.0.0.1:0");
	free(listens);
	CHECK_EQ(reduce_meet(&h->session, clock_mono_us(), &h->err), 0);
	CHECK_EQ(reduce_session_run(&h->session, &h->err), -ECANCELED);
	CHECK_STR(h->err.msg, "rank 1 (host1:7001), rank 2 (host2:7002) did not come");
	CHECK_EQ(h->session.suspect, 1);
	CHECK_EQ(h->n_samples, 4);
	CHECK_EQ(h->samples[0].state, SAMPLE_SET_UP);
	CHECK_HAS(h->samples[0].note, "rank 2 (host2:7002) did not come");
	fleet_close();
}

static const struct test tests[] = {
	TEST(every_host_tells_what_it_saw),
	TEST(wrong_data_is_told_by_who_has_it),
	TEST(a_host_that_dies_is_named_to_all_others),
	TEST(a_host_that_cannot_open_its_port_is_named),
	TEST(ranks_that_never_come_are_named),
};

int main(void)
{
	return TEST_MAIN("all_reduce", tests);
}
