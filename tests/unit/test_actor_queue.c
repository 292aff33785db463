/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_queue.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { EVENTS_MAX = 8 };

/* What was handled, in its order. */
struct log {
	struct actor_queue queue;
	enum actor_event_kind kinds[EVENTS_MAX];
	size_t n;
	unsigned depth;
	struct cluster_call *answered; /* while the first is handled, NULL: nothing is */
	char *node, *words, *job, *uid, *wrong;
	int64_t action;
	uint64_t epoch;
};

static void forget(struct log *log)
{
	free(TAKE(log->node));
	free(TAKE(log->words));
	free(TAKE(log->job));
	free(TAKE(log->uid));
	free(TAKE(log->wrong));
}

static void answer(const struct cluster_call *call)
{
	char words[] = "no", uid[] = "u-1", job[] = "train";
	const char *jobs[] = { job };
	const struct cluster_node node = { .uid = uid };

	call->done(call->context, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							    .words = words,
							    .node = &node,
							    .jobs = jobs,
							    .n_jobs = 1 });
	/* What was borrowed may go. */
	words[0] = uid[0] = job[0] = 'x';
}

static void handle(void *context, struct actor_event *event)
{
	struct log *log = context;
	struct cluster_call *call = TAKE(log->answered);

	CHECK_EQ(log->depth++, 0);
	if (call) {
		answer(call);
		actor_queue_put(&log->queue, &(struct actor_event){ .kind = ACTOR_SYNCED });
	}
	log->kinds[log->n++] = event->kind;
	forget(log);
	log->node = xstrdup(event->about.node);
	log->action = event->about.action;
	log->words = xstrdup(event->answer.words);
	log->job = event->answer.n_jobs ? xstrdup(event->answer.jobs[0]) : NULL;
	log->uid = event->answer.node ? xstrdup(event->answer.node->uid) : NULL;
	log->wrong = xstrdup(event->ledger.wrong);
	log->epoch = event->ledger.ledger.epoch;
	CHECK(event->answer.text == NULL);
	log->depth--;
}

static void open_log(struct log *log)
{
	*log = (struct log){ 0 };
	actor_queue_init(&log->queue, handle, log);
}

static void what_comes_while_one_is_handled_waits_for_its_turn(void)
{
	struct log log;
	struct cluster_call call;

	open_log(&log);
	call = actor_queue_call(&log.queue, ACTOR_APPLIED, &(struct actor_about){ "n1", 17 });
	log.answered = &call;
	actor_queue_put(&log.queue, &(struct actor_event){ .kind = ACTOR_TICK });
	CHECK_EQ(log.n, 3); /* all of it, before it returned */
	CHECK_EQ(log.kinds[0], ACTOR_TICK);
	CHECK_EQ(log.kinds[1], ACTOR_APPLIED);
	CHECK_EQ(log.kinds[2], ACTOR_SYNCED);
	forget(&log);
}

static void an_answer_says_what_it_is_about_and_owns_what_it_says(void)
{
	struct log log;
	char node[] = "n1";
	struct cluster_call call;

	open_log(&log);
	call = actor_queue_call(&log.queue, ACTOR_JOBS, &(struct actor_about){ node, 17 });
	node[0] = 'x';
	answer(&call);
	CHECK_EQ(log.n, 1);
	CHECK_STR(log.node, "n1");
	CHECK_EQ(log.action, 17);
	CHECK_STR(log.words, "no");
	CHECK_STR(log.job, "train");
	CHECK_STR(log.uid, "u-1");
	forget(&log);
}

static void read_ledger(struct log *log, const char *text)
{
	const struct cluster_call call =
		actor_queue_call(&log->queue, ACTOR_LEDGER_READ, &(struct actor_about){ 0 });

	call.done(call.context,
		  &(struct cluster_answer){ .result = CLUSTER_DONE, .words = "", .text = text });
}

/* A handler that does not take it leaves it to the event: sanitizers would find a leak. */
static void a_ledger_that_was_read_comes_as_what_it_says(void)
{
	struct ledger_holder a = { .node = (char *)(uintptr_t) "a" };
	struct ledger l = { .epoch = 7, .holders = &a, .n_holders = 1 };
	CLEANUP(freep) char *text = ledger_encode(&l);
	struct log log;

	open_log(&log);
	read_ledger(&log, text);
	CHECK_EQ(log.epoch, 7);
	CHECK(log.wrong == NULL);
	read_ledger(&log, "{\"v\": 2}");
	CHECK_EQ(log.epoch, 0);
	CHECK_HAS(log.wrong, "version 1");
	forget(&log);
}

static void an_answer_to_what_was_asked_before_a_restart_is_dropped(void)
{
	struct log log;
	struct cluster_call before, after;

	open_log(&log);
	before = actor_queue_call(&log.queue, ACTOR_LEDGER_READ, &(struct actor_about){ 0 });
	actor_queue_restart(&log.queue);
	after = actor_queue_call(&log.queue, ACTOR_LEDGER_WRITTEN, &(struct actor_about){ 0 });
	answer(&before);
	CHECK_EQ(log.n, 0);
	answer(&after);
	CHECK_EQ(log.n, 1);
	CHECK_EQ(log.kinds[0], ACTOR_LEDGER_WRITTEN);
	forget(&log);
}

static const struct test tests[] = {
	TEST(what_comes_while_one_is_handled_waits_for_its_turn),
	TEST(an_answer_says_what_it_is_about_and_owns_what_it_says),
	TEST(a_ledger_that_was_read_comes_as_what_it_says),
	TEST(an_answer_to_what_was_asked_before_a_restart_is_dropped),
};

TEST_SUITE(tests);
