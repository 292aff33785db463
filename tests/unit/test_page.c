/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "controller/auth/page_proxy.h"
#include "controller/auth/page_session.h"
#include "controller/config/settings.h"
#include "controller/http/api.h"
#include "controller/http/page_files.h"
#include "controller/http/page_index.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define NOW_US (100 * USEC_PER_DAY)

static struct page_session good(void)
{
	return (struct page_session){
		.known = true, .role = ROLE_OPERATE, .used_us = NOW_US, .until_us = NOW_US + 1
	};
}

static void each_end_of_a_session_counts_by_itself(void)
{
	struct page_session s = good();

	CHECK_EQ(page_session_state(&s, ROLE_READ, NOW_US), SESSION_OPEN);
	CHECK_EQ(page_session_state(&s, ROLE_READ, NOW_US + 1), SESSION_OVER);
	s.until_us = UINT64_MAX;
	CHECK_EQ(page_session_state(&s, ROLE_READ, NOW_US + SESSION_IDLE_US - 1), SESSION_OPEN);
	CHECK_EQ(page_session_state(&s, ROLE_READ, NOW_US + SESSION_IDLE_US), SESSION_IDLE);
	CHECK_EQ(page_session_state(&s, ROLE_READ, NOW_US - 1),
		 SESSION_OPEN); /* the clock went back */
	CHECK_EQ(page_session_state(&s, ROLE_ANYBODY, NOW_US), SESSION_REVOKED);
	CHECK_EQ(page_session_state(&s, ROLE_SUBMIT, NOW_US), SESSION_REVOKED);
	CHECK_EQ(page_session_state(&s, ROLE_NODE, NOW_US), SESSION_REVOKED);
	s.known = false;
	CHECK_EQ(page_session_state(&s, ROLE_ADMIN, NOW_US), SESSION_UNKNOWN);
}

static void a_session_may_the_least_of_what_all_allow(void)
{
	int own, token, page;

	for (own = ROLE_READ; own <= ROLE_ADMIN; own++) {
		for (token = ROLE_READ; token <= ROLE_ADMIN; token++) {
			for (page = ROLE_READ; page <= ROLE_ADMIN; page++) {
				const struct page_session s = { .known = true, .role = own };
				const int role = page_session_role(&s, token, page);

				CHECK(role <= own && role <= token && role <= page);
				CHECK(role == own || role == token || role == page);
			}
		}
	}
}

static void the_highest_role_of_the_groups_counts(void)
{
	static struct page_proxy_role roles[] = { { NULL, ROLE_READ }, { NULL, ROLE_OPERATE } };
	static const struct {
		const char *groups;
		int role;
	} rows[] = {
		{ NULL, ROLE_ANYBODY },	      { "", ROLE_ANYBODY },
		{ " ,, ", ROLE_ANYBODY },     { "look", ROLE_READ },
		{ "look,sre", ROLE_OPERATE }, { "sre, look", ROLE_OPERATE },
		{ "sr", ROLE_ANYBODY },	      { "sre2", ROLE_ANYBODY },
		{ "SRE", ROLE_ANYBODY },      { "x,look,", ROLE_READ },
	};
	const struct page_proxy proxy = { .roles = roles, .n = ARRAY_SIZE(roles) };
	CLEANUP(freep) char *look = xstrdup("look"), *sre = xstrdup("sre");
	size_t i;

	roles[0].group = look;
	roles[1].group = sre;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(page_proxy_role(&proxy, rows[i].groups), rows[i].role);
}

static void a_cookie_is_for_its_host_alone(void)
{
	CLEANUP(freep) char *tls = page_session_cookie_line(true, "v");
	CLEANUP(freep) char *plain = page_session_cookie_line(false, "v");
	CLEANUP(freep) char *gone = page_session_cookie_line(true, NULL);

	CHECK_STR(tls, "__Host-assay=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
	CHECK_STR(plain, "assay=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
	CHECK_STR(gone, "__Host-assay=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure");
}

static void the_index_names_the_version_wherever_it_is_asked_to(void)
{
	static const struct {
		const char *html, *filled;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "@VERSION@", "0123" },
		{ "a @VERSION@/b.js @VERSION@/c.css @VERSION", "a 0123/b.js 0123/c.css @VERSION" },
		{ "@VERSION@VERSION@", "0123VERSION@" },
	};
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *html = NULL;

		CHECK_EQ(page_index_fill(rows[i].html, "0123", &html, &err), 0);
		CHECK_STR(html, rows[i].filled);
	}
}

