/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/reservation.h"

#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define KEEP_US USEC_PER_MIN
#define NOW_US (100 * USEC_PER_SEC)

static const struct ledger_holder on_a = { .node = (char *)(uintptr_t) "a",
					   .kind = LEDGER_CORDON,
					   .action = (char *)(uintptr_t) "7",
					   .at_us = 1 };

static struct cluster_answer answer_of(enum cluster_result result, const char *version)
{
	return (struct cluster_answer){ .result = result,
					.words = "as the test says",
					.version = version };
}

static struct cluster_answer done(const char *version)
{
	return answer_of(CLUSTER_DONE, version);
}

static struct cluster_answer conflict(void)
{
	return answer_of(CLUSTER_CONFLICT, NULL);
}

/* What another controller has written: a place on a host. New memory. */
static char *text_of(uint64_t epoch, const char *node)
{
	const struct ledger_holder holder = { .node = (char *)(uintptr_t)node,
					      .kind = LEDGER_CORDON,
					      .action = (char *)(uintptr_t) "3",
					      .at_us = 1 };
	struct ledger l = { .epoch = epoch };
	char *text;

	CHECK(ledger_reserve(&l, &holder));
	text = ledger_encode(&l);
	ledger_release(&l);
	return text;
}

static struct store *store_of(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *store = NULL;

	CHECK_EQ(store_open(path, &store, NULL), 0);
	return store;
}

static bool is_held(const struct reservation *r, const char *node)
{
	return ledger_find(&r->ledger, node, LEDGER_CORDON) != NULL;
}

static void a_place_stands_when_it_is_written(void)
{
	const struct cluster_answer written = done("1");
	uint64_t generation, placed_us = 0;
	struct reservation r;
	char *text, *second;

	reservation_init(&r, KEEP_US);
	text = reservation_text(&r, NOW_US);
	CHECK(text == NULL); /* there is nothing to write */
	generation = reservation_take(&r, &on_a);
	CHECK(generation > 0);
	CHECK(!reservation_stands(&r, generation, &placed_us));
	text = reservation_text(&r, NOW_US);
	CHECK(text != NULL);
	CHECK_HAS(text, "\"a\"");
	second = reservation_text(&r, NOW_US); /* one is on its way */
	CHECK(second == NULL);
	CHECK_EQ(reservation_written(&r, &written, NOW_US + 5), RESERVATION_WRITTEN);
	CHECK(reservation_stands(&r, generation, &placed_us));
	CHECK_EQ(placed_us, NOW_US); /* when it was sent */
	CHECK_STR(r.version, "1");
	free(text);
	reservation_release(&r);
}

static void what_changed_while_it_was_written_is_written_next(void)
{
	const struct cluster_answer written = done("1");
	const struct ledger_holder on_b = { .node = (char *)(uintptr_t) "b",
					    .kind = LEDGER_HOLD,
					    .at_us = 1 };
	struct reservation r;
	uint64_t first, next, placed_us;

	reservation_init(&r, KEEP_US);
	first = reservation_take(&r, &on_a);
	free(reservation_text(&r, NOW_US));
	next = reservation_take(&r, &on_b);
	CHECK_EQ(reservation_written(&r, &written, NOW_US), RESERVATION_WRITTEN);
	CHECK(reservation_stands(&r, first, &placed_us));
	CHECK(!reservation_stands(&r, next, &placed_us));
	free(reservation_text(&r, NOW_US));
	CHECK_EQ(reservation_written(&r, &written, NOW_US), RESERVATION_WRITTEN);
	CHECK(reservation_stands(&r, next, &placed_us));
	reservation_release(&r);
}

static void a_full_ledger_has_no_place(void)
{
	struct ledger_holder holder = on_a;
	struct reservation r;
	char name[16];
	int i;

	reservation_init(&r, 0);
	holder.node = name;
	for (i = 0; i < LEDGER_HOLDERS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		CHECK(reservation_take(&r, &holder) > 0);
	}
	CHECK_EQ(reservation_take(&r, &on_a), 0);
	reservation_release(&r);
}

