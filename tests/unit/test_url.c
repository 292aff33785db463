/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/url.h"

#include "tests/unit/test.h"

static void others_read_along_beyond_this_host_without_tls(void)
{
	static const struct {
		const char *url;
		bool open;
	} rows[] = {
		{ "https://a.example", false },
		{ "http://a.example", true },
		{ "http://127.0.0.1:9093", false },
		{ "http://127.1.2.3/alertmanager", false },
		{ "http://LOCALHOST/am", false },
		{ "http://localhost", false },
		{ "http://[::1]:9093/x", false },
		{ "http://[2001:db8::1]/x", true },
		{ "http://127.0.0.1.example.com", true },
		{ "http://localhost@a.example/", true },
		{ "http://a.example/@127.0.0.1", true },
		{ "http://a.example?localhost", true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (url_is_open(rows[i].url) != rows[i].open)
			(void)fprintf(stderr, "%s\n", rows[i].url);
		CHECK_EQ(url_is_open(rows[i].url), rows[i].open);
	}
}

static const struct test tests[] = { TEST(others_read_along_beyond_this_host_without_tls) };

TEST_SUITE(tests);
