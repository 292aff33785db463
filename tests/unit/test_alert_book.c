/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts sent to one Alertmanager: once at the begin and once at the end, whatever dies in between. */
#include "controller/alerts/alert_book.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { THINGS = 6 }; /* incidents 1 to THINGS; the upper half are cordons of hosts */

/* The Alertmanager, and the store, whose rows are names: both survive the controller. */
struct world {
	struct alert_book book;
	struct alert_set set;
	bool open[THINGS];
	/* Rows: durable, and as the transaction has them. */
	enum { NO_ROW, ROW_OPEN, ROW_ENDED } kept[THINGS], staged[THINGS];
	bool fires[THINGS];
	unsigned begun[THINGS], ended[THINGS],
		unheard[THINGS]; /* notifications; ends of what never began */
	unsigned too_early;	 /* it was told to be over while it was so */
	uint64_t now_us;
};

static struct alert_facts thing(size_t i)
{
	return (struct alert_facts){
		.kind = i < THINGS / 2 ? ALERT_INCIDENT : ALERT_CORDON,
		.severity = ALERT_WARNING,
		.check = "c",
		.incident = (int64_t)i + 1,
		.since_us = 1000,
		.sentence = "it is so",
	};
}

static size_t number_of(const char *labels)
{
	CLEANUP(json_freep) json_t *value = json_loads(labels, 0, NULL);
	const char *text = json_string_value(json_object_get(value, "incident"));

	return text ? (size_t)strtoul(text, NULL, 10) - 1 : THINGS;
}

static void meet(struct world *w, bool cordons_known)
{
	struct alert_set before = w->set;
	size_t i;

	w->set = (struct alert_set){ .known = 0 };
	for (i = 0; i < THINGS; i++) {
		const struct alert_facts facts = thing(i);

		if (w->open[i] && (cordons_known || facts.kind != ALERT_CORDON))
			alert_set_add(&w->set, &facts);
	}
	alert_set_know(&w->set, ALERT_INCIDENT);
	if (cordons_known)
		alert_set_know(&w->set, ALERT_CORDON);
	alert_book_meet(&w->book, &w->set, w->now_us, w->now_us);
	alert_set_release(&before);
}

static int keep(void *context, const struct alert_row *row)
{
	struct world *w = context;

	w->staged[number_of(row->name)] = row->state != ALERT_ROW_NEW ? NO_ROW
					  : row->ended		      ? ROW_ENDED
								      : ROW_OPEN;
	return 0;
}

static void commit(struct world *w, bool good)
{
	(void)alert_book_keep(&w->book, keep, w);
	if (good) {
		memcpy(w->kept, w->staged, sizeof(w->kept));
		alert_book_committed(&w->book);
	} else {
		memcpy(w->staged, w->kept, sizeof(w->kept));
		alert_book_failed(&w->book);
	}
}

/* It comes to the Alertmanager. */
static void deliver(struct world *w)
{
	size_t i;

	for (i = 0; i < w->book.n; i++) {
		const struct alert_row *row = w->book.batch[i];
		const size_t n = number_of(row->name);

		CHECK_EQ(w->kept[n], row->sent_end ? ROW_ENDED : ROW_OPEN);
		if (!row->sent_end) {
			w->begun[n] += !w->fires[n];
			w->fires[n] = true;
			continue;
		}
		w->too_early += w->open[n];
		w->ended[n] += w->fires[n];
		w->unheard[n] += !w->fires[n];
		w->fires[n] = false;
	}
}

static size_t post(struct world *w, enum alert_result result, bool arrives)
{
	const size_t n = alert_book_take(&w->book, w->now_us);

	if (n == 0)
		return 0;
	if (arrives)
		deliver(w);
	return alert_book_answer(&w->book, result, w->now_us);
}

static void post_all(struct world *w)
{
	while (post(w, ALERT_TAKEN, true) > 0)
		commit(w, true);
}

static void one_round(struct world *w)
{
	w->now_us += USEC_PER_SEC;
	meet(w, true);
	commit(w, true);
	post_all(w);
	commit(w, true);
}

/* kill -9, and a start. */
static void restart(struct world *w)
{
	size_t i;

	alert_book_release(&w->book);
	memcpy(w->staged, w->kept, sizeof(w->kept));
	for (i = 0; i < THINGS; i++) {
		CLEANUP(freep)
		char *labels = xasprintf("{\"alertname\":\"%s\",\"check\":\"c\",\"incident\":"
					 "\"%zu\",\"severity\":\"warning\"}",
					 alert_names[thing(i).kind], i + 1);

		if (w->kept[i])
			alert_book_load(&w->book, labels, "it was so", 1000,
					w->kept[i] == ROW_ENDED);
	}
}

static void world_release(struct world *w)
{
	alert_book_release(&w->book);
	alert_set_release(&w->set);
}

