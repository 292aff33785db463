/* SPDX-License-Identifier: Apache-2.0 */
/* What reports bring: that a host is there, what is in it, and the answers of tests. */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/fnv.h"
#include "lib/base/log.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/report/report.h"

/* A host that did not take its order is told again after this; it obeys an order once. */
#define OFFER_AGAIN_US (60 * USEC_PER_SEC)

#define ORDER_PREFIX "test-"

enum { ARRIVED_MAX = 8192 };

static char *order_id_of(const struct doing *d)
{
	return xasprintf(ORDER_PREFIX "%" PRId64, d->id);
}

/* --- what is in a host --- */

static const bool of_serial[256] = {
	['0' ... '9'] = true,
	['A' ... 'Z'] = true,
	['a' ... 'z'] = true,
	['-'] = true,
};

/* The serial number of a GPU in a subject; its length, 0: none. */
static size_t serial_in(const char *subject, const char **ret_serial)
{
	const char *gpu = strstr(subject, "gpu:GPU-"), *end;

	if (!gpu)
		return 0;
	*ret_serial = end = gpu + strlen("gpu:");
	while (of_serial[(unsigned char)*end])
		end++;
	return (size_t)(end - *ret_serial);
}

static bool has(const char *const *list, size_t n, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strncmp(list[i], text, length) == 0 && !list[i][length])
			return true;
	}
	return false;
}

/* A part that moved takes its record along. */
static void note_parts(struct act *act, const struct report *report)
{
	struct fleet_node *node = fleet_find(&act->fleet, report->node);
	struct act_host *host = act_host(act, report->node);
	const char *serials[FLEET_PARTS_MAX], *serial = NULL;
	uint32_t sum = 0;
	size_t n = 0, length, i;

	for (i = 0; i < report->n_samples && n < FLEET_PARTS_MAX; i++) {
		length = serial_in(report->samples[i].subject, &serial);
		if (length == 0 || has(serials, n, serial, length))
			continue;
		serials[n] = xstrndup(serial, length);
		sum += fnv1a(serials[n++], length);
	}
	if (node)
		fleet_set_env(&act->fleet, node, report->env);
	/* A run that looked at no GPU, or could not see all, tells nothing of what is gone. */
	if (node && host && n > 0 && sum != host->parts && n >= host->n_parts) {
		fleet_set_parts(&act->fleet, node, serials, n);
		host->parts = sum;
		host->n_parts = n;
	}
	for (i = 0; i < n; i++)
		free((void *)(uintptr_t)serials[i]);
}

/* --- arrivals --- */

static int level_outcome(int level)
{
	if (level == VERDICT_INCONCLUSIVE)
		return TEST_NOTHING;
	return level == VERDICT_PASS ? TEST_PASSED : TEST_FAILED;
}

/* What the run says of the finding that it was to reproduce. */
static int item_outcome(const struct verdict *run, const struct doing *test)
{
	int outcome = TEST_NOTHING;
	size_t i;

	if (!test->check)
		return level_outcome(run->level);
	for (i = 0; i < run->n_items; i++) {
		if (streq(run->items[i].check, test->check) &&
		    streq(run->items[i].subject, test->subject))
			return level_outcome(run->items[i].level);
		/* A slow link, or an event, has an item only while it is bad. */
		if (streq(run->items[i].check, test->check))
			outcome = TEST_PASSED;
	}
	return outcome;
}

/*
 * Was it bad again, as the windows count it? A warn by one reference of three is no
 * reproduction.
 */
static bool was_bad(struct act *act, const char *node, const struct doing *test)
{
	struct store_window *rows = NULL;
	int n = store_windows(act->options.store, node, &rows, FLEET_FINDINGS_MAX, NULL), i;
	bool bad = false;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, test->check) && streq(rows[i].subject, test->subject))
			bad = windows_bad(&rows[i].windows, 1) > 0;
		store_window_release(&rows[i]);
	}
	free(rows);
	return bad;
}

static int outcome_of(struct act *act, const struct report *report, const struct doing *test)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict runs[STORE_RUNS_MAX];
	int n = store_runs(act->options.store, report->node, &pool, runs, NULL);
	int outcome = TEST_NOTHING, i;
	bool found = false;

	for (i = 0; i < n; i++) {
		if (!found && streq(runs[i].profile, report->profile)) {
			outcome = item_outcome(&runs[i], test);
			found = true;
		}
		verdict_release(&runs[i]);
	}
	if (outcome == TEST_FAILED && test->check && !was_bad(act, report->node, test))
		outcome = TEST_PASSED;
	return outcome;
}

