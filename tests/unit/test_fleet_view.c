/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/fleet_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/fleet_news.h"
#include "controller/fleet/live.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "tests/unit/test.h"

enum { HOSTS = 10000, RACK = 32, NAME_SIZE = 32, TEXT_MAX = 4 * 1024 * 1024 };

static bool put(struct fleet_view *v, const char *name, int level, uint64_t incidents)
{
	return fleet_view_put(v, name,
			      &(struct fleet_view_report){ "hgx-h100", level, 1000, incidents });
}

static const struct fleet_view_state well = {
	.life = LIFE_HEALTHY,
	.service = FLEET_SERVICE_IN,
	.connection = LIVE_CONNECTED,
	.domain = "r00",
};

static char *columns(const struct fleet_view *v, uint64_t since)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	fleet_view_columns(v, since, &text);
	return text.data;
}

static void rows_are_in_order_of_their_names_and_say_what_was_put(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	CLEANUP(freep) char *text = NULL;

	CHECK(put(&v, "b", VERDICT_FAIL, 2));
	CHECK(put(&v, "a", VERDICT_PASS, 0));
	CHECK(put(&v, "c", VERDICT_WARN, 1));
	CHECK(fleet_view_tell(&v, 1, &well));
	text = columns(&v, 0);
	CHECK_STR(text, "{\"names\":[\"a\",\"b\",\"c\"],\"verdict\":[0,3,2],\"stale\":[0,0,0],"
			"\"life\":[-1,0,-1],\"service\":[-1,0,-1],\"connection\":[0,1,0],"
			"\"domain\":[-1,0,-1],\"sku\":[0,0,0],\"incidents\":[0,2,1]}");
	CHECK_EQ(v.version, 4);
}

static void what_has_not_changed_has_no_new_version(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	CLEANUP(freep) char *none = NULL;
	CLEANUP(freep) char *one = NULL;
	uint64_t version;

	(void)put(&v, "a", VERDICT_PASS, 0);
	(void)put(&v, "b", VERDICT_PASS, 0);
	(void)fleet_view_tell(&v, 0, &well);
	version = v.version;
	CHECK(!put(&v, "a", VERDICT_PASS, 0));
	CHECK(!fleet_view_tell(&v, 0, &well));
	CHECK(!fleet_view_put(&v, "a", &(struct fleet_view_report){ "hgx-h100", 0, 99999, 0 }));
	CHECK_EQ(v.version, version);
	none = columns(&v, version);
	CHECK_STR(none, "{\"names\":[],\"verdict\":[],\"stale\":[],\"life\":[],\"service\":[],"
			"\"connection\":[],\"domain\":[],\"sku\":[],\"incidents\":[]}");
	CHECK(put(&v, "b", VERDICT_PASS, 1));
	CHECK_EQ(fleet_view_changed(&v, version), 1);
	one = columns(&v, version);
	CHECK(starts_with(one, "{\"names\":[\"b\"],\"verdict\":[0]"));
}

static void a_silent_host_and_one_that_is_two_are_never_said_to_pass(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	struct fleet_view_state state = well;

	(void)put(&v, "a", VERDICT_PASS, 0);
	state.stale = true;
	CHECK(fleet_view_tell(&v, 0, &state));
	CHECK_EQ(fleet_view_level(&v.rows[0]), VERDICT_INCONCLUSIVE);
	CHECK(fleet_view_tell(&v, 0, &well));
	CHECK_EQ(fleet_view_level(&v.rows[0]), VERDICT_PASS);
	state = well;
	state.two = true;
	CHECK(fleet_view_tell(&v, 0, &state));
	CHECK_EQ(fleet_view_level(&v.rows[0]), VERDICT_INCONCLUSIVE);
}

static void who_saw_a_host_that_is_forgotten_has_to_see_all(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	uint64_t version;

	(void)put(&v, "a", VERDICT_PASS, 0);
	(void)put(&v, "b", VERDICT_PASS, 0);
	(void)put(&v, "c", VERDICT_PASS, 0);
	version = v.version;
	fleet_view_forget(&v, "nobody");
	CHECK_EQ(v.version, version);
	fleet_view_forget(&v, "b");
	CHECK(v.version > version);
	CHECK_EQ(fleet_view_changed(&v, version), 2);
	CHECK_EQ(fleet_view_changed(&v, v.version), 0);
	CHECK(!fleet_view_find(&v, "b"));
	CHECK(fleet_view_find(&v, "c") != NULL);
}

/* A number may be another name's later: whoever had it is told with the list. */
static void a_list_of_names_is_news_when_one_is_added(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	CLEANUP(json_freep) json_t *names = NULL;
	struct fleet_view_state state = well;
	uint64_t version;

	(void)put(&v, "a", VERDICT_PASS, 0);
	(void)fleet_view_tell(&v, 0, &well);
	CHECK_EQ(v.domains_version, v.version);
	version = v.version;
	state.domain = "r01";
	(void)fleet_view_tell(&v, 0, &state);
	CHECK(v.domains_version > version);
	names = fleet_view_names(&v.domains);
	CHECK_STR(json_string_value(json_array_get(names, (size_t)v.rows[0].domain)), "r01");
	version = v.version;
	(void)put(&v, "b", VERDICT_PASS, 0);
	(void)fleet_view_tell(&v, 1, &state);
	CHECK(v.domains_version <= version);
}