static void only_an_import_map_runs_in_the_page_itself(void)
{
	/* printf '{}' | openssl dgst -sha256 -binary | base64 */
	static const char mark[] = "'sha256-RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o='";
	static const struct {
		const char *html;
		bool good, marked;
	} rows[] = {
		{ "<p>none</p>", true, false },
		{ "<script type=\"importmap\">{}</script>", true, true },
		{ "<script type=\"importmap\">{}</script><script type=\"module\" "
		  "src=\"a.js\"></script>",
		  true, true },
		{ "<script src=\"a.js\"></script>", true, false },
		{ "<script>alert(1)</script>", false, false },
		{ "<script type=\"module\">import 'x'</script>", false, false },
		{ "<script type=\"importmap\">{}</script><script>1</script>", false, false },
		{ "<script type=\"importmap\">{}</script><script "
		  "type=\"importmap\">{}</script>",
		  false, false },
		{ "<script type=\"importmap\">{}", false, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;
		CLEANUP(freep) char *policy = NULL;
		const int r = page_index_policy(rows[i].html, &policy, &err);

		CHECK_EQ(r, rows[i].good ? 0 : -EINVAL);
		if (r == 0)
			CHECK_EQ(strstr(policy, mark) != NULL, rows[i].marked);
		else
			CHECK_HAS(err.msg, "importmap");
	}
}

static void the_setting_is_off_on_or_says_a_role(void)
{
	static const struct {
		const char *text;
		bool good, on;
		int role;
	} rows[] = {
		{ "", true, false, ROLE_READ },
		{ "page: false\n", true, false, ROLE_READ },
		{ "page: true\n", true, true, ROLE_READ },
		{ "page: {}\n", true, true, ROLE_READ },
		{ "page: {role: operate}\n", true, true, ROLE_OPERATE },
		{ "page: {role: admin}\n", true, true, ROLE_ADMIN },
		{ "page: {role: submit}\n", false, false, 0 },
		{ "page: [true]\n", false, false, 0 },
		{ "page: 1\n", false, false, 0 },
		{ "page: null\n", false, false, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(settings_release) struct settings s = settings_init();
		CLEANUP(freep) char *text = xasprintf("v: 1\n%s", rows[i].text);
		CLEANUP(freep) char *path = test_file("controller.yaml", text);
		struct err err = ERR_INIT;
		const int r = settings_read(path, &s, &err);

		CHECK_EQ(r, rows[i].good ? 0 : -EINVAL);
		if (r == 0) {
			CHECK_EQ(s.page.on, rows[i].on);
			CHECK_EQ(s.page.role, rows[i].role);
		} else {
			CHECK_HAS(err.msg, "page");
		}
	}
}

static void the_version_is_of_all_names_and_bytes(void)
{
	static const char *const texts[] = { "a", "b", "a" };
	char versions[ARRAY_SIZE(texts)][PAGE_VERSION_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(page_files_release) struct page_files files = { .n = 0 };
		CLEANUP(freep) char *index = test_file("page/index.html", "<p>@VERSION@</p>");
		CLEANUP(freep) char *script = test_file("page/app.js", texts[i]);
		CLEANUP(freep) char *licence = test_file("page/LICENSE", "mine");
		CLEANUP(freep) char *folder = xasprintf("%s/page", test_dir());
		struct err err = ERR_INIT;

		CHECK_EQ(page_files_read(folder, &files, &err), 0);
		CHECK_STR(err.msg, "");
		CHECK_EQ(files.n, 2);
		CHECK(!page_files_find(&files, "LICENSE") && !page_files_find(&files, "app"));
		CHECK_STR(page_files_find(&files, "app.js")->bytes, texts[i]);
		memcpy(versions[i], files.version, PAGE_VERSION_SIZE);
	}
	CHECK(!streq(versions[0], versions[1]));
	CHECK_STR(versions[0], versions[2]);
}

static const struct test tests[] = {
	TEST(each_end_of_a_session_counts_by_itself),
	TEST(a_session_may_the_least_of_what_all_allow),
	TEST(the_highest_role_of_the_groups_counts),
	TEST(a_cookie_is_for_its_host_alone),
	TEST(the_index_names_the_version_wherever_it_is_asked_to),
	TEST(only_an_import_map_runs_in_the_page_itself),
	TEST(the_setting_is_off_on_or_says_a_role),
	TEST(the_version_is_of_all_names_and_bytes),
};

TEST_SUITE(tests);
