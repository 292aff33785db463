/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of two hosts: two sessions over a socket, each with its own simulated fabric. */
#include "probes/rnic_pair/pair_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/pair_hosts.h"
#include "tests/unit/test.h"

/* Every rail both ways, of every check, each once. */
static void check_complete(const struct pair_host *h, size_t checks)
{
	static const char *const subjects[] = {
		"sim0:1>node-x/sim0:1",
		"node-x/sim0:1>sim0:1",
		"sim1:1>node-x/sim1:1",
		"node-x/sim1:1>sim1:1",
	};
	static const char *const names[] = { "rnic_pair.connect", "rnic_pair.write_bw",
					     "rnic_pair.write_lat" };
	size_t i, j;

	CHECK_EQ(h->n_samples, ARRAY_SIZE(subjects) * checks);
	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		for (j = 0; j < checks; j++) {
			const struct sample *s = pair_host_find(h, names[j], subjects[i]);

			CHECK(s);
			if (s)
				CHECK_STR(s->with[0], "node-x");
		}
	}
}

static void both_hosts_tell_the_same(void)
{
	struct pair_host leader, follower;
	const struct sample *a, *b;

	pair_hosts_open(&leader, &follower);
	leader.fabric.sim.bytes_per_s = 25e9;
	follower.fabric.sim.bytes_per_s = 12.5e9;
	leader.fabric.options.size = 32768;
	pair_hosts_run(&leader, &follower);
	CHECK_EQ(leader.r, 0);
	CHECK_EQ(follower.r, 0);
	check_complete(&leader, 3);
	check_complete(&follower, 3);

	/* What leaves the leader is as fast as the leader's fabric; the other way likewise. */
	a = pair_host_find(&leader, "rnic_pair.write_bw", "sim1:1>node-x/sim1:1");
	b = pair_host_find(&follower, "rnic_pair.write_bw", "node-x/sim1:1>sim1:1");
	CHECK_NEAR(a->value / 25e9, 1, 0.02);
	CHECK_NEAR(b->value, a->value, 1);
	CHECK_STR(a->code, "rail:1");
	CHECK_EQ(json_integer_value(json_object_get(b->params, "size")), 32768);
	a = pair_host_find(&leader, "rnic_pair.write_bw", "node-x/sim0:1>sim0:1");
	CHECK_NEAR(a->value / 12.5e9, 1, 0.02);
	CHECK_EQ(json_integer_value(json_object_get(a->params, "size")), 32768);
	pair_host_close(&leader);
	pair_host_close(&follower);
}

static void connect_only_is_asked_for_by_the_leader(void)
{
	struct pair_host leader, follower;

	pair_hosts_open(&leader, &follower);
	leader.fabric.options.connect_only = true;
	pair_hosts_run(&leader, &follower);
	CHECK_EQ(leader.r, 0);
	CHECK_EQ(follower.r, 0);
	check_complete(&leader, 1);
	check_complete(&follower, 1);
	pair_host_close(&leader);
	pair_host_close(&follower);
}

/* A port that is down on one host is no port of the test, and moves no other. */
static void ports_of_the_same_name_meet_whatever_is_down(void)
{
	static const char *const names[2][2] = { { "mlx5_0", "mlx5_3" }, { "mlx5_2", "mlx5_3" } };
	struct pair_host leader, follower;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		pair_hosts_open(&leader, &follower);
		for (i = 0; i < PAIR_HOST_RAILS; i++) {
			(void)snprintf(leader.fabric.sim.ports[i].device, RDMA_NAME_SIZE, "%s",
				       names[k][i]);
			(void)snprintf(follower.fabric.sim.ports[i].device, RDMA_NAME_SIZE, "%s",
				       names[!k][i]);
		}
		leader.session.n_sides = k ? 2 : 1;
		leader.session.sides += k ? 0 : 1; /* mlx5_3 alone, its first port */
		follower.fabric.sides[1].rail = 1;
		pair_hosts_run(&leader, &follower);
		CHECK_EQ(leader.r, 0);
		CHECK_EQ(follower.r, 0);
		CHECK_EQ(leader.n_samples, 2 * 3);
		CHECK_EQ(follower.n_samples, 2 * 3);
		for (i = 0; i < leader.n_samples; i++) {
			CHECK_HAS(leader.samples[i].subject, "mlx5_3:1>");
			CHECK_HAS(follower.samples[i].subject, "mlx5_3:1");
			CHECK_STR(leader.samples[i].code, "rail:1");
			CHECK_STR(follower.samples[i].code, "rail:1");
			CHECK_EQ(leader.samples[i].state, SAMPLE_MEASURED);
		}
		pair_host_close(&leader);
		pair_host_close(&follower);
	}
}