static void it_is_told_once_that_it_begins_and_once_that_it_ends(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	size_t posts = 0, i;

	w.open[0] = true;
	one_round(&w);
	CHECK(w.fires[0]);
	for (i = 0; i < 600; i++) {
		w.now_us += USEC_PER_SEC;
		meet(&w, true);
		commit(&w, true);
		posts += post(&w, ALERT_TAKEN, true);
	}
	CHECK_EQ(posts, 10); /* each minute */
	w.open[0] = false;
	one_round(&w);
	CHECK_EQ(w.begun[0], 1);
	CHECK_EQ(w.ended[0], 1);
	CHECK(!w.kept[0]);
	CHECK_EQ(w.book.map.n, 0);
	world_release(&w);
}

static void nothing_is_told_before_it_is_durable(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };

	w.open[0] = true;
	meet(&w, true);
	CHECK_EQ(alert_book_take(&w.book, w.now_us), 0);
	commit(&w, false);
	CHECK_EQ(alert_book_take(&w.book, w.now_us), 0);
	commit(&w, true);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 1);
	world_release(&w);
}

static void an_end_that_was_not_delivered_is_told_after_a_restart(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };

	w.open[0] = true;
	one_round(&w);
	w.open[0] = false;
	meet(&w, true);
	commit(&w, true);
	CHECK_EQ(post(&w, ALERT_UNSENT, false), 0);
	restart(&w);
	one_round(&w);
	CHECK_EQ(w.begun[0], 1);
	CHECK_EQ(w.ended[0], 1);
	CHECK_EQ(w.book.map.n, 0);
	world_release(&w);
}

static void what_nobody_knows_after_a_start_is_told_on(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	const size_t cordon = THINGS - 1;

	w.open[cordon] = w.open[0] = true;
	one_round(&w);
	restart(&w);
	meet(&w, false);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 2);
	CHECK(w.fires[cordon]);
	w.open[cordon] = false;
	w.now_us += USEC_PER_HOUR;
	meet(&w, false);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 2);
	CHECK_EQ(w.ended[cordon], 0);
	one_round(&w);
	CHECK_EQ(w.ended[cordon], 1);
	CHECK_EQ(w.begun[cordon], 1);
	world_release(&w);
}

static void an_end_that_was_taken_is_not_undone_by_a_restart(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	const size_t cordon = THINGS - 1;

	w.open[cordon] = true;
	one_round(&w);
	w.open[cordon] = false;
	meet(&w, true);
	commit(&w, true);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 1);
	restart(&w);
	meet(&w, false);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 0);
	one_round(&w);
	CHECK_EQ(w.begun[cordon], 1);
	CHECK_EQ(w.ended[cordon], 1);
	CHECK_EQ(w.book.map.n, 0);
	world_release(&w);
}

static void after_a_start_what_is_so_comes_before_what_is_over(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };

	w.open[0] = w.open[1] = true;
	one_round(&w);
	w.open[0] = false;
	restart(&w);
	meet(&w, true);
	CHECK_EQ(alert_book_take(&w.book, w.now_us), 1);
	CHECK(!w.book.batch[0]->sent_end);
	CHECK_EQ(alert_book_answer(&w.book, ALERT_TAKEN, w.now_us), 1);
	commit(&w, true);
	CHECK_EQ(alert_book_take(&w.book, w.now_us), 1);
	CHECK(w.book.batch[0]->sent_end);
	(void)alert_book_answer(&w.book, ALERT_TAKEN, w.now_us);
	world_release(&w);
}

static void what_begins_and_ends_while_nobody_listens_is_not_told(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	uint64_t since_us = 0;

	w.open[0] = true;
	meet(&w, true);
	commit(&w, true);
	CHECK_EQ(post(&w, ALERT_UNSENT, false), 0);
	CHECK_EQ(alert_book_waiting(&w.book, &since_us), 1);
	CHECK_EQ(since_us, w.now_us);
	w.open[0] = false;
	w.now_us += USEC_PER_HOUR;
	meet(&w, true);
	CHECK_EQ(alert_book_waiting(&w.book, &since_us), 0);
	commit(&w, true);
	CHECK_EQ(post(&w, ALERT_TAKEN, true), 0);
	CHECK_EQ(w.unheard[0], 0);
	CHECK_EQ(w.book.map.n, 0);
	CHECK(!w.kept[0]);
	world_release(&w);
}

static void what_comes_back_while_its_end_is_on_its_way_begins_anew(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };

	w.open[0] = true;
	one_round(&w);
	w.open[0] = false;
	meet(&w, true);
	commit(&w, true);
	CHECK_EQ(alert_book_take(&w.book, w.now_us), 1);
	deliver(&w);
	w.open[0] = true;
	meet(&w, true);
	(void)alert_book_answer(&w.book, ALERT_TAKEN, w.now_us);
	one_round(&w);
	CHECK(w.fires[0]);
	CHECK_EQ(w.begun[0], 2);
	CHECK_EQ(w.ended[0], 1);
	world_release(&w);
}