static void what_cannot_be_written_waits(void)
{
	struct cluster_answer again = answer_of(CLUSTER_AGAIN, NULL);
	struct reservation r;

	reservation_init(&r, 0);
	again.retry_us = 30 * USEC_PER_SEC;
	(void)reservation_take(&r, &on_a);
	free(reservation_text(&r, NOW_US));
	CHECK_EQ(reservation_written(&r, &again, NOW_US), RESERVATION_LATER);
	CHECK(reservation_text(&r, NOW_US + again.retry_us - 1) == NULL);
	CHECK(r.again_us >= NOW_US + again.retry_us);
	reservation_release(&r);
}

static void whoever_finds_a_higher_epoch_is_fenced(void)
{
	CLEANUP(freep) char *text = text_of(2, "b");
	const struct cluster_answer lost = conflict(), read = done("9");
	CLEANUP(ledger_reading_release) struct ledger_reading reading = ledger_reading_of(text);
	struct reservation_news news = { 0 };
	struct err err = ERR_INIT;
	struct reservation r;

	reservation_init(&r, KEEP_US);
	r.ledger.epoch = 1;
	reservation_changed(&r);
	free(reservation_text(&r, NOW_US));
	CHECK_EQ(reservation_written(&r, &lost, NOW_US), RESERVATION_REREAD);
	CHECK(reservation_text(&r, NOW_US) == NULL); /* not before it is read */
	CHECK_EQ(reservation_reread(&r, &read, &reading, NOW_US, &news, &err), RESERVATION_FENCED);
	CHECK_EQ(reading.ledger.epoch, 2); /* it was not taken */
	CHECK(news.ledger.epoch == 0);
	reservation_release(&r);
}

/* Its node does not show it yet: whoever has it may be about to touch it. */
static void a_place_of_another_stands_for_a_while(void)
{
	CLEANUP(freep) char *text = text_of(4, "b");
	const struct cluster_answer read = done("9");
	CLEANUP(ledger_reading_release) struct ledger_reading reading = ledger_reading_of(text);
	const struct reservation_truth own = { .own = &on_a, .n_own = 1 };
	struct store *store = store_of("kept");
	struct reservation_news news;
	struct err err = ERR_INIT;
	struct reservation r;

	reservation_init(&r, KEEP_US);
	(void)reservation_take(&r, &on_a);
	CHECK_EQ(reservation_take_over(&r, &read, &reading, NOW_US, &news, &err), RESERVATION_READ);
	CHECK_EQ(reading.ledger.n_holders, 0); /* it was taken */
	CHECK_EQ(news.epoch, 5);
	reservation_adopt(&r, &news, &own, store, NOW_US);
	CHECK_EQ(r.ledger.epoch, 5);
	CHECK_STR(r.version, "9");
	CHECK(is_held(&r, "a")); /* it is under way here */
	CHECK(reservation_kept(&r, "b", LEDGER_CORDON, NOW_US));
	CHECK(!reservation_kept(&r, "a", LEDGER_CORDON, NOW_US));
	CHECK(!reservation_reconcile(&r, &own, NOW_US));
	CHECK_EQ(r.reconcile_us, NOW_US + KEEP_US); /* then it is over */
	CHECK(reservation_reconcile(&r, &own, NOW_US + KEEP_US));
	CHECK(!is_held(&r, "b"));
	CHECK(is_held(&r, "a"));
	CHECK(reservation_reconcile(&r, &(struct reservation_truth){ 0 }, NOW_US + KEEP_US));
	CHECK(!is_held(&r, "a")); /* its action has ended, and its node does not show it */
	reservation_release(&r);
	store_close(store);
}

static void what_nodes_carry_is_in_it(void)
{
	struct ledger_holder carried = on_a;
	const struct reservation_truth truth = { .nodes = &carried, .n_nodes = 1 };
	struct reservation r;

	carried.done = true;
	reservation_init(&r, KEEP_US);
	CHECK(reservation_reconcile(&r, &truth, NOW_US));
	CHECK(is_held(&r, "a"));
	CHECK(!reservation_done(&r, "a", LEDGER_CORDON)); /* it was known */
	CHECK(!reservation_reconcile(&r, &truth, NOW_US));
	reservation_release(&r);
}

