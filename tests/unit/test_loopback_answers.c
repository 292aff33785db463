/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that do not respond in loopback: whose fault it is, depending on which others do. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/loopback_fabric.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define BW "loopback.write_bw"
#define BUDGET_US (20 * USEC_PER_SEC)

enum { QUEUES_MAX = 4096, GOOD_GID = 5, CELLS_OF_PORT = 10 };

/* What is lost on the way; all queues that were ever opened, by their GID. */
static struct {
	const struct rdma_ops *real;
	struct rdma_sim *sim;
	const char *device; /* NULL: of all */
	const char *memory; /* only what comes from here on; NULL: all */
	size_t bytes;
	int answers_from; /* this GID gets an answer all the same; -1: none */
	struct {
		const struct rdma_queue *queue;
		int gid;
	} queues[QUEUES_MAX];
	size_t n;
} loss;

static int open_queue(struct rdma_device *d, const struct rdma_queue_options *options,
		      struct rdma_queue **ret, struct err *err)
{
	int r = loss.real->queue_open(d, options, ret, err);

	CHECK(loss.n < QUEUES_MAX);
	if (r == 0 && loss.n < QUEUES_MAX) {
		loss.queues[loss.n].queue = *ret;
		loss.queues[loss.n++].gid = options->gid_index;
	}
	return r;
}

/* The last that was opened at this address. */
static int gid_of(const struct rdma_queue *q)
{
	size_t i = loss.n;

	while (i > 0 && loss.queues[i - 1].queue != q)
		i--;
	return i > 0 ? loss.queues[i - 1].gid : -1;
}

static bool is_lost(const struct rdma_queue *q, const struct rdma_work *work)
{
	const char *at = work->local;

	return (!loss.device || streq(rdma_sim_from(q), loss.device)) &&
	       (!loss.memory || (at >= loss.memory && at < loss.memory + loss.bytes)) &&
	       gid_of(q) != loss.answers_from;
}

static int post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	if (is_lost(q, work)) {
		loss.sim->fail_at = loss.sim->requests + 1;
		loss.sim->fail_status = RDMA_RETRY_EXCEEDED;
	}
	return loss.real->post(q, work, n, err);
}

/* Two addresses, the first of which is chosen. */
static int gids(struct rdma_device *d, unsigned port, struct rdma_gid *ret, size_t max,
		struct err *err)
{
	int n = loss.real->gids(d, port, ret, max, err);

	ret[1] = ret[0];
	ret[1].index = GOOD_GID;
	ret[1].raw[15] = 9;
	return n + 1;
}

static struct fabric *lossy_new(const char *device)
{
	static struct rdma_ops ops;
	struct fabric *f = fabric_new();

	loss.real = f->sim.engine.ops;
	loss.sim = &f->sim;
	loss.device = device;
	loss.memory = NULL;
	loss.answers_from = -1;
	loss.n = 0;
	ops = *loss.real;
	ops.queue_open = open_queue;
	ops.post = post;
	ops.gids = gids;
	f->sim.engine.ops = &ops;
	return f;
}

static void lossy_free(struct fabric *f)
{
	f->sim.engine.ops = loss.real;
	f->sim.lost =
		0; /* what is asked is in memory of its own, which no path of the fabric leads to */
	fabric_free(f);
}

static const struct sample *first_of(const struct report *r, const char *start)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (streq(r->samples[i].check, BW) && starts_with(r->samples[i].subject, start))
			return &r->samples[i];
	}
	return NULL;
}

/* Run those cells of the mesh and check what is said of the first of mlx5_2. */
static void run_and_check(struct fabric *f, const char *cells, bool sick, const char *words)
{
	const struct sample *s;
	struct report r;

	f->options.cells = cells;
	fabric_run(f, SET_FULL, BUDGET_US, &r);
	s = first_of(&r, "mlx5_2:1>");
	CHECK(s);
	if (s) {
		CHECK_EQ(s->state, sick ? SAMPLE_MEASURED : SAMPLE_SET_UP);
		CHECK_EQ(s->ok, sick ? TRI_NO : TRI_UNKNOWN);
		CHECK_STR(s->code, "rdma:retry-exceeded");
		CHECK_HAS(s->note,
			  "mlx5_2 port 1: the other side does not answer (retry exceeded)");
		CHECK_HAS(s->note, words);
	}
	report_release(&r);
}