static void one_that_is_refused_is_in_nobodys_way(void)
{
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	unsigned rounds = 0, n;

	for (n = 0; n < THINGS; n++)
		w.open[n] = true;
	meet(&w, true);
	commit(&w, true);
	/* The first of them is not what it should be. */
	for (; rounds < 64; rounds++) {
		const size_t taken = alert_book_take(&w.book, w.now_us);
		bool bad = false;
		size_t i;

		if (taken == 0)
			break;
		for (i = 0; i < taken; i++)
			bad |= number_of(w.book.batch[i]->name) == 0;
		if (!bad)
			deliver(&w);
		(void)alert_book_answer(&w.book, bad ? ALERT_REFUSED : ALERT_TAKEN, w.now_us);
	}
	CHECK(rounds < 16);
	for (n = 1; n < THINGS; n++)
		CHECK(w.fires[n]);
	CHECK(!w.fires[0]);
	w.now_us += ALERT_REFUSED_US;
	one_round(&w);
	CHECK(w.fires[0]);
	world_release(&w);
}

static int keep_nothing(void *context UNUSED, const struct alert_row *row UNUSED)
{
	return 0;
}

static void a_batch_has_its_limit(void)
{
	static const size_t want[] = { ALERT_BATCH_MAX, ALERT_BATCH_MAX, 5, 0 };
	struct alert_set set = { .known = 0 };
	struct alert_book book = { .n = 0 };
	struct alert_facts facts = thing(0);
	size_t n;

	for (n = 0; n < 2 * ALERT_BATCH_MAX + 5; n++) {
		facts.incident = (int64_t)n + 1;
		alert_set_add(&set, &facts);
	}
	alert_book_meet(&book, &set, 1, USEC_PER_MIN);
	CHECK_EQ(alert_book_keep(&book, keep_nothing, NULL), 0);
	alert_book_committed(&book);
	for (n = 0; n < ARRAY_SIZE(want); n++) {
		CHECK_EQ(alert_book_take(&book, USEC_PER_MIN), want[n]);
		(void)alert_book_answer(&book, ALERT_TAKEN, USEC_PER_MIN);
	}
	alert_book_release(&book);
	alert_set_release(&set);
}

/* Anything happens, and then all is well again. */
static void play(uint64_t seed)
{
	struct random dice = random_seeded(seed);
	struct world w = { .now_us = 1000 * USEC_PER_SEC };
	size_t step, i;

	for (step = 0; step < 200; step++) {
		const size_t n = random_below(&dice, THINGS);

		w.now_us += random_below(&dice, 90) * USEC_PER_SEC;
		switch (random_below(&dice, 8)) {
		case 0:
			restart(&w);
			break;
		case 1:
			commit(&w, false);
			break;
		case 2:
			(void)post(&w, ALERT_UNSENT, false);
			break;
		case 3:
			(void)post(&w, ALERT_LOST, random_below(&dice, 2));
			break;
		case 4:
			w.open[n] = !w.open[n];
			break;
		case 5:
			(void)post(&w, ALERT_TAKEN, true);
			break;
		default:
			commit(&w, true);
		}
		/* Before anything is told: what is so is looked at first. */
		meet(&w, random_below(&dice, 4) > 0);
	}
	for (i = 0; i < 3; i++)
		one_round(&w);
	CHECK_EQ(w.too_early, 0);
	for (i = 0; i < THINGS; i++) {
		CHECK_EQ(w.fires[i], w.open[i]);
		CHECK_EQ(w.kept[i], w.open[i] ? ROW_OPEN : NO_ROW);
		CHECK_EQ(w.begun[i], w.ended[i] + w.fires[i]);
	}
	world_release(&w);
}

static void whatever_happens_all_that_begins_ends_once(void)
{
	const size_t times = test_times(20000, 1000);
	uint64_t seed;

	for (seed = 1; seed <= times && CU_get_number_of_failures() == 0; seed++)
		play(seed);
	if (CU_get_number_of_failures() > 0)
		(void)printf("seed %" PRIu64 "\n", seed - 1);
}

static const struct test tests[] = {
	TEST(it_is_told_once_that_it_begins_and_once_that_it_ends),
	TEST(nothing_is_told_before_it_is_durable),
	TEST(an_end_that_was_not_delivered_is_told_after_a_restart),
	TEST(what_nobody_knows_after_a_start_is_told_on),
	TEST(an_end_that_was_taken_is_not_undone_by_a_restart),
	TEST(after_a_start_what_is_so_comes_before_what_is_over),
	TEST(what_begins_and_ends_while_nobody_listens_is_not_told),
	TEST(what_comes_back_while_its_end_is_on_its_way_begins_anew),
	TEST(one_that_is_refused_is_in_nobodys_way),
	TEST(a_batch_has_its_limit),
	TEST(whatever_happens_all_that_begins_ends_once),
};

TEST_SUITE(tests);
