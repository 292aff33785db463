/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a port's source address. */
#include <arpa/inet.h>
#include <errno.h>

#include "lib/base/err.h"
#include "probes/rdma/gid.h"
#include "tests/unit/test.h"

static const struct rdma_port ethernet = { .device = "mlx5_0", .number = 1, .layer = RDMA_ETHERNET };

static struct rdma_gid gid(unsigned index, int type, const char *text)
{
	struct rdma_gid g = { .index = index, .type = type };

	CHECK_EQ(inet_pton(AF_INET6, text, g.raw), 1);
	return g;
}

static void the_better_kind_of_address_is_chosen(void)
{
	const struct rdma_gid link1 = gid(0, RDMA_GID_ROCE_V1, "fe80::1"),
			      link2 = gid(1, RDMA_GID_ROCE_V2, "fe80::1"),
			      four1 = gid(2, RDMA_GID_ROCE_V1, "::ffff:10.0.0.1"),
			      four2 = gid(3, RDMA_GID_ROCE_V2, "::ffff:10.0.0.1"),
			      six2 = gid(4, RDMA_GID_ROCE_V2, "2001:db8::1"),
			      late2 = gid(9, RDMA_GID_ROCE_V2, "::ffff:10.0.0.9");
	const struct {
		struct rdma_gid gids[4];
		size_t n;
		int index;
		const char *words;
	} cases[] = {
		{ { link1, link2, four1, four2 }, 4, 3, "index 3, RoCE v2 IPv4 10.0.0.1: the best" },
		{ { six2, link2 }, 2, 4, "RoCE v2 global IPv6 2001:db8::1" },
		{ { link1, link2 }, 2, 1, "RoCE v2 link-local fe80::1" },
		{ { four1, link2 }, 2, 1, "RoCE v2 link-local" }, /* v1 is not routed */
		{ { late2, four2 }, 2, 3, "10.0.0.1" },		  /* the lowest of equals */
		{ { link1 }, 1, 0, "the only one" },
	};
	struct gid_choice choice;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ(gid_choose(&ethernet, cases[i].gids, cases[i].n, -1, &choice, NULL), 0);
		CHECK_EQ(choice.index, cases[i].index);
		CHECK_HAS(choice.reason, cases[i].words);
	}
}

static void an_index_that_was_asked_for_is_taken_or_refused(void)
{
	const struct rdma_gid gids[] = { gid(0, RDMA_GID_ROCE_V1, "fe80::1"),
					 gid(3, RDMA_GID_ROCE_V2, "::ffff:10.0.0.1") };
	struct gid_choice choice;
	struct err err = ERR_INIT;

	CHECK_EQ(gid_choose(&ethernet, gids, 2, 0, &choice, NULL), 0);
	CHECK_EQ(choice.index, 0);
	CHECK_HAS(choice.reason, "as asked for");
	CHECK_EQ(gid_choose(&ethernet, gids, 2, 7, &choice, &err), -EADDRNOTAVAIL);
	CHECK_HAS(err.msg, "mlx5_0 port 1 has no GID of index 7");
}

static void a_port_without_an_address_says_what_to_do(void)
{
	struct gid_choice choice;
	struct err err = ERR_INIT;

	CHECK_EQ(gid_choose(&ethernet, NULL, 0, -1, &choice, &err), -EADDRNOTAVAIL);
	CHECK_HAS(err.msg, "give its network interface an address");
}

static void infiniband_needs_none(void)
{
	const struct rdma_port ib = { .device = "mlx5_0", .number = 1, .layer = RDMA_INFINIBAND };
	const struct rdma_gid gids[] = { gid(0, RDMA_GID_IB, "fe80::1") };
	struct gid_choice choice;

	CHECK_EQ(gid_choose(&ib, gids, 1, -1, &choice, NULL), 0);
	CHECK_EQ(choice.index, -1);
	CHECK_HAS(choice.reason, "by LID");
}

/* IBV_QPF_GRH_REQUIRED: without a GRH what is sent to it is lost, which looks like a dead path. */
static void infiniband_that_is_reached_by_gid_has_one(void)
{
	const struct rdma_port ib = {
		.device = "mlx5_0", .number = 1, .layer = RDMA_INFINIBAND, .wants_grh = true
	};
	const struct rdma_gid gids[] = { gid(0, RDMA_GID_IB, "fe80::1"),
					 gid(1, RDMA_GID_IB, "fe80::2") };
	struct gid_choice choice;
	struct err err = ERR_INIT;

	CHECK_EQ(gid_choose(&ib, gids, 2, -1, &choice, NULL), 0);
	CHECK_EQ(choice.index, 0);
	CHECK_HAS(choice.reason, "index 0, IB link-local fe80::1");
	CHECK_EQ(gid_choose(&ib, NULL, 0, -1, &choice, &err), -EADDRNOTAVAIL);
	CHECK_HAS(err.msg, "has no GID: has the subnet manager seen it?");
}

static const struct test tests[] = {
	TEST(the_better_kind_of_address_is_chosen),
	TEST(an_index_that_was_asked_for_is_taken_or_refused),
	TEST(a_port_without_an_address_says_what_to_do),
	TEST(infiniband_needs_none),
	TEST(infiniband_that_is_reached_by_gid_has_one),
};

TEST_SUITE(tests);
