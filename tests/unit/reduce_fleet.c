/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/reduce_fleet.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/all_reduce/reduce_run.h"
#include "tests/unit/test.h"

enum { DEPTH = 16, PIECE = 16384 };
/* Per rank: 4 steps, each of a third of 512 KiB in pieces of 16 KiB. */
enum { PIECES_OF_OP = 4 * 11 };

#define SOON_US (60 * USEC_PER_SEC)

struct fleet fleet;

/* The host of this thread. */
static _Thread_local int me;

/* Uses the real clock, so that a host whose thread waits for a core does not run out of time. */
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
	if (fleet.dies < 0 || fleet.fabric.sim.requests < fleet.after)
		return;
	(void)shutdown(fleet.hosts[fleet.dies].session.peers[0].line.fd, SHUT_RDWR);
	fleet.dies = NOBODY;
}

/* Hangs while it still owes a piece of the first step, so no host can finish. */
static void hang(size_t n)
{
	fleet.posts[me] += n;
	while (fleet.hangs == me && fleet.posts[me] > PIECES_OF_OP && !fleet.goes_on)
		(void)pthread_cond_wait(&fleet.woken, &fleet.lock);
}

void fleet_set_received(int rank, long packets)
{
	CLEANUP(freep)
	char *path = xasprintf("sys/class/infiniband/sim%d/ports/1/hw_counters/rcvd_pkts", rank);
	CLEANUP(freep) char *text = xasprintf("%ld\n", packets);
	CLEANUP(freep) char *made = test_file(path, text);
}

static void use_port(void)
{
	if (fleet.shared < 0 || fleet.fabric.sim.requests < fleet.after)
		return;
	fleet_set_received(fleet.shared, 100000000);
	fleet.shared = NOBODY;
}

/* The first half of the registered memory is the buffer, the rest the receive room. */
static bool flips_here(uint64_t remote)
{
	unsigned i;

	for (i = 0; fleet.flips_at_the_end && i < HOSTS; i++) {
		const struct rdma_region *target = &fleet.fabric.sides[i].target;
		const uint64_t begin = (uintptr_t)target->at;

		if (remote >= begin && remote < begin + target->bytes / 2)
			return true;
	}
	return !fleet.flips_at_the_end;
}

static int locked_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&fleet.lock);
	hang(n);
	set_clock();
	r = fleet.real.post(q, work, n, err);
	if (fleet.flips && work[0].opcode == RDMA_WRITE_TELL && flips_here(work[0].remote)) {
		((unsigned char *)(uintptr_t)work[0].remote)[2] ^= 0x40;
		fleet.flips = false;
	}
	die();
	use_port();
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
	s->qps = 1 + rank;
	s->size = (uint32_t)PIECE << rank;
	s->seed = 1;
	s->bytes = fleet.fabric.sides[rank].target.bytes / 2;
	s->deadline_us = clock_mono_us() + SOON_US;
	s->window_us = 5 * USEC_PER_MSEC;
	s->go_us = SOON_US;
	s->grace_us = 3 * USEC_PER_SEC;
	s->emit = emit;
	reduce_session_init(s);
}

void fleet_open(void)
{
	struct rdma_ops *ops = &fleet.fabric.ops;
	unsigned rank;

	fleet = (struct fleet){ .dies = NOBODY,
				.hangs = NOBODY,
				.mute = NOBODY,
				.shared = NOBODY,
				.lock = PTHREAD_MUTEX_INITIALIZER,
				.woken = PTHREAD_COND_INITIALIZER };
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

void fleet_close(void)
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

static void wait_for_the_others(void)
{
	(void)pthread_mutex_lock(&fleet.lock);
	while (!fleet.goes_on)
		(void)pthread_cond_wait(&fleet.woken, &fleet.lock);
	(void)pthread_mutex_unlock(&fleet.lock);
}

static int say_hello_alone(struct reduce_session *s, struct err *err)
{
	struct reduce_message hello = reduce_message_init(REDUCE_HELLO);
	int r;

	hello.node = s->node;
	hello.rank = s->rank;
	hello.ranks = s->n;
	hello.rails = s->n_sides;
	hello.bytes = s->bytes;
	r = reduce_say(&s->peers[0].line, &hello, s->deadline_us, err);
	wait_for_the_others();
	return r;
}

/* Does what reduce_meet() does, over sockets of this process. */
static void *begin(void *argument)
{
	struct host *h = argument;
	struct reduce_session *s = &h->session;
	unsigned other;
	int r = 0;

	me = (int)s->rank;
	if (s->rank > 0)
		r = oob_begin(s->peers[0].line.fd, "rank 0", true, s->token, s->deadline_us,
			      &s->peers[0].line, &h->err);
	if (r == 0)
		r = fleet.mute == me ? say_hello_alone(s, &h->err) : reduce_session_run(s, &h->err);
	h->r = r;
	/* As when a process exits. */
	for (other = 0; other < HOSTS; other++)
		oob_close(&s->peers[other].line);
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

void fleet_run(void)
{
	pthread_t threads[HOSTS];
	const int stays = fleet.hangs >= 0 ? fleet.hangs : fleet.mute;
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
	for (rank = 0; rank < HOSTS; rank++) {
		if ((int)rank != stays)
			CHECK_EQ(pthread_join(threads[rank], NULL), 0);
	}
	if (stays < 0)
		return;
	(void)pthread_mutex_lock(&fleet.lock);
	fleet.goes_on = true;
	(void)pthread_cond_broadcast(&fleet.woken);
	(void)pthread_mutex_unlock(&fleet.lock);
	CHECK_EQ(pthread_join(threads[stays], NULL), 0);
}
