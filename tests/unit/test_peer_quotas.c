/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/peer_quotas.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/unit/test.h"

/* Enters whom `text` names. */
static struct origin *enter(struct peer_quotas *p, const char *text, unsigned max)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return peer_quotas_enter(p, (const struct sockaddr *)&in, max);
	CHECK_EQ(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return peer_quotas_enter(p, (const struct sockaddr *)&in6, max);
}

static void an_address_has_its_share_and_no_more(void)
{
	CLEANUP(peer_quotas_release) struct peer_quotas p = { 0 };
	struct origin *first = enter(&p, "10.0.0.1", 2);

	CHECK(first != NULL);
	CHECK(enter(&p, "10.0.0.1", 2) == first);
	CHECK(enter(&p, "10.0.0.1", 2) == NULL);
	CHECK(enter(&p, "10.0.0.2", 2) != NULL);
	CHECK_EQ(p.n, 2);
	peer_quotas_leave(&p, first);
	CHECK(enter(&p, "10.0.0.1", 2) == first);
	CHECK(enter(&p, "10.0.0.3", 0) == NULL);
	CHECK_EQ(p.n, 2);
}

static void nothing_is_kept_of_who_has_left(void)
{
	CLEANUP(peer_quotas_release) struct peer_quotas p = { 0 };
	struct origin *a = enter(&p, "10.0.0.1", 9), *b = enter(&p, "10.0.0.1", 9);

	peer_quotas_leave(&p, a);
	CHECK_EQ(p.n, 1);
	peer_quotas_leave(&p, b);
	CHECK_EQ(p.n, 0);
	peer_quotas_leave(&p, NULL);
}

static void a_site_is_one_origin(void)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true },
		{ "2001:db8:1:2::1", "2001:db8:1:3::1", false },
		{ "::ffff:10.0.0.1", "10.0.0.1", true },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(peer_quotas_release) struct peer_quotas p = { 0 };

		CHECK_EQ(enter(&p, rows[i].a, 9) == enter(&p, rows[i].b, 9), rows[i].same);
	}
}

static const struct test tests[] = {
	TEST(an_address_has_its_share_and_no_more),
	TEST(nothing_is_kept_of_who_has_left),
	TEST(a_site_is_one_origin),
};

TEST_SUITE(tests);
