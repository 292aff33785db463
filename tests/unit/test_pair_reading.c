/* SPDX-License-Identifier: Apache-2.0 */
/* Other traffic that only the receiving one of two hosts can see: both report it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair_guard.h"
#include "probes/rnic_state/nic.h"
#include "tests/unit/pair_hosts.h"
#include "tests/unit/test.h"

/* The port counts this much more each so many posts: far more than what is written. */
enum { FOREIGN_PACKETS = 1000000000, POSTS = 64 };

static const char *const names[] = { "sim0", "sim1", "far0", "far1" };

/* At once: the other host reads it meanwhile. */
static void count_received(const char *device, long packets)
{
	CLEANUP(freep)
	char *path = xasprintf("%s/sys/class/infiniband/%s/ports/1/hw_counters/rcvd_pkts",
			       test_dir(), device);
	CLEANUP(freep) char *text = xasprintf("%ld\n", packets);
	CLEANUP(freep) char *name = xasprintf("fresh-%s", device);
	CLEANUP(freep) char *fresh = test_file(name, text);

	CHECK_EQ(rename(fresh, path), 0);
}

static void lay_counters(void)
{
	static const char *const counters[] = { "rcvd_pkts", "sent_pkts", "completer_retry_err" };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (j = 0; j < ARRAY_SIZE(counters); j++) {
			CLEANUP(freep)
			char *path = xasprintf("sys/class/infiniband/%s/ports/1/hw_counters/%s",
					       names[i], counters[j]);
			CLEANUP(freep) char *made = test_file(path, "0\n");
		}
	}
}

/* While this host writes, somebody else writes to that port too. */
static struct disturbed {
	int (*post)(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err);
	const char *device; /* NULL: nobody does */
	long posts, packets;
} disturbed;

static int post_beside_others(struct rdma_queue *q, const struct rdma_work *work, size_t n,
			      struct err *err)
{
	if (disturbed.device && disturbed.posts++ % POSTS == 0) {
		disturbed.packets += FOREIGN_PACKETS;
		count_received(disturbed.device, disturbed.packets);
	}
	return disturbed.post(q, work, n, err);
}

static int port_is_up(struct rdma_device *d, unsigned port, struct rdma_port *ret, struct err *err)
{
	(void)d;
	(void)port;
	(void)err;
	ret->active = true;
	return 0;
}

static void watch_ports(struct pair_host *h, const char *const *devices)
{
	size_t i;

	h->fabric.ops.hollow = false;
	h->fabric.ops.port_now = port_is_up;
	for (i = 0; i < PAIR_HOST_RAILS; i++)
		(void)snprintf(h->fabric.sim.ports[i].device, RDMA_NAME_SIZE, "%s", devices[i]);
}

/* `writer` (0: the leader) writes, and others to `device` of the other host meanwhile. */
static void run(struct pair_host *hosts, size_t writer, const char *device)
{
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	lay_counters();
	pair_hosts_open(&hosts[0], &hosts[1]);
	watch_ports(&hosts[0], names);
	watch_ports(&hosts[1], names + PAIR_HOST_RAILS);
	disturbed = (struct disturbed){ hosts[writer].fabric.ops.post, device, 0, 0 };
	hosts[writer].fabric.ops.post = post_beside_others;
	pair_hosts_run(&hosts[0], &hosts[1]);
	CHECK_EQ(hosts[0].r, 0);
	CHECK_EQ(hosts[1].r, 0);
	(void)unsetenv("ASSAY_SYSROOT");
}

static void close_both(struct pair_host *hosts)
{
	pair_host_close(&hosts[0]);
	pair_host_close(&hosts[1]);
}

/* The subjects of one pair: as the leader calls it, and as the follower does. */
struct way {
	const char *at[2];
};

static const struct way forth = { { "sim0:1>node-x/far0:1", "node-x/sim0:1>far0:1" } };
static const struct way back = { { "node-x/far0:1>sim0:1", "far0:1>node-x/sim0:1" } };

/* Both hosts, both rates: disturbed at the port in `words`; NULL: measured. */
static void check_way(const struct pair_host *hosts, const struct way *way, const char *words)
{
	static const char *const checks[] = { "rnic_pair.write_bw", "rnic_pair.write_lat" };
	size_t i, j;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < ARRAY_SIZE(checks); j++) {
			const struct sample *s = pair_host_find(&hosts[i], checks[j], way->at[i]);

			CHECK(s);
			if (!s)
				continue;
			CHECK_EQ(s->state, words ? SAMPLE_FOREIGN_TRAFFIC : SAMPLE_MEASURED);
			CHECK_EQ(isnan(s->value), words != NULL);
			CHECK_EQ(s->ok, TRI_UNKNOWN);
			if (words)
				CHECK_HAS(s->note, words);
		}
	}
}

static void our_own_writes_are_no_foreign_traffic(void)
{
	struct pair_host hosts[2];

	run(hosts, 0, NULL);
	check_way(hosts, &forth, NULL);
	check_way(hosts, &back, NULL);
	close_both(hosts);
}

static void what_the_follower_sees_is_told_by_both(void)
{
	struct pair_host hosts[2];

	run(hosts, 0, "far0");
	check_way(hosts, &forth, "node-x: far0 port 1: other traffic of about");
	check_way(hosts, &back, NULL);
	close_both(hosts);
}

static void what_the_leader_sees_is_told_by_both(void)
{
	struct pair_host hosts[2];

	run(hosts, 1, "sim0");
	check_way(hosts, &back, "node-x: sim0 port 1: other traffic of about");
	check_way(hosts, &forth, NULL);
	close_both(hosts);
}

/* By packets of 4096 bytes: what was written, its acknowledgements, and what came twice. */
static void the_counters_are_held_against_what_was_written(void)
{
	static const struct {
		long received;
		struct pair_written written;
		bool foreign;
	} rows[] = {
		{ 1600, { 100, 6553600, 0 }, false }, { 1660, { 100, 6553600, 0 }, false },
		{ 3200, { 100, 6553600, 0 }, true },  { 1720, { 100, 6553600, 1 }, false },
		{ 3200, { 0, 0, 0 }, false }, /* an older version does not say what it wrote */
	};
	struct pair_host hosts[2];
	size_t i;

	run(hosts, 0, NULL);
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair_reading reading = { .side = hosts[1].session.sides,
						.mtu = 4096,
						.window = 8 };
		CLEANUP(freep) char *words = NULL;

		count_received("far0", 0);
		traffic_read(reading.side->port, &nic_none, &reading.before);
		reading.before.at_us -= USEC_PER_SEC;
		count_received("far0", rows[i].received);
		words = pair_reading_end(&reading, &rows[i].written);
		CHECK_EQ(words != NULL, rows[i].foreign);
	}
	(void)unsetenv("ASSAY_SYSROOT");
	close_both(hosts);
}

static const struct test tests[] = {
	TEST(our_own_writes_are_no_foreign_traffic),
	TEST(what_the_follower_sees_is_told_by_both),
	TEST(what_the_leader_sees_is_told_by_both),
	TEST(the_counters_are_held_against_what_was_written),
};

TEST_SUITE(tests);
