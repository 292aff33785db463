/* SPDX-License-Identifier: Apache-2.0 */
/* The limits on the cost of unauthenticated clients. */
#include "controller/auth/kube_identity.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/identity_world.h"
#include "tests/unit/test.h"

static void only_so_many_are_asked_for_at_once(void)
{
	struct told told = { 0 }, last = { 0 };
	unsigned i;

	begin();
	for (i = 0; i <= KUBE_IDENTITY_UNDER_WAY_MAX; i++) {
		CLEANUP(freep) char *token = token_of(i, USEC_PER_HOUR);
		char origin[16];

		(void)snprintf(origin, sizeof(origin), "o%u", i);
		ask_from(token, origin, i == KUBE_IDENTITY_UNDER_WAY_MAX ? &last : &told);
	}
	CHECK_EQ(server.n, KUBE_IDENTITY_UNDER_WAY_MAX);
	CHECK_EQ(last.n, 1);
	CHECK_EQ(last.status, 503);
	/* One ends: there is room for another. */
	answer_with(CLUSTER_DONE, UNKNOWN, 0);
	{
		CLEANUP(freep) char *token = token_of(i, USEC_PER_HOUR);

		ask_from(token, "b", &last);
	}
	CHECK_EQ(server.n, KUBE_IDENTITY_UNDER_WAY_MAX + 1);
	end();
}

static void a_flood_of_one_address_hurts_no_other(void)
{
	struct told flood = { 0 }, good = { 0 };
	CLEANUP(freep) char *token = NULL;
	unsigned i, asked;

	begin();
	for (i = 0; i < 10 * KUBE_IDENTITY_BURST; i++) {
		CLEANUP(freep) char *bad = token_of(i, USEC_PER_HOUR);

		asked = (unsigned)server.n;
		ask_from(bad, "bad", &flood);
		if (server.n > asked)
			answer_with(CLUSTER_DONE, UNKNOWN, 0);
	}
	CHECK_EQ(server.n, KUBE_IDENTITY_BURST);
	CHECK_EQ(flood.n, 10 * KUBE_IDENTITY_BURST);
	CHECK_EQ(flood.status, 429);
	CHECK_EQ(token_review->ops->counts(token_review).limited, 9 * KUBE_IDENTITY_BURST);
	token = token_of(i, USEC_PER_HOUR);
	ask_from(token, "good", &good);
	CHECK_EQ(server.n, KUBE_IDENTITY_BURST + 1);
	/* A second later one more. */
	server.now_us += USEC_PER_SEC;
	for (i = 0; i < 3; i++) {
		CLEANUP(freep) char *bad = token_of(10000 + i, USEC_PER_HOUR);

		ask_from(bad, "bad", &flood);
	}
	CHECK_EQ(server.n, KUBE_IDENTITY_BURST + 2);
	end();
}

static void a_flood_of_many_addresses_is_limited_in_all(void)
{
	struct told told = { 0 };
	unsigned i;

	begin();
	for (i = 0; i < 2 * KUBE_IDENTITY_BURST_ALL; i++) {
		CLEANUP(freep) char *bad = token_of(i, USEC_PER_HOUR);
		size_t asked = server.n;
		char origin[16];

		(void)snprintf(origin, sizeof(origin), "o%u", i);
		ask_from(bad, origin, &told);
		if (server.n > asked)
			answer_with(CLUSTER_DONE, UNKNOWN, 0);
	}
	CHECK_EQ(server.n, KUBE_IDENTITY_BURST_ALL);
	CHECK_EQ(told.status, 503);
	end();
}

static void a_fleet_behind_one_address_is_not_limited(void)
{
	struct told told = { 0 };
	unsigned i;

	begin();
	for (i = 0; i < 2 * KUBE_IDENTITY_BURST_ALL; i++) {
		CLEANUP(freep) char *token = token_of(i, USEC_PER_HOUR);

		ask_and_answer(token, AGENT, POD, &told);
		CHECK_EQ(told.status, 0);
	}
	CHECK_EQ(told.n, 2 * KUBE_IDENTITY_BURST_ALL);
	end();
}

/* The address takes nothing from the allowance when the server did not say. */
static void a_failing_server_costs_nobody_an_allowance(void)
{
	struct told told = { 0 };
	unsigned i;

	begin();
	for (i = 0; i < 2 * KUBE_IDENTITY_BURST; i++) {
		CLEANUP(freep) char *token = token_of(1, USEC_PER_HOUR);

		ask(token, &told);
		answer_with(CLUSTER_AGAIN, NULL, 0);
		CHECK_EQ(told.status, 503);
		server.now_us += KUBE_IDENTITY_REST_US;
	}
	CHECK_EQ(server.n, 2 * KUBE_IDENTITY_BURST);
	end();
}

static void strangers_push_out_nobody_who_is_known(void)
{
	CLEANUP(freep) char *kept = NULL;
	struct told told = { 0 }, told_kept = { 0 };
	unsigned i;

	begin();
	authz.for_us = USEC_PER_HOUR;
	kept = token_of(1, 2 * USEC_PER_HOUR);
	ask_and_answer(kept, AGENT, POD, &told_kept);
	for (i = 0; i < KUBE_IDENTITY_REFUSED_MAX + 100; i++) {
		CLEANUP(freep) char *bad = token_of(100 + i, USEC_PER_HOUR);

		server.now_us += USEC_PER_SEC;
		ask_and_answer(bad, UNKNOWN, NULL, &told);
		CHECK_EQ(told.status, 401);
	}
	CHECK_EQ(token_review->ops->counts(token_review).kept, KUBE_IDENTITY_REFUSED_MAX + 1);
	i = (unsigned)server.n;
	ask(kept, &told_kept);
	CHECK_EQ(told_kept.n, 2);
	CHECK_EQ(told_kept.status, 0);
	CHECK_EQ(server.n, i);
	end();
}

static const struct test tests[] = {
	TEST(only_so_many_are_asked_for_at_once),
	TEST(a_flood_of_one_address_hurts_no_other),
	TEST(a_flood_of_many_addresses_is_limited_in_all),
	TEST(a_fleet_behind_one_address_is_not_limited),
	TEST(a_failing_server_costs_nobody_an_allowance),
	TEST(strangers_push_out_nobody_who_is_known),
};

TEST_SUITE(tests);
