/* SPDX-License-Identifier: Apache-2.0 */
/* Locations of hosts from their topologies, in the store. */
#include "controller/store/store_places.h"

#include <stdlib.h>

#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_sql.h"
#include "controller/store/store_topology.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct store *store_at(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	return s;
}

/* A topology whose two RNICs heard these switches; NULL: nothing. */
static int put_topology(struct store *s, unsigned n, size_t max, const char *first,
			const char *second)
{
	CLEANUP(freep) char *digest = xasprintf("%064x", n);
	CLEANUP(freep)
	char *text = xasprintf("{\"neighbors\":[{\"rnic\":\"rnic:mlx5_0\",\"switch\":\"%s\"},"
			       "{\"rnic\":\"rnic:mlx5_1\",\"switch\":\"%s\"}]}",
			       first, second);
	const struct store_topology in = { digest, first ? text : "{}", 1000 + n };

	return store_add_topology(s, &in, max, NULL);
}

/* A host that reported, with that topology. */
static void put_host(struct store *s, const char *name, unsigned topology)
{
	struct report report = report_make();
	const struct verdict *v;
	const struct packed body = { PACK_PLAIN, "{}", 2 };
	struct store_report row = { .report = &report, .body = &body, .seen_us = 1000 };

	free(report.node);
	report.node = xstrdup(name);
	free(report.topology);
	report.topology = xasprintf("%064x", topology);
	v = judged(&report, NULL);
	row.verdict = row.merged = v;
	CHECK_EQ(store_place(s, &report, NULL), PLACE_NEWEST);
	CHECK_EQ(store_add(s, &row, NULL), 0);
	report_release(&report);
}

static void see(void *context, const char *node, bool below)
{
	struct strbuf *names = context;

	(void)strbuf_printf(names, "%s%s ", node, below ? "!" : "");
}

/* All hosts, those below the switch with a mark. */
static char *places(struct store *s, const char *swtch)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(1024);

	CHECK_EQ(store_each_place(s, swtch, see, &names, NULL), 0);
	return xstrdup(strbuf_text(&names));
}

static void check_places(struct store *s, const char *swtch, const char *expected)
{
	CLEANUP(freep) char *found = places(s, swtch);

	CHECK_STR(found, expected);
}

static void check_switches(struct store *s, unsigned topology, const char *first, const char *second)
{
	CLEANUP(freep) char *digest = xasprintf("%064x", topology);
	CLEANUP(pool_release) struct pool pool = { 0 };
	const char *found[PAIRING_RAILS_MAX] = { NULL };

	CHECK_EQ(store_switches(s, digest, &pool, found, NULL), first != NULL);
	CHECK(streq(found[0], first) || (!found[0] && !first));
	CHECK(streq(found[1], second) || (!found[1] && !second));
	CHECK(!found[2]);
}

static void fill(struct store *s)
{
	CHECK_EQ(put_topology(s, 1, 10, "leaf-a", "leaf-b"), 0);
	CHECK_EQ(put_topology(s, 2, 10, "leaf-b", "leaf-c"), 0);
	CHECK_EQ(put_topology(s, 3, 10, NULL, NULL), 0);
	put_host(s, "host1", 1);
	put_host(s, "host2", 2);
	put_host(s, "host3", 3);
	put_host(s, "host4", 4); /* nobody sent its topology yet */
	CHECK_EQ(store_commit(s, NULL), 0);
}

static void check_filled(struct store *s)
{
	check_places(s, "leaf-a", "host1! host2 host3 host4 ");
	check_places(s, "leaf-b", "host1! host2! host3 host4 ");
	check_places(s, "leaf-d", "host1 host2 host3 host4 ");
	check_switches(s, 1, "leaf-a", "leaf-b");
	check_switches(s, 3, NULL, NULL);
	check_switches(s, 4, NULL, NULL);
}

static void hosts_are_found_by_the_switches_of_their_topologies(void)
{
	CLEANUP(store_closep) struct store *s = store_at("places.db");
	CLEANUP(pool_release) struct pool pool = { 0 };
	const char *found[PAIRING_RAILS_MAX] = { "said" };

	fill(s);
	check_filled(s);
	/* What somebody else said of a rail stays. */
	CHECK_EQ(store_switches(s, NULL, &pool, found, NULL), 0);
	CHECK_STR(found[0], "said");
}

/* Numbers of rows are given again: another topology must not have the switches of one that went. */
static void switches_go_with_their_topology(void)
{
	CLEANUP(store_closep) struct store *s = store_at("gone.db");

	put_host(s, "host1", 1);
	CHECK_EQ(put_topology(s, 1, 2, "leaf-a", "leaf-b"), 0);
	CHECK_EQ(put_topology(s, 2, 2, "leaf-c", "leaf-d"), 0);
	CHECK_EQ(put_topology(s, 3, 2, NULL, NULL), 0); /* 2 makes room */
	check_switches(s, 2, NULL, NULL);
	check_switches(s, 3, NULL, NULL);
	check_switches(s, 1, "leaf-a", "leaf-b");
	put_host(s, "host3", 3);
	check_places(s, "leaf-c", "host1 host3 ");
}

static void what_an_older_version_left_is_read_when_there_is_time(void)
{
	CLEANUP(store_closep) struct store *s = store_at("older.db");
	bool unheard = true;

	fill(s);
	CHECK_EQ(store_unheard(s, &unheard, NULL), 0);
	CHECK(!unheard);
	CHECK_EQ(sqlite3_exec(s->file, "DELETE FROM switches; UPDATE topologies SET heard = 0",
			      NULL, NULL, NULL),
		 SQLITE_OK);
	check_switches(s, 1, NULL, NULL);
	CHECK_EQ(store_unheard(s, &unheard, NULL), 0);
	CHECK(unheard);
	CHECK_EQ(store_hear_more(s, 0, NULL), 1); /* no time: one all the same */
	CHECK_EQ(store_commit(s, NULL), 0);
	check_switches(s, 1, "leaf-a", "leaf-b");
	CHECK_EQ(store_hear_more(s, UINT64_MAX, NULL), 0);
	CHECK_EQ(store_commit(s, NULL), 0);
	check_filled(s);
	CHECK_EQ(store_unheard(s, &unheard, NULL), 0);
	CHECK(!unheard);
}

static const struct test tests[] = {
	TEST(hosts_are_found_by_the_switches_of_their_topologies),
	TEST(switches_go_with_their_topology),
	TEST(what_an_older_version_left_is_read_when_there_is_time),
};

TEST_SUITE(tests);