static const char *order_of(const struct report *report)
{
	return json_string_value(json_object_get(report->order, "id"));
}

static struct doing *test_by_order(const struct act *act, const char *node, const char *order_id)
{
	struct doing *test = doing_test_of(act, node);
	CLEANUP(freep) char *id = test ? order_id_of(test) : NULL;

	return test && streq(id, order_id) ? test : NULL;
}

/*
 * Another machine under the name. In service it begins anew; out of service because of us it
 * has to pass first: nobody has looked at it. What a person took out, a person gives back.
 * It is told once, so it becomes durable with the report that told it.
 */
static void note_replaced(struct act *act, const char *name)
{
	const struct fleet_node *node = fleet_find(&act->fleet, name);
	const bool holds = node && life_holds(node->record.life.state);
	const struct fleet_cause cause = {
		.event = holds ? EVENT_REPAIR_DONE : EVENT_REPLACED,
		.who = WHO_AUTOMATIC,
		.why = "it is another machine now",
	};

	if (!node || (holds && (node->record.life.manual || node->record.life.state == LIFE_STICKY)))
		return;
	(void)act_event(act, name, &cause, NULL);
}

void act_report(struct act *act, const struct report *report, uint64_t at_us, unsigned replaced,
		bool fresh)
{
	const struct doing *test = test_by_order(act, report->node, order_of(report));
	struct act_host *host = act_need_host(act, report->node);
	struct arrived *a;

	if (act->stage == STAGE_FENCED)
		return;
	if (replaced != host->replaced) {
		note_replaced(act, report->node);
		host->parts = 0; /* what is in it is looked at anew */
		host->n_parts = 0;
		host->replaced = replaced;
	}
	if (act->n_arrived == ARRIVED_MAX)
		return;
	act->arrived = xrealloc(act->arrived, act->n_arrived + 1, sizeof(*act->arrived));
	a = &act->arrived[act->n_arrived++];
	*a = (struct arrived){
		.node = xstrdup(report->node),
		.sku = xstrdup(report->sku),
		.order_id = test ? xstrdup(order_of(report)) : NULL,
		.deep = streq(report->profile, "full") && fresh,
		.at_us = at_us,
		.outcome = test ? outcome_of(act, report, test) : TEST_NOTHING,
	};
	note_parts(act, report);
}

/* Nothing is known of it but this: it is kept until the cluster tells of the host. */
static void keep_early(struct act *act, const struct arrived *a)
{
	struct act_host *host = act_host(act, a->node);

	if (!host)
		return;
	host->reported_us = MAX(host->reported_us, a->at_us);
	if (a->deep)
		host->deep_us = MAX(host->deep_us, a->at_us);
	free(host->sku);
	host->sku = xstrdup(a->sku);
}

void act_take_early(struct act *act, struct act_host *host)
{
	struct fleet_node *node = fleet_find(&act->fleet, host->name);

	if (!node || host->reported_us == 0)
		return;
	node->reported_us = MAX(node->reported_us, host->reported_us);
	node->deep_us = MAX(node->deep_us, host->deep_us);
	if (host->sku)
		fleet_set_sku(&act->fleet, node, host->sku);
	host->reported_us = host->deep_us = 0;
	act_load_findings(act, host->name);
}

static void take(struct act *act, const struct arrived *a)
{
	struct fleet_node *node = fleet_find(&act->fleet, a->node);
	struct doing *test = a->order_id ? test_by_order(act, a->node, a->order_id) : NULL;

	if (!node) {
		keep_early(act, a);
		return;
	}
	node->reported_us = MAX(node->reported_us, a->at_us);
	if (a->sku)
		fleet_set_sku(&act->fleet, node, a->sku);
	if (a->deep)
		node->deep_us = MAX(node->deep_us, a->at_us);
	/* First: with its last window the finding goes, and what it was tested for must be
	 * remembered. */
	if (test)
		act_tested(act, test, a->outcome, a->deep);
	act_load_findings(act, a->node);
	act_startup_reported(act, a->node);
}

void act_take_arrived(struct act *act)
{
	struct arrived *list = TAKE(act->arrived);
	size_t n = act->n_arrived, i;

	act->n_arrived = 0;
	for (i = 0; i < n; i++) {
		take(act, &list[i]);
		free(list[i].node);
		free(list[i].sku);
		free(list[i].order_id);
	}
	free(list);
}

