/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the Lease, step by step. */
#include "controller/cluster/kube/lease_state.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/lease_server.h"
#include "tests/unit/test.h"

#define SEC USEC_PER_SEC
#define START_US (1000 * SEC)

static const char *spec_text(const struct lease_server *server, const char *key)
{
	return json_string_value(json_object_get(json_object_get(server->object, "spec"), key));
}

static long long spec_number(const struct lease_server *server, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(server->object, "spec"), key));
}

/* --- one contender, by hand --- */

struct hand {
	struct lease_state s;
	struct lease_server *server;
	uint64_t now_us;
};

static struct hand hand(const char *identity, struct lease_server *server)
{
	const struct lease_times times = lease_times(LEASE_SECONDS);

	return (struct hand){ lease_state(identity, &times), server, START_US };
}

/* Until it waits; the steps as letters. */
static const char *play(struct hand *h)
{
	static const char letters[] = "-rctnL";
	static char said[32];
	size_t n = 0;
	uint64_t wake_us;
	int step;

	while ((step = (int)lease_next(&h->s, h->now_us, &wake_us)) != LEASE_WAIT) {
		CLEANUP(json_freep) json_t *body = NULL;
		struct lease_answer answer = { 0 };

		if (n < sizeof(said) - 1)
			said[n++] = letters[step];
		if (step == LEASE_LOST || n == sizeof(said) - 1)
			break;
		if (step != LEASE_READ)
			body = lease_body(&h->s, (enum lease_step)step, LEASE_NAME, "assay",
					  LEASE_REAL_US + h->now_us - START_US);
		answer.result = lease_server_ask(h->server, step, body);
		answer.object = h->server->object;
		lease_answer(&h->s, &answer, h->now_us, 0);
	}
	said[n] = '\0';
	return said;
}

static void answer_nothing(struct hand *h)
{
	lease_answer(&h->s, &(struct lease_answer){ .result = LEASE_FAILED }, h->now_us, 0);
}

static void hand_release(struct hand *h)
{
	lease_state_release(&h->s);
}

static void the_first_makes_it_and_renews_it_without_reading(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(freep) char *acquired = NULL;

	CHECK_STR(play(&a), "rc");
	CHECK(lease_holds(&a.s, a.now_us));
	CHECK_STR(spec_text(&server, "holderIdentity"), "a");
	CHECK_EQ(spec_number(&server, "leaseDurationSeconds"), 15);
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 0);
	CHECK_STR(spec_text(&server, "renewTime"), "2026-11-22T00:00:00.000007Z");
	acquired = xstrdup(spec_text(&server, "acquireTime"));
	a.now_us += 2 * SEC - 1;
	CHECK_STR(play(&a), "");
	a.now_us += 1;
	CHECK_STR(play(&a), "n");
	CHECK_STR(spec_text(&server, "acquireTime"), acquired);
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 0);
	lease_server_release(&server);
}

static void it_is_ours_for_ten_seconds_from_the_start_of_the_write(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(json_freep) json_t *body = NULL;
	uint64_t wake_us, start_us;

	CHECK_STR(play(&a), "rc");
	a.now_us += 2 * SEC;
	start_us = a.now_us;
	CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_RENEW);
	CHECK_EQ(wake_us, start_us + 8 * SEC); /* should no answer come */
	body = lease_body(&a.s, LEASE_RENEW, LEASE_NAME, "assay", LEASE_REAL_US);
	CHECK_EQ(lease_server_ask(&server, LEASE_RENEW, body), LEASE_OK);
	a.now_us += 4 * SEC; /* the answer takes its time */
	lease_answer(&a.s, &(struct lease_answer){ .object = server.object }, a.now_us, 0);
	CHECK(lease_holds(&a.s, start_us + 10 * SEC - 1));
	CHECK(!lease_holds(&a.s, start_us + 10 * SEC));
	a.now_us = start_us + 10 * SEC;
	CHECK_STR(play(&a), "L");
	CHECK_STR(play(&a), "L");
	lease_server_release(&server);
}

static void an_answer_that_comes_too_late_gains_nothing(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(json_freep) json_t *body = NULL;
	uint64_t wake_us;

	CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_READ);
	lease_answer(&a.s, &(struct lease_answer){ .result = LEASE_ABSENT }, a.now_us, 0);
	CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_CREATE);
	body = lease_body(&a.s, LEASE_CREATE, LEASE_NAME, "assay", LEASE_REAL_US);
	CHECK_EQ(lease_server_ask(&server, LEASE_CREATE, body), LEASE_OK);
	a.now_us += 20 * SEC; /* stopped in between */
	lease_answer(&a.s, &(struct lease_answer){ .object = server.object }, a.now_us, 0);
	CHECK(!lease_holds(&a.s, a.now_us));
	CHECK_STR(play(&a), "rn"); /* it still has our name: renewed, it counts from now on */
	CHECK(lease_holds(&a.s, a.now_us));
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 0);
	lease_server_release(&server);
}

static void another_takes_it_when_it_did_not_change_for_as_long_as_it_says(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(hand_release) struct hand b = hand("b", &server);

	CHECK_STR(play(&a), "rc");
	b.now_us += 5000 * SEC; /* its clock has nothing to do with that of the other */
	CHECK_STR(play(&b), "r");
	CHECK_STR(lease_other(&b.s, b.now_us), "a");
	a.now_us += 8 * SEC;
	b.now_us += 8 * SEC;
	CHECK_STR(play(&a), "n");
	CHECK_STR(play(&b), "r");
	b.now_us += 15 * SEC;
	CHECK_STR(play(&b), "r");
	CHECK(!lease_holds(&b.s, b.now_us));
	b.now_us += 2 * SEC;
	CHECK_STR(play(&b), "rt");
	CHECK(lease_holds(&b.s, b.now_us));
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 1);
	a.now_us += 9 * SEC;
	CHECK_STR(play(&a), "n"); /* refused */
	a.now_us += SEC / 4;
	CHECK_STR(play(&a), "rL"); /* it is another's */
	CHECK(!lease_holds(&a.s, a.now_us));
	lease_server_release(&server);
}