static void the_worst_host_in_service_comes_first(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	struct fleet_view_state state = well;
	struct fleet_view_worst worst;

	(void)put(&v, "a-out", VERDICT_FAIL, 1);
	(void)put(&v, "b-warns", VERDICT_WARN, 1);
	(void)put(&v, "c-foreign", VERDICT_FAIL, 1);
	(void)put(&v, "d-in", VERDICT_FAIL, 1);
	(void)put(&v, "e-well", VERDICT_PASS, 0);
	(void)put(&v, "f-unknown", VERDICT_INCONCLUSIVE, 0);
	(void)fleet_view_tell(&v, 3, &well);
	state.service = FLEET_SERVICE_CORDONED;
	(void)fleet_view_tell(&v, 0, &state);
	fleet_view_worst(&v, &worst);
	CHECK_EQ(worst.n, 5);
	CHECK_STR(v.rows[worst.rows[0]].name, "d-in");
	CHECK_STR(v.rows[worst.rows[1]].name, "a-out");
	CHECK_STR(v.rows[worst.rows[2]].name, "c-foreign");
	CHECK_STR(v.rows[worst.rows[3]].name, "b-warns");
	CHECK_STR(v.rows[worst.rows[4]].name, "f-unknown");
}

static void counts_are_of_all_hosts(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	CLEANUP(json_freep) json_t *counts = NULL;
	CLEANUP(freep) char *text = NULL;
	struct fleet_view_state state = well;

	(void)put(&v, "a", VERDICT_PASS, 0);
	(void)put(&v, "b", VERDICT_FAIL, 0);
	(void)fleet_view_tell(&v, 0, &well);
	state.stale = true;
	(void)fleet_view_tell(&v, 1, &state);
	counts = fleet_view_counts(&v);
	text = json_dumps(counts, JSON_COMPACT);
	CHECK_STR(text,
		  "{\"hosts\":2,\"stale\":1,\"verdict\":{\"pass\":1,\"inconclusive\":1,"
		  "\"warn\":0,\"fail\":0},\"life\":{\"healthy\":2},\"service\":{\"in-service\":2},"
		  "\"connection\":{\"none\":0,\"connected\":2,\"suspect\":0}}");
}

/* The design's measure: 220 kB for all of 10,000 hosts, 64 bytes for each in memory. */
static void ten_thousand_hosts_are_small(void)
{
	CLEANUP(fleet_view_release) struct fleet_view v = { 0 };
	CLEANUP(freep) char *text = NULL;
	CLEANUP(json_freep) json_t *parsed = NULL;
	size_t i;

	for (i = 0; i < HOSTS; i++) {
		struct fleet_view_state state = well;
		char name[NAME_SIZE], rack[NAME_SIZE];

		(void)snprintf(name, sizeof(name), "gpu-%05zu", i);
		(void)snprintf(rack, sizeof(rack), "r%03zu", i / RACK);
		state.domain = rack;
		(void)put(&v, name, i % 100 == 0 ? VERDICT_FAIL : VERDICT_PASS, i % 100 == 0);
		(void)fleet_view_tell(&v, i, &state);
	}
	text = columns(&v, 0);
	parsed = json_loads(text, 0, NULL);
	CHECK_EQ(json_array_size(json_object_get(parsed, "incidents")), HOSTS);
	printf("%zu bytes of columns, %.1f bytes a host in memory\n", strlen(text),
	       (double)fleet_view_bytes(&v) / HOSTS);
	CHECK(strlen(text) <= 320000);
	CHECK(fleet_view_bytes(&v) / HOSTS <= 80);
}

static void news_is_by_number_and_says_when_it_knows_no_more(void)
{
	static struct fleet_news news;
	CLEANUP(json_freep) json_t *some = NULL;
	CLEANUP(json_freep) json_t *lost = NULL;
	CLEANUP(freep) char *text = NULL;
	uint64_t i;

	fleet_news_note(&news, 7, 1);
	fleet_news_note(&news, 8, 2);
	fleet_news_note(&news, 7, 3);
	some = fleet_news_since(&news, 1);
	text = json_dumps(some, JSON_COMPACT);
	CHECK_STR(text, "[8,7]");
	for (i = 0; i < FLEET_NEWS_MAX; i++)
		fleet_news_note(&news, (int64_t)(100 + i), 10 + i);
	lost = fleet_news_since(&news, 1);
	CHECK(json_is_null(lost));
	json_decref(lost);
	lost = fleet_news_since(&news, 10 + FLEET_NEWS_MAX - 2);
	CHECK_EQ(json_array_size(lost), 1);
	fleet_news_lose(&news, 1000);
	json_decref(lost);
	lost = fleet_news_since(&news, 999);
	CHECK(json_is_null(lost));
}

static const struct test tests[] = {
	TEST(rows_are_in_order_of_their_names_and_say_what_was_put),
	TEST(what_has_not_changed_has_no_new_version),
	TEST(a_silent_host_and_one_that_is_two_are_never_said_to_pass),
	TEST(who_saw_a_host_that_is_forgotten_has_to_see_all),
	TEST(a_list_of_names_is_news_when_one_is_added),
	TEST(the_worst_host_in_service_comes_first),
	TEST(counts_are_of_all_hosts),
	TEST(ten_thousand_hosts_are_small),
	TEST(news_is_by_number_and_says_when_it_knows_no_more),
};

TEST_SUITE(tests);