/* --- tests --- */

/* An event goes on until it has not been for a while: its incident stays. */
static void quieten_event(struct act *act, const struct doing *test)
{
	struct store_window *rows = NULL;
	int n = store_windows(act->options.store, test->node, &rows, FLEET_FINDINGS_MAX, NULL), i;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, test->check) && streq(rows[i].subject, test->subject)) {
			rows[i].windows = (struct windows){ 0 };
			(void)store_put_window(act->options.store, test->node, &rows[i], NULL);
		}
		store_window_release(&rows[i]);
	}
	free(rows);
}

/* It passed: its windows are empty, and so is what stands in the store. */
static void forget_window(struct act *act, const struct doing *test)
{
	const struct store_window row = { .check = test->check, .subject = test->subject };

	if (bad_run_is_event(test->check)) {
		quieten_event(act, test);
		return;
	}
	(void)store_drop_window(act->options.store, test->node, &row, NULL);
	(void)store_close_incident(act->options.store, test->node, test->check, act_real_us(act),
				   NULL);
}

void act_tested(struct act *act, struct doing *test, int outcome, bool deep)
{
	static const char *const words[] = { "it passed", "it failed again", "it brought nothing" };
	struct fleet_node *node = fleet_find(&act->fleet, test->node);
	struct finding *finding =
		node && test->check ? fleet_finding(node, test->check, test->subject) : NULL;
	const int before = node ? node->record.life.state : 0;
	bool over = false;
	const struct fleet_test result = {
		.outcome = outcome,
		.finding = finding,
		.partner = test->partner,
		.partner_good = test->partner != NULL,
		.deep = deep,
		.at_us = act_real_us(act),
	};

	act->counts.tests_answered += outcome != TEST_NOTHING;
	act->counts.tests_lost += outcome == TEST_NOTHING;
	if (node && (finding || !test->check)) {
		over = fleet_tested(&act->fleet, node, &result);
		if (node->record.life.state != before)
			act_note_change(
				act, node,
				&(struct life_change){ .from = before,
						       .to = node->record.life.state,
						       .event = outcome == TEST_PASSED
									? EVENT_CLEARED
									: EVENT_VERIFY_FAILED,
						       .at_us = result.at_us,
						       .who = WHO_AUTOMATIC,
						       .why = words[outcome] });
		if (over)
			forget_window(act, test);
		(void)act_keep_record(act, node, NULL);
	} else if (node) {
		node->record.ordered_us = 0;
	}
	doing_end(test, outcome == TEST_NOTHING ? ACTION_FAILED : ACTION_DONE, 200, words[outcome]);
	if (act_host(act, test->node) && act->stage == STAGE_ACTING)
		act_observe(act, act_host(act, test->node));
}

/* Nobody answered, or a clean-up has ended it. */
void act_tests_due(struct act *act)
{
	const struct policy *policy = act->options.policy(act->options.context);
	struct doing *d, *next;

	for (d = act->doings; d; d = next) {
		const struct fleet_node *node = fleet_find(&act->fleet, d->node);

		next = d->next;
		if (d->phase != PHASE_TEST || d->resumed || !node)
			continue;
		if (node->record.ordered_us == 0)
			doing_end(d, ACTION_DROPPED, 409, "what it was for is over");
		else if (act_real_us(act) - d->decided_us > policy->retest_timeout_us)
			act_tested(act, d, TEST_NOTHING, false);
	}
}

json_t *act_order(struct act *act, const char *node)
{
	const struct policy *policy = act->options.policy(act->options.context);
	struct doing *test = doing_test_of(act, node);
	CLEANUP(freep) char *id = NULL;
	char deadline[CLOCK_STAMP_SIZE], now[CLOCK_STAMP_SIZE];
	uint64_t now_us = act_mono_us(act);

	/* One with a partner is a campaign: actor_paired.c. */
	if (!test || test->partner || act->stage != STAGE_ACTING ||
	    (test->offered_us && now_us - test->offered_us < OFFER_AGAIN_US))
		return NULL;
	test->offered_us = now_us;
	id = order_id_of(test);
	clock_stamp(act_real_us(act), now);
	clock_stamp(test->decided_us + policy->retest_timeout_us, deadline);
	return json_pack("{s:s, s:s, s:s, s:s}", "id", id, "kind", "deep", "now", now, "deadline",
			 deadline);
}
