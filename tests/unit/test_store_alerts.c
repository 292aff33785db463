/* SPDX-License-Identifier: Apache-2.0 */
/* The alerts that Alertmanagers may have survive the controller; open incidents are found together
 * with what clears them. */
#include "controller/store/store_alerts.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static struct store *store_at(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	return s;
}

struct seen {
	char words[256];
	size_t n;
};

static void see_alert(void *context, const struct store_alert *a)
{
	struct seen *seen = context;

	(void)snprintf(seen->words, sizeof(seen->words), "%s %s %s %d %d", a->alertmanager,
		       a->labels, a->sentence, (int)a->since_us, a->ended);
	seen->n++;
}

static void rows_are_put_and_dropped_with_the_commit(void)
{
	struct store *s = store_at("alerts.db");
	struct store_alert a = { "http://a", "{\"x\":\"1\"}", "it is so", 7, false };
	struct seen seen = { .n = 0 };

	CHECK_EQ(store_put_alert(s, &a, NULL), 0);
	CHECK(store_dirty(s));
	store_take_back(s);
	CHECK_EQ(store_alerts(s, see_alert, &seen, NULL), 0);
	CHECK_EQ(seen.n, 0);
	CHECK_EQ(store_put_alert(s, &a, NULL), 0);
	a.ended = true;
	CHECK_EQ(store_put_alert(s, &a, NULL), 0);
	CHECK_EQ(store_commit(s, NULL), 0);
	store_close(s);
	s = store_at("alerts.db");
	CHECK_EQ(store_alerts(s, see_alert, &seen, NULL), 0);
	CHECK_EQ(seen.n, 1);
	CHECK_STR(seen.words, "http://a {\"x\":\"1\"} it is so 7 1");
	CHECK_EQ(store_drop_alert(s, "http://b", a.labels, NULL), 0);
	CHECK_EQ(store_drop_alert(s, "http://a", a.labels, NULL), 0);
	CHECK_EQ(store_alerts(s, see_alert, &seen, NULL), 0);
	CHECK_EQ(seen.n, 1);
	store_close(s);
}

static void see_incident(void *context, const struct store_incident_told *i)
{
	struct seen *seen = context;

	(void)snprintf(seen->words, sizeof(seen->words), "%s %s %s %d %d of %u", i->node, i->check,
		       i->action, i->fatal, (int)windows_bad(&i->windows, 3), i->n);
	seen->n++;
}

static void open_incidents_that_ask_for_something_are_found(void)
{
	struct store *s = store_at("incidents.db");
	struct store_incident i = { .node = "gpu-1",
				    .check = "gemm.rate",
				    .subject = "gpu:3",
				    .action = "retest",
				    .sentence = "it is slow",
				    .since_us = 1 };
	const struct store_window w = { .check = (char *)(uintptr_t) "gemm.rate",
					.subject = (char *)(uintptr_t) "gpu:3",
					.windows = { 5, 3 },
					.k = 2,
					.n = 3 };
	struct seen seen = { .n = 0 };

	CHECK_EQ(store_put_incident(s, &i, 1000, NULL), 0);
	CHECK_EQ(store_put_window(s, "gpu-1", &w, NULL), 0);
	i.check = "quiet";
	i.action = "observe";
	CHECK_EQ(store_put_incident(s, &i, 1000, NULL), 0);
	i.check = "closed";
	i.action = "cordon";
	CHECK_EQ(store_put_incident(s, &i, 1000, NULL), 0);
	CHECK_EQ(store_close_incident(s, "gpu-1", "closed", 2000, NULL), 0);
	CHECK_EQ(store_incidents_to_tell(s, 10, see_incident, &seen, NULL), 0);
	CHECK_EQ(seen.n, 1);
	CHECK_STR(seen.words, "gpu-1 gemm.rate retest 0 2 of 3");
	i.check = "more";
	CHECK_EQ(store_put_incident(s, &i, 1000, NULL), 0);
	seen.n = 0;
	CHECK_EQ(store_incidents_to_tell(s, 1, see_incident, &seen, NULL), 0);
	CHECK_EQ(seen.n, 1);
	CHECK_HAS(seen.words, "gemm.rate");
	store_close(s);
}

static const struct test tests[] = {
	TEST(rows_are_put_and_dropped_with_the_commit),
	TEST(open_incidents_that_ask_for_something_are_found),
};

TEST_SUITE(tests);