static void one_that_was_given_back_is_free_at_once(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(hand_release) struct hand b = hand("b", &server);
	CLEANUP(json_freep) json_t *body = NULL;

	CHECK_STR(play(&a), "rc");
	body = lease_body_yield(&a.s, LEASE_NAME, "assay", LEASE_REAL_US);
	CHECK_EQ(lease_server_ask(&server, LEASE_RENEW, body), LEASE_OK);
	CHECK_EQ(spec_number(&server, "leaseDurationSeconds"), 1);
	CHECK_STR(play(&b), "rt");
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 1);
	CHECK_EQ(spec_number(&server, "leaseDurationSeconds"), 15);
	lease_server_release(&server);
}

static void after_a_lost_answer_it_is_read_and_the_own_name_is_known(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(json_freep) json_t *body = NULL;
	uint64_t wake_us;

	CHECK_STR(play(&a), "rc");
	a.now_us += 2 * SEC;
	CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_RENEW);
	body = lease_body(&a.s, LEASE_RENEW, LEASE_NAME, "assay", LEASE_REAL_US);
	CHECK_EQ(lease_server_ask(&server, LEASE_RENEW, body), LEASE_OK);
	a.now_us += 5 * SEC;
	answer_nothing(&a);
	CHECK_STR(play(&a), "rn");
	CHECK(lease_holds(&a.s, a.now_us + 10 * SEC - 1));
	lease_server_release(&server);
}

static void one_that_was_removed_is_left_to_whom_it_was(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	CLEANUP(hand_release) struct hand b = hand("b", &server);

	CHECK_STR(play(&a), "rc");
	CHECK_STR(play(&b), "r");
	lease_server_release(&server);
	b.now_us += 3 * SEC;
	CHECK_STR(play(&b), "r"); /* and not made */
	a.now_us += 3 * SEC;
	CHECK_STR(play(&a), "n");
	a.now_us += 2 * SEC;
	CHECK_STR(play(&a), "rc"); /* ours again, and the number does not go back */
	CHECK(!a.s.lost);
	CHECK_EQ(spec_number(&server, "leaseTransitions"), 1);
	lease_server_release(&server);
}

static void labels_of_others_stay(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	const json_t *metadata;

	CHECK_STR(play(&a), "rc");
	metadata = json_object_get(server.object, "metadata");
	(void)json_object_set_new(json_object_get(server.object, "metadata"), "labels",
				  json_pack("{s:s}", "team", "x"));
	lease_server_keep(&server, json_incref(server.object));
	a.now_us += 2 * SEC;
	CHECK_STR(play(&a), "n"); /* refused: it was changed */
	a.now_us += SEC / 4;
	CHECK_STR(play(&a), "rn");
	metadata = json_object_get(server.object, "metadata");
	CHECK_STR(json_string_value(json_object_get(json_object_get(metadata, "labels"), "team")),
		  "x");
	lease_server_release(&server);
}

static void who_is_refused_asks_again_ever_more_rarely(void)
{
	struct lease_server server = { 0 };
	CLEANUP(hand_release) struct hand a = hand("a", &server);
	uint64_t wake_us, first_us = 0;
	unsigned i;

	for (i = 0; i < 10; i++) {
		CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_READ);
		lease_answer(&a.s, &(struct lease_answer){ .result = LEASE_REFUSED }, a.now_us,
			     119 * SEC);
		CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_WAIT);
		first_us = i == 0 ? wake_us - a.now_us : first_us;
		if (i < 9)
			a.now_us = wake_us;
	}
	CHECK(first_us <= 10 * SEC); /* the server has just started, and knows no roles yet */
	CHECK(wake_us - a.now_us >= 100 * SEC);
	CHECK(wake_us - a.now_us <= 130 * SEC);
}

static void garbage_is_no_lease(void)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"metadata\": 7}",
		"{\"metadata\": {\"resourceVersion\": 5}}",
		"{\"spec\": {\"holderIdentity\": \"x\"}}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct lease_server server = { 0 };
		CLEANUP(hand_release) struct hand a = hand("a", &server);
		CLEANUP(json_freep) json_t *object = json_loads(texts[i], 0, NULL);
		uint64_t wake_us;

		CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_READ);
		lease_answer(&a.s, &(struct lease_answer){ .object = object }, a.now_us, 0);
		CHECK_EQ(lease_next(&a.s, a.now_us, &wake_us), LEASE_WAIT);
		CHECK(wake_us > a.now_us);
		CHECK_EQ(lease_next(&a.s, wake_us, &wake_us), LEASE_READ);
	}
}

static const struct test tests[] = {
	TEST(the_first_makes_it_and_renews_it_without_reading),
	TEST(it_is_ours_for_ten_seconds_from_the_start_of_the_write),
	TEST(an_answer_that_comes_too_late_gains_nothing),
	TEST(another_takes_it_when_it_did_not_change_for_as_long_as_it_says),
	TEST(one_that_was_given_back_is_free_at_once),
	TEST(after_a_lost_answer_it_is_read_and_the_own_name_is_known),
	TEST(one_that_was_removed_is_left_to_whom_it_was),
	TEST(labels_of_others_stay),
	TEST(who_is_refused_asks_again_ever_more_rarely),
	TEST(garbage_is_no_lease),
};

TEST_SUITE(tests);