/* Memory of a side that only connects, or of a software device, is smaller. */
static void the_smaller_memory_of_both_is_what_they_go_round_in(void)
{
	static const struct {
		uint64_t leader, follower;
		bool enough;
	} cases[] = {
		{ 1 << 20, 256 << 10, true },
		{ 256 << 10, 1 << 20, true },
		{ 1 << 20, 32 << 10, false }, /* less than one request */
	};
	struct pair_host leader, follower;
	const struct sample *s;
	size_t i, k;

	for (k = 0; k < ARRAY_SIZE(cases); k++) {
		pair_hosts_open(&leader, &follower);
		for (i = 0; i < PAIR_HOST_RAILS; i++) {
			pair_side_close(&leader.fabric.sides[i]);
			pair_side_open(&leader.fabric.sides[i], &leader.fabric.host,
				       cases[k].leader);
			pair_side_close(&follower.fabric.sides[i]);
			pair_side_open(&follower.fabric.sides[i], &follower.fabric.host,
				       cases[k].follower);
		}
		pair_hosts_run(&leader, &follower);
		CHECK_EQ(leader.r, 0);
		check_complete(&leader, 3);
		check_complete(&follower, 3);
		for (i = 0; i < leader.n_samples; i++) {
			s = &leader.samples[i];
			CHECK_EQ(s->state, cases[k].enough || streq(s->check, "rnic_pair.connect")
						   ? SAMPLE_MEASURED
						   : SAMPLE_SET_UP);
			if (s->state == SAMPLE_SET_UP)
				CHECK_HAS(s->note, "has 32768 bytes of memory, but 65536");
		}
		pair_host_close(&leader);
		pair_host_close(&follower);
	}
}

static int no_way(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	(void)q;
	(void)peer;
	return err_errno(err, EHOSTUNREACH, "sim0 port 1: queue pair to RTR");
}

/* Whoever of the two cannot connect, both say why, and no link is blamed. */
static void what_cannot_be_set_up_is_told_by_both(void)
{
	struct pair_host leader, follower;
	size_t i, j;

	for (j = 0; j < 2; j++) {
		pair_hosts_open(&leader, &follower);
		(j ? &follower : &leader)->fabric.ops.queue_connect = no_way;
		pair_hosts_run(&leader, &follower);
		CHECK_EQ(leader.r, 0);
		CHECK_EQ(follower.r, 0);
		check_complete(&leader, 3);
		check_complete(&follower, 3);
		for (i = 0; i < leader.n_samples; i++) {
			CHECK_EQ(leader.samples[i].state, SAMPLE_SET_UP);
			CHECK_EQ(leader.samples[i].ok, TRI_UNKNOWN);
			CHECK_HAS(leader.samples[i].note, "No path from sim");
			CHECK_EQ(follower.samples[i].state, SAMPLE_SET_UP);
			CHECK_HAS(follower.samples[i].note, "No path from sim");
		}
		pair_host_close(&leader);
		pair_host_close(&follower);
	}
}

static void a_dead_path_is_sick_on_both_sides(void)
{
	struct pair_host leader, follower;
	const struct sample *s;

	pair_hosts_open(&leader, &follower);
	follower.fabric.sim.fail_at = 1;
	follower.fabric.sim.fail_status = RDMA_RETRY_EXCEEDED;
	pair_hosts_run(&leader, &follower);
	CHECK_EQ(leader.r, 0);
	check_complete(&leader, 3);
	check_complete(&follower, 3);
	s = pair_host_find(&leader, "rnic_pair.connect", "node-x/sim0:1>sim0:1");
	CHECK_EQ(s->state, SAMPLE_MEASURED);
	CHECK_EQ(s->ok, TRI_NO);
	CHECK_HAS(s->note, "no path from sim0 to node-x");
	CHECK_EQ(pair_host_find(&follower, "rnic_pair.connect", "sim0:1>node-x/sim0:1")->ok, TRI_NO);
	CHECK_EQ(pair_host_find(&leader, "rnic_pair.write_bw", "node-x/sim0:1>sim0:1")->state,
		 SAMPLE_ABORTED);
	/* The other way, and the other rail, are not. */
	CHECK_EQ(pair_host_find(&leader, "rnic_pair.connect", "sim0:1>node-x/sim0:1")->ok, TRI_YES);
	CHECK_EQ(pair_host_find(&leader, "rnic_pair.connect", "node-x/sim1:1>sim1:1")->ok, TRI_YES);
	pair_host_close(&leader);
	pair_host_close(&follower);
}

/* Killed while the other writes to it: what that one sees then is a dead path. */
static struct pair_host *victim;

static int post_to_the_killed(struct rdma_queue *q, const struct rdma_work *work, size_t n,
			      struct err *err)
{
	(void)shutdown(victim->session.line.fd, SHUT_RDWR);
	return victim->fabric.ops.post(q, work, n, err);
}

static void a_side_that_is_killed_ends_both_and_blames_nobody(void)
{
	struct pair_host leader, follower;
	size_t i, j;

	for (j = 0; j < 2; j++) {
		struct pair_host *other = j ? &leader : &follower;

		pair_hosts_open(&leader, &follower);
		victim = j ? &follower : &leader;
		other->fabric.ops.post = post_to_the_killed;
		other->fabric.sim.fail_at = 1;
		other->fabric.sim.fail_status = RDMA_RETRY_EXCEEDED;
		pair_hosts_run(&leader, &follower);
		CHECK_EQ(other->r, -ECONNRESET);
		CHECK_HAS(other->err.msg, "node-x (the other) closed the connection");
		CHECK_EQ(pair_step_emit_rest(&other->session, SAMPLE_ABORTED, other->err.msg), 0);
		check_complete(other, 3);
		for (i = 0; i < other->n_samples; i++)
			CHECK(other->samples[i].ok != TRI_NO);
		pair_host_close(&leader);
		pair_host_close(&follower);
	}
}

