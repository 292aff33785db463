/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/join.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/net/pem_sum.h"
#include "tests/unit/test.h"

#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* A host that may join. */
static struct join_facts good(void)
{
	return (struct join_facts){
		.node = "gpu-1",
		.sha256 = SUM_A,
		.now_us = 100,
		.token_known = true,
		.token = 7,
		.names = "gpu-*",
		.hosts = 2,
		.used = 1,
		.expires_us = 101,
	};
}

static enum join_answer decided(const struct join_facts *f, struct err *why)
{
	*why = (struct err)ERR_INIT;
	return join_decide(f, why);
}

static void each_rule_refuses_by_itself(void)
{
	struct err why;
	struct join_facts f = good();

	CHECK_EQ(decided(&f, &why), JOIN_LET_IN);
	f.token_known = false;
	CHECK_EQ(decided(&f, &why), JOIN_UNKNOWN);
	CHECK_HAS(why.msg, "assayctl token create");
	f = good();
	f.revoked = true;
	CHECK_EQ(decided(&f, &why), JOIN_OVER);
	CHECK_HAS(why.msg, "revoked");
	f = good();
	f.now_us = 101;
	CHECK_EQ(decided(&f, &why), JOIN_OVER);
	CHECK_HAS(why.msg, "expired");
	f = good();
	f.used = 2;
	CHECK_EQ(decided(&f, &why), JOIN_OVER);
	CHECK_HAS(why.msg, "--hosts");
	f = good();
	f.node = "login-1";
	CHECK_EQ(decided(&f, &why), JOIN_NAME);
	f = good();
	f.listed = true;
	CHECK_EQ(decided(&f, &why), JOIN_TAKEN);
	f = good();
	f.sum_taken = true;
	CHECK_EQ(decided(&f, &why), JOIN_TAKEN);
	CHECK_HAS(why.msg, "gpu-1: another host");
}

static void a_name_that_speaks_for_a_host_is_refused_until_it_is_reset(void)
{
	struct join_facts f = good();
	struct err why;

	f.reported = true;
	CHECK_EQ(decided(&f, &why), JOIN_TAKEN);
	CHECK_HAS(why.msg, "assayctl token reset");
	f.was_reset = true;
	CHECK_EQ(decided(&f, &why), JOIN_LET_IN);
	f = good();
	f.has_joined = true;
	f.joined_sha256 = SUM_B;
	f.joined_token = 7;
	CHECK_EQ(decided(&f, &why), JOIN_TAKEN);
}

/* An answer that was lost: the same host, the same tokens; also when that was the last place. */
static void the_same_host_that_asks_again_is_in_already(void)
{
	struct join_facts f = good();
	struct err why;

	f.has_joined = f.reported = true;
	f.joined_sha256 = SUM_A;
	f.joined_token = 7;
	f.used = f.hosts;
	f.now_us = f.expires_us + 1;
	CHECK_EQ(decided(&f, &why), JOIN_AGAIN);
	f.joined_token = 8; /* by another join token: who has this one may not learn of it */
	CHECK(decided(&f, &why) != JOIN_AGAIN);
	f.joined_token = 7;
	f.token_known = false;
	CHECK_EQ(decided(&f, &why), JOIN_UNKNOWN);
}

/* Of all that can be so at once: who is let in has a valid join token for a name that is free. */
static void nobody_is_let_in_who_should_not(void)
{
	unsigned bits, let = 0;

	for (bits = 0; bits < 1U << 11; bits++) {
		struct join_facts f = good();
		enum join_answer said;
		struct err why;

		f.token_known = bits & 1;
		f.revoked = bits & 2;
		f.now_us = bits & 4 ? 200 : 100;
		f.used = bits & 8 ? 2 : 1;
		f.node = bits & 16 ? "login-1" : "gpu-1";
		f.listed = bits & 32;
		f.has_joined = bits & 64;
		f.joined_sha256 = bits & 128 ? SUM_A : SUM_B;
		f.joined_token = 7;
		f.reported = bits & 256;
		f.was_reset = !f.has_joined && bits & 512;
		f.sum_taken = bits & 1024;
		said = decided(&f, &why);
		if (said == JOIN_LET_IN) {
			let++;
			CHECK(f.token_known && !f.revoked && f.now_us < f.expires_us &&
			      f.used < f.hosts && !f.listed && !f.has_joined && !f.sum_taken);
			CHECK_STR(f.node, "gpu-1");
			CHECK(!f.reported || f.was_reset);
		}
		CHECK((said == JOIN_LET_IN || said == JOIN_AGAIN) == (why.msg[0] == '\0'));
	}
	CHECK(let > 0);
}

static void a_sum_is_64_digits(void)
{
	CHECK(join_sum_ok(SUM_A));
	CHECK(!join_sum_ok(NULL));
	CHECK(!join_sum_ok(""));
	CHECK(!join_sum_ok(SUM_A "a"));
	CHECK(!join_sum_ok("Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"

static void the_sum_of_a_certificate_is_that_of_its_bytes(void)
{
	static const char *const bad[] = {
		"",
		"text",
		BEGIN "YWJj\n",
		BEGIN END,
		BEGIN "!!\n" END,
		BEGIN "YWJj\n" END BEGIN "YWJj\n" END,
		"-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----\n" BEGIN "YWJj\n" END,
	};
	char sum[SHA256_HEX_SIZE];
	struct err err;
	size_t i;

	/* FIPS 180-4's example: "abc". */
	CHECK_EQ(pem_sum("a note\n" BEGIN "YWJj\n" END, sum, &err), 0);
	CHECK_STR(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		err = (struct err)ERR_INIT;
		CHECK(pem_sum(bad[i], sum, &err) < 0);
		CHECK(err.msg[0]);
	}
}

static const struct test tests[] = {
	TEST(each_rule_refuses_by_itself),
	TEST(a_name_that_speaks_for_a_host_is_refused_until_it_is_reset),
	TEST(the_same_host_that_asks_again_is_in_already),
	TEST(nobody_is_let_in_who_should_not),
	TEST(a_sum_is_64_digits),
	TEST(the_sum_of_a_certificate_is_that_of_its_bytes),
};

TEST_SUITE(tests);