static void a_way_to_one_memory_is_sick_where_the_port_answers(void)
{
	struct fabric *f = lossy_new("mlx5_2");

	loss.memory = f->memory; /* numa:0 */
	loss.bytes = f->memory_bytes / f->host.n_ends;
	run_and_check(
		f, "mlx5_2:1>numa:0", true,
		"though the port answers with other memory: the path to this memory is faulty");
	lossy_free(f);
}

static void a_silent_port_is_sick_where_others_answer(void)
{
	struct fabric *f = lossy_new("mlx5_2");

	run_and_check(f, NULL, true, "though mlx5_0 port 1 answers itself");
	/* Also when no other one is measured. */
	run_and_check(f, "mlx5_2:1>numa:0", true, "though mlx5_0 port 1 answers itself");
	lossy_free(f);
}

static void an_address_that_does_not_work_is_set_up_wrongly(void)
{
	struct fabric *f = lossy_new("mlx5_2");

	loss.answers_from = GOOD_GID;
	run_and_check(f, "mlx5_2:1>numa:0", false,
		      "from GID index 3 (10.0.0.0), while one from index 5 (10.0.0.9) was");
	lossy_free(f);
}

static void where_nobody_ever_answered_nothing_is_called_sick(void)
{
	struct fabric *f = lossy_new(NULL);
	struct report r;
	size_t i, asked;

	run_and_check(f, "mlx5_2:1>numa:0", false,
		      "from 2 addresses, nor in an earlier run, and no other port here answers "
		      "itself: a faulty port, or loopback that is not set up");
	/* One that is of another kind says nothing of this one. */
	for (i = 0; i < f->sim.n_ports; i++)
		f->sim.ports[i].layer = i == 2 ? RDMA_ETHERNET : RDMA_INFINIBAND;
	loss.device = "mlx5_2";
	run_and_check(f, "mlx5_2:1>numa:0", false, "and no other port here answers itself");
	for (i = 0; i < f->sim.n_ports; i++)
		f->sim.ports[i].layer = RDMA_ETHERNET;

	/* All of them, in the time there is; each port and address is asked once. */
	loss.device = NULL;
	loss.n = 0;
	f->options.cells = NULL;
	fabric_run(f, SET_FULL, BUDGET_US, &r);
	for (i = 0, asked = 0; i < r.n_samples; i++) {
		CHECK(r.samples[i].ok == TRI_UNKNOWN);
		asked += streq(r.samples[i].check, BW) && !r.samples[i].with;
	}
	CHECK_EQ(asked, f->sim.n_ports * CELLS_OF_PORT);
	CHECK(f->seconds <= 20);
	report_release(&r);
	lossy_free(f);
}

/* Every kept rate is of an answer. */
static void a_port_that_answered_before_is_sick(void)
{
	struct fabric *f = lossy_new(NULL);
	struct report r;

	loss.device = "none";
	f->options.cells = "mlx5_2:1>gpu:3";
	fabric_run(f, SET_FULL, BUDGET_US, &r);
	CHECK_EQ(r.samples[0].state, SAMPLE_MEASURED);
	report_release(&r);

	loss.device = NULL;
	run_and_check(f, "mlx5_2:1>numa:0", true, "unlike in an earlier run: the port is faulty");
	lossy_free(f);
}

static const struct test tests[] = {
	TEST(a_way_to_one_memory_is_sick_where_the_port_answers),
	TEST(a_silent_port_is_sick_where_others_answer),
	TEST(an_address_that_does_not_work_is_set_up_wrongly),
	TEST(where_nobody_ever_answered_nothing_is_called_sick),
	TEST(a_port_that_answered_before_is_sick),
};

TEST_SUITE(tests);