/* Says one thing instead of a hello, or after one, and then nothing. */
static int session_with(const char *const *lines, size_t n, bool leads, struct err *err)
{
	struct oob stranger = { .fd = -1, .name = "stranger" };
	struct pair_host h;
	size_t i;
	int fds[2], r;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	stranger.fd = fds[1];
	pair_host_open(&h, fds[0], leads);
	for (i = 0; i < n; i++)
		CHECK_EQ(oob_send(&stranger, lines[i], strlen(lines[i]),
				  clock_mono_us() + PAIR_SOON_US, NULL),
			 0);
	CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
	r = pair_session_run(&h.session, err);
	oob_close(&stranger);
	pair_host_close(&h);
	return r;
}

#define HELLO                                                                              \
	"{\"v\":1,\"kind\":\"hello\",\"node\":\"evil\",\"size\":65536,\"qps\":1,"          \
	"\"depth\":128,\"mtu\":0,\"connect_only\":false,\"budget_us\":9000000,\"rails\":[" \
	"{\"device\":\"mlx5_0\",\"port\":1}]}"

static void a_stranger_with_the_token_is_still_held_to_the_rules(void)
{
	static const struct {
		bool leads;
		const char *lines[3];
		size_t n;
		int r;
		const char *words;
	} cases[] = {
		{ true, { "" }, 0, -ECONNRESET, "closed the connection" },
		{ true, { "hello" }, 1, -EINVAL, "the other: message" },
		{ true, { "[]" }, 1, -EINVAL, "message: " },
		{ true, { "{\"v\":2,\"kind\":\"hello\"}" }, 1, -EINVAL, "expected version 1" },
		{ true, { "{\"v\":1,\"kind\":\"ack\"}" }, 1, -EPROTO, "begin with a hello" },
		{ true, { HELLO, "{\"v\":1,\"kind\":\"bye\"}" }, 2, -EPROTO, "an unexpected answer" },
		{ false, { HELLO, "{\"v\":1,\"kind\":\"ready\"}" }, 2, -EPROTO, "is not ready" },
		{ false, { HELLO, "{\"v\":1,\"kind\":\"offer\"}" }, 2, -EINVAL, "offer" },
		{ false,
		  { HELLO, "{\"v\":1,\"kind\":\"ack\"}" },
		  2,
		  -EPROTO,
		  "an unexpected message" },
		{ false, { HELLO, HELLO }, 2, -EPROTO, "an unexpected message" },
		{ false,
		  { HELLO, "{\"v\":1,\"kind\":\"final\",\"rail\":1,\"forth\":true,\"samples\":["
			   "{\"v\":1,\"check\":\"a.b\",\"subject\":\"c\",\"value\":null,"
			   "\"ok\":null,\"state\":\"busy\"}]}" },
		  2,
		  -EPROTO,
		  "a rail that does not exist" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(session_with(cases[i].lines, cases[i].n, cases[i].leads, &err), cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
	}
}

static void names_that_would_make_other_subjects_are_refused(void)
{
	static const char *const bad[] = {
		"{\"v\":1,\"kind\":\"hello\",\"node\":\"a>b\",\"size\":8,\"qps\":1,\"depth\":1,"
		"\"mtu\":0,\"connect_only\":true,\"budget_us\":1,\"rails\":[]}",
		"{\"v\":1,\"kind\":\"hello\",\"node\":\"a\",\"size\":8,\"qps\":1,\"depth\":1,"
		"\"mtu\":0,\"connect_only\":true,\"budget_us\":1,\"rails\":[{\"device\":\"a/b\","
		"\"port\":1}]}",
		"{\"v\":1,\"kind\":\"hello\",\"node\":\"a\",\"size\":8,\"qps\":17,\"depth\":1,"
		"\"mtu\":0,\"connect_only\":true,\"budget_us\":1,\"rails\":[]}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pair_message m;
		struct err err = ERR_INIT;

		CHECK_EQ(pair_message_decode(bad[i], strlen(bad[i]), &m, &err), -EINVAL);
		CHECK_HAS(err.msg, "message: ");
	}
}

static const struct test tests[] = {
	TEST(both_hosts_tell_the_same),
	TEST(connect_only_is_asked_for_by_the_leader),
	TEST(ports_of_the_same_name_meet_whatever_is_down),
	TEST(the_smaller_memory_of_both_is_what_they_go_round_in),
	TEST(what_cannot_be_set_up_is_told_by_both),
	TEST(a_dead_path_is_sick_on_both_sides),
	TEST(a_side_that_is_killed_ends_both_and_blames_nobody),
	TEST(a_stranger_with_the_token_is_still_held_to_the_rules),
	TEST(names_that_would_make_other_subjects_are_refused),
};

TEST_SUITE(tests);
