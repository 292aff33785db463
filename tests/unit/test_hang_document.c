/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_document.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

enum { MANY = 4000 };

static json_t *parse(const char *text)
{
	json_t *value = NULL;

	CHECK_EQ(json_parse(text, strlen(text), "d", &value, NULL), 0);
	return value;
}

static void what_sources_say_is_put_together_by_rank_and_group(void)
{
	static const char first[] =
		"{\"groups\":[{\"name\":\"0\"},{\"name\":\"1\"}],\"ranks\":[{\"rank\":3,"
		"\"sources\":[\"flight-recorder\"],\"positions\":[{\"group\":1,\"enqueued\":5}],"
		"\"ops\":[{\"group\":0,\"seq\":7},{\"group\":2,\"seq\":8},{\"group\":-1}]},"
		"{\"rank\":9,\"sources\":[\"ras\"]}]}";
	static const char second[] =
		"{\"groups\":[{\"name\":\"2\"},{\"name\":\"1\"}],\"ranks\":[{\"rank\":3,"
		"\"sources\":"
		"[\"ras\",\"flight-recorder\"],\"positions\":[{\"group\":0},{\"group\":1}]}]}";
	CLEANUP(json_freep) json_t *a = parse(first);
	CLEANUP(json_freep) json_t *b = parse(second);
	CLEANUP(json_freep) json_t *groups = json_array();
	CLEANUP(json_freep) json_t *ranks = parse("[{\"rank\":3,\"sources\":[\"process\"]}]");
	CLEANUP(freep) char *told = NULL;
	CLEANUP(freep) char *of_groups = NULL;

	hang_document_add(groups, ranks, NULL);
	hang_document_add(groups, ranks, a);
	hang_document_add(groups, ranks, b);
	of_groups = json_line(groups);
	CHECK_STR(of_groups, "[{\"name\":\"0\"},{\"name\":\"1\"},{\"name\":\"2\"}]");
	told = json_line(ranks);
	/* Rank 9 is none of this host's, and groups that are not there are nobody's. */
	CHECK_STR(told, "[{\"rank\":3,\"sources\":[\"process\",\"flight-recorder\",\"ras\"],"
			"\"positions\":[{\"group\":1,\"enqueued\":5},{\"group\":2},{\"group\":1}],"
			"\"ops\":[{\"group\":0,\"seq\":7}]}]");
}

static void a_rank_is_made_once(void)
{
	CLEANUP(json_freep) json_t *ranks = json_array();
	json_t *one = hang_document_rank(ranks, 4);

	CHECK(hang_document_rank(ranks, 4) == one);
	hang_document_source(one, "device");
	hang_document_source(one, "device");
	CHECK_EQ(json_array_size(json_object_get(one, "sources")), 1);
	CHECK(hang_document_rank(ranks, 5) != one);
	CHECK_EQ(json_array_size(ranks), 2);
}

static void what_does_not_fit_is_left_out_and_named(void)
{
	CLEANUP(json_freep)
	json_t *document = parse("{\"groups\":[{\"name\":\"0\"}],\"ranks\":[{\"rank\":3,"
				 "\"positions\":[],\"ops\":[]}]}");
	json_t *rank = json_array_get(json_object_get(document, "ranks"), 0);
	CLEANUP(freep) char *whole = hang_document_line(document, 1000);
	CLEANUP(freep) char *without_ops = NULL;
	CLEANUP(freep) char *without_positions = NULL;
	CLEANUP(freep) char *nothing = NULL;
	size_t i;

	CHECK(!strstr(whole, "missing"));
	for (i = 0; i < MANY; i++) {
		(void)json_array_append_new(json_object_get(rank, "ops"),
					    json_pack("{s:i}", "seq", 1));
		(void)json_array_append_new(json_object_get(rank, "positions"),
					    json_pack("{s:i}", "group", 0));
	}
	without_ops = hang_document_line(document, 20 * MANY);
	CHECK(without_ops && strstr(without_ops, "positions\":[{"));
	CHECK(!strstr(without_ops, "\"ops\""));
	CHECK_HAS(without_ops, "operations: left out");
	without_positions = hang_document_line(document, 1000);
	CHECK(without_positions && !strstr(without_positions, "\"positions\""));
	CHECK_HAS(without_positions, "\"groups\":[]");
	nothing = hang_document_line(document, 10);
	CHECK(!nothing);
}

static const struct test tests[] = {
	TEST(what_sources_say_is_put_together_by_rank_and_group),
	TEST(a_rank_is_made_once),
	TEST(what_does_not_fit_is_left_out_and_named),
};

TEST_SUITE(tests);
