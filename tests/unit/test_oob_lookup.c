/* SPDX-License-Identifier: Apache-2.0 */
/* Names are resolved in time, or not at all. The resolver is fake: no network is used. */
#include "probes/rdma/oob_lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/oob.h"
#include "tests/unit/test.h"

#define SOON_US (20 * USEC_PER_SEC)
#define SHORT_US (50 * USEC_PER_MSEC)

/* A name server that is not there comes back when this is closed. */
static int silence[2];
static int came_back[2];

static int answer(const char *address, const char *port, const struct addrinfo *hints,
		  struct addrinfo **ret)
{
	struct sockaddr_in *in = xcalloc(1, sizeof(*in));
	struct addrinfo *a = xcalloc(1, sizeof(*a));

	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	in->sin_addr.s_addr = htonl(address[0] == '1' ? INADDR_LOOPBACK : INADDR_ANY);
	a->ai_family = AF_INET;
	a->ai_socktype = hints->ai_socktype;
	a->ai_addrlen = sizeof(*in);
	a->ai_addr = (struct sockaddr *)in;
	*ret = a;
	return 0;
}

/* In place of the C library's. */
int getaddrinfo(const char *restrict host, const char *restrict port,
		const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
	struct pollfd wait = { .fd = silence[0], .events = POLLIN };

	if (starts_with(host, "127."))
		return answer(host, port, hints, ret);
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	if (streq(host, "here.example"))
		return answer("1", port, hints, ret);
	if (streq(host, "broken.example"))
		return EAI_AGAIN;
	if (!streq(host, "silent.example"))
		return EAI_NONAME;
	(void)poll(&wait, 1, clock_left_ms(clock_mono_us() + SOON_US));
	(void)answer("1", port, hints, ret);
	return 0;
}

void freeaddrinfo(struct addrinfo *a)
{
	const bool was_late = came_back[1] && a->ai_addr &&
			      ((struct sockaddr_in *)a->ai_addr)->sin_port == htons(9);

	free(a->ai_addr);
	free(a);
	if (was_late)
		(void)close(came_back[1]);
}

static void numbers_and_names_are_found(void)
{
	static const char *const addresses[] = { "127.0.0.1:7", "[127.0.0.1]:7", "here.example:7" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct addrinfo *found = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(oob_lookup(addresses[i], false, clock_mono_us() + SOON_US, &found, &err),
			 0);
		CHECK_STR(err.msg, "");
		CHECK(found);
		if (found)
			freeaddrinfo(found);
	}
}

/* Nobody is asked for a number: it is found when there is no time left. */
static void a_number_takes_no_time(void)
{
	struct addrinfo *found = NULL;

	CHECK_EQ(oob_lookup("127.0.0.1:7", true, clock_mono_us(), &found, NULL), 0);
	CHECK(found);
	if (found)
		freeaddrinfo(found);
}

static void what_is_not_found_says_why(void)
{
	static const struct {
		const char *address;
		int r;
		const char *words;
	} cases[] = {
		{ "nowhere.example:7", -EINVAL, "'nowhere.example:7': " },
		{ "broken.example:7", -EHOSTUNREACH, "broken.example:7: " },
		{ "here.example", -EINVAL, "'here.example' is not HOST:PORT" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addrinfo *found = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(oob_lookup(cases[i].address, false, clock_mono_us() + SOON_US, &found,
				    &err),
			 cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
		CHECK(!found);
	}
}

/* Without a deadline this would take as long as the resolver likes; here until it is let go. */
static void a_name_server_that_is_not_there_is_not_waited_for(void)
{
	struct pollfd wait = { .events = POLLIN };
	struct oob line = { .fd = -1 };
	char bound[OOB_NAME_SIZE];
	struct err err = ERR_INIT;
	int fd = -1;

	CHECK_EQ(pipe(silence), 0);
	CHECK_EQ(pipe(came_back), 0);
	wait.fd = came_back[0];
	CHECK_EQ(oob_dial("silent.example:8", "token", clock_mono_us() + SHORT_US, &line, &err),
		 -ETIMEDOUT);
	CHECK_HAS(err.msg, "'silent.example:8': no name server answered in time; give the address");
	CHECK_EQ(oob_listen("silent.example:9", clock_mono_us() + SHORT_US, bound, &fd, &err),
		 -ETIMEDOUT);
	CHECK_EQ(fd, -1);

	/* It comes back after all: what it brings is freed by itself. */
	CHECK_EQ(poll(&wait, 1, 0), 0);
	(void)close(silence[1]);
	CHECK_EQ(poll(&wait, 1, clock_left_ms(clock_mono_us() + SOON_US)), 1);
	(void)close(came_back[0]);
}

static void a_name_that_leads_to_this_host_alone_is_known(void)
{
	static const struct {
		const char *address, *found;
		bool only_own;
	} rows[] = {
		{ "gpu-1:7400", "127.0.1.1", true },
		{ "gpu-1:7400", "127.0.0.1", true },
		{ "gpu-1:7400", "::1", true },
		{ "gpu-1:7400", "10.0.0.1", false },
		{ "gpu-1:7400", "128.0.0.1", false },
		{ "gpu-1:7400", "fe80::1", false },
		{ "gpu-1:7400", "126.0.0.1", false },
		{ "localhost:0", "127.0.0.1", false },
		{ "localhost:0", "::1", false },
		{ "127.0.1.1:7400", "127.0.1.1", false },
		{ "[::1]:7400", "::1", false },
		{ "localhost.localdomain:1", "127.0.0.1", false },
		{ "local:1", "127.0.0.1", true },
		{ ":1", "127.0.0.1", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_in four = { .sin_family = AF_INET };
		struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
		const bool is_six = strchr(rows[i].found, ':');

		CHECK_EQ(inet_pton(is_six ? AF_INET6 : AF_INET, rows[i].found,
				   is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr),
			 1);
		CHECK_EQ(oob_lookup_only_own(rows[i].address, is_six ? (struct sockaddr *)&six
								     : (struct sockaddr *)&four),
			 rows[i].only_own);
	}
}

static void such_a_name_is_listened_on_at_all_addresses(void)
{
	static const struct {
		const char *address;
		bool all;
	} rows[] = { { "here.example:0", true }, { "127.0.0.1:0", false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char bound[OOB_NAME_SIZE];
		int fd = -1;

		CHECK_EQ(oob_listen(rows[i].address, clock_mono_us() + SOON_US, bound, &fd, NULL),
			 0);
		CHECK_EQ(starts_with(bound, "[::]:") || starts_with(bound, "0.0.0.0:"), rows[i].all);
		(void)close(fd);
	}
}

static const struct test tests[] = {
	TEST(numbers_and_names_are_found),
	TEST(a_number_takes_no_time),
	TEST(what_is_not_found_says_why),
	TEST(a_name_server_that_is_not_there_is_not_waited_for),
	TEST(a_name_that_leads_to_this_host_alone_is_known),
	TEST(such_a_name_is_listened_on_at_all_addresses),
};

TEST_SUITE(tests);