static void a_place_is_renewed_when_it_is_half_as_old(void)
{
	struct reservation r;

	reservation_init(&r, KEEP_US);
	CHECK_EQ(reservation_renew(&r, NOW_US, NOW_US + KEEP_US / 2 - 1), 0);
	CHECK(reservation_renew(&r, NOW_US, NOW_US + KEEP_US / 2) > 0);
	reservation_init(&r, 0); /* nobody else could give it away */
	CHECK_EQ(reservation_renew(&r, NOW_US, NOW_US + 2 * KEEP_US), 0);
}

static void a_ledger_that_was_removed_is_written_anew(void)
{
	const struct cluster_answer written = done("1"), lost = conflict(),
				    gone = answer_of(CLUSTER_GONE, NULL);
	struct ledger_reading nothing = { 0 };
	struct reservation_news news;
	struct err err = ERR_INIT;
	struct reservation r;
	char *text;

	reservation_init(&r, KEEP_US);
	(void)reservation_take(&r, &on_a);
	free(reservation_text(&r, NOW_US));
	CHECK_EQ(reservation_written(&r, &written, NOW_US), RESERVATION_WRITTEN);
	reservation_changed(&r);
	free(reservation_text(&r, NOW_US));
	CHECK_EQ(reservation_written(&r, &lost, NOW_US), RESERVATION_REREAD);
	CHECK_EQ(reservation_reread(&r, &gone, &nothing, NOW_US, &news, &err), RESERVATION_REMOVED);
	CHECK(r.version == NULL);
	text = reservation_text(&r, NOW_US);
	CHECK_HAS(text, "\"a\"");
	free(text);
	reservation_release(&r);
}

static void nobody_acts_on_a_ledger_that_is_none(void)
{
	const struct cluster_answer read = done("9"), again = answer_of(CLUSTER_AGAIN, NULL);
	CLEANUP(ledger_reading_release)
	struct ledger_reading reading = ledger_reading_of("{\"v\": 2}");
	struct ledger_reading nothing = ledger_reading_of(NULL);
	struct reservation_news news;
	struct err err = ERR_INIT;
	struct reservation r;

	reservation_init(&r, KEEP_US);
	CHECK_EQ(reservation_take_over(&r, &read, &reading, NOW_US, &news, &err),
		 RESERVATION_UNREADABLE);
	CHECK_HAS(err.msg, "version 1");
	CHECK_EQ(reservation_take_over(&r, &again, &nothing, NOW_US, &news, &err),
		 RESERVATION_LATER);
	CHECK_HAS(err.msg, "as the test says");
	reservation_release(&r);
}

static void one_question_stands_for_all_that_wait(void)
{
	unsigned first = 0, second = 0, late = 0;
	struct reservation r;

	reservation_init(&r, KEEP_US);
	CHECK(!reservation_confirmed(&r, &first));
	CHECK(!reservation_confirmed(&r, &second));
	CHECK(reservation_ask(&r));
	CHECK(!reservation_ask(&r));
	CHECK(!reservation_confirmed(&r, &late)); /* it waits for the next one */
	reservation_answered(&r, true);
	CHECK(reservation_confirmed(&r, &first));
	CHECK(reservation_confirmed(&r, &second));
	CHECK(!reservation_confirmed(&r, &late));
	CHECK(reservation_ask(&r));
	reservation_answered(&r, false);
	CHECK(!reservation_confirmed(&r, &late));
}

static const struct test tests[] = {
	TEST(a_place_stands_when_it_is_written),
	TEST(what_changed_while_it_was_written_is_written_next),
	TEST(a_full_ledger_has_no_place),
	TEST(what_cannot_be_written_waits),
	TEST(whoever_finds_a_higher_epoch_is_fenced),
	TEST(a_place_of_another_stands_for_a_while),
	TEST(what_nodes_carry_is_in_it),
	TEST(a_place_is_renewed_when_it_is_half_as_old),
	TEST(a_ledger_that_was_removed_is_written_anew),
	TEST(nobody_acts_on_a_ledger_that_is_none),
	TEST(one_question_stands_for_all_that_wait),
};

TEST_SUITE(tests);
