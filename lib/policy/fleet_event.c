/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a node, automatically, by assayctl or by hand, all goes through here. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/policy/fleet.h"
#include "lib/policy/rungs.h"

/* What an event does to the node besides its state; bits. */
enum {
	DO_TAKE = 1,	 /* our cordon is set */
	DO_CLEAN = 2,	 /* our cordon is over, with all that belongs to it */
	DO_DROP = 4,	 /* findings were about something that is gone */
	DO_OVERRIDE = 8, /* no cordon until ... */
	DO_SILENCE = 16,
	DO_HOLD = 32,
	DO_UNHOLD = 64,
	DO_ORDER = 128,	  /* a test is under way */
	DO_FORGET = 256,  /* another machine: orders about the old one no longer hold */
	DO_RECOUNT = 512, /* start counting passes again */
	DO_ASKED = 1024,  /* its jobs were asked to leave */
	DO_DRAIN = 2048,  /* eviction of its jobs begins */
	DO_DRAINED = 4096 /* ... ends */
};

static const unsigned effects[LIFE_EVENTS] = {
	[EVENT_RETEST] = DO_ORDER,
	[EVENT_CORDONED] = DO_TAKE,
	[EVENT_CORDONED_STICKY] = DO_TAKE,
	[EVENT_DRAIN_ASKED] = DO_ASKED,
	[EVENT_DRAIN_BEGUN] = DO_DRAIN,
	[EVENT_DRAINED] = DO_DRAINED,
	[EVENT_DRAIN_FAILED] = DO_DRAINED,
	[EVENT_REPAIR_DONE] = DO_DROP | DO_RECOUNT,
	[EVENT_VERIFY] = DO_ORDER,
	[EVENT_VERIFY_FAILED] = DO_RECOUNT,
	[EVENT_RELEASED] = DO_CLEAN,
	[EVENT_UNCORDONED] = DO_CLEAN | DO_OVERRIDE,
	[EVENT_REPLACED] = DO_CLEAN | DO_DROP | DO_FORGET,
	[EVENT_OVERRIDE] = DO_OVERRIDE,
	[EVENT_SILENCE] = DO_SILENCE,
	[EVENT_HOLD] = DO_HOLD,
	[EVENT_UNHOLD] = DO_UNHOLD,
};

/* Lets the hold expire; policy_decide() lifts it, since that is an effect. */
static void end_hold(struct fleet_node *node, uint64_t now_us)
{
	if (node->out & OUT_HOLD)
		node->record.hold_until_us = MIN(node->record.hold_until_us, now_us);
}

static void unhold(struct fleet_node *node)
{
	node->out &= ~(unsigned)OUT_HOLD;
	node->record.hold_until_us = 0;
}

/* The common end of every cordon. */
static void clean_up(struct fleet_node *node, uint64_t now_us)
{
	struct node_record *record = &node->record;
	struct finding *finding;

	node->out &= ~(unsigned)OUT_OURS;
	record->ordered_us = 0;
	record->tested_us = 0;
	record->wanted_us = 0;
	record->passes = 0;
	record->aborted = 0;
	record->marked_us = 0;
	record->clear_us = now_us;
	record->asked_us = record->drain_us = record->drained_us = 0;
	for (finding = node->findings; finding; finding = finding->next) {
		finding->reproduced = 0;
		finding->passed = 0;
		finding->tested_us = 0;
	}
}

static void take(struct fleet *f, struct fleet_node *node, const struct fleet_cause *cause,
		 uint64_t now_us)
{
	struct part *host = node->parts[0];

	node->out |= OUT_OURS;
	end_hold(node, now_us);
	node->record.ordered_us = 0;
	node->record.passes = 0;
	node->record.marked_us = cause->marked_us;
	if (cause->born)
		node->record.born_us = cause->marked_us ? cause->marked_us : now_us;
	part_count(cause->serial ? fleet_part(f, cause->serial) : host, now_us);
}

static void note_drain(struct node_record *record, unsigned effect, uint64_t now_us)
{
	if (effect & DO_ASKED)
		record->asked_us = now_us;
	if (effect & (DO_DRAIN | DO_DRAINED) && record->drain_us == 0)
		record->drain_us = now_us;
	if (effect & DO_DRAINED)
		record->drained_us = now_us;
}

static void apply(struct fleet *f, struct fleet_node *node, const struct fleet_cause *cause,
		  uint64_t now_us)
{
	struct node_record *record = &node->record;
	unsigned effect = effects[cause->event];

	if (cause->event == EVENT_RELEASED && !streq(cause->who, WHO_AUTOMATIC))
		effect |= DO_OVERRIDE;

	if (effect & DO_TAKE)
		take(f, node, cause, now_us);
	if (effect & DO_DROP)
		fleet_drop_findings(node);
	if (effect & DO_CLEAN)
		clean_up(node, now_us);
	if (effect & DO_UNHOLD)
		unhold(node);
	if (effect & DO_RECOUNT) {
		record->passes = 0;
		record->ordered_us = 0;
	}
	if (effect & DO_ORDER)
		record->ordered_us = now_us;
	if (effect & DO_FORGET) {
		record->override_us = record->override_until_us = 0;
		record->silence_until_us = 0;
		/* The cluster still has it: it takes room in the budgets until it is lifted. */
		end_hold(node, now_us);
		node->parts[0]->n_cordons = 0;
		node->n_parts = 1;
		node->deep_us = 0;
		node->known_us = now_us;
	}
	if (effect & DO_OVERRIDE) {
		record->override_us = now_us;
		record->override_until_us = cause->until_us;
	}
	note_drain(record, effect, now_us);
	if (effect & DO_SILENCE)
		record->silence_until_us = cause->until_us;
	if (effect & DO_HOLD) {
		node->out |= OUT_HOLD;
		record->hold_until_us = cause->until_us;
	}
}

int fleet_event(struct fleet *f, struct fleet_node *node, const struct fleet_cause *cause,
		uint64_t now_us, struct life_change *ret, struct err *err)
{
	const struct life_change change = { .event = cause->event,
					    .at_us = now_us,
					    .who = cause->who,
					    .why = cause->why,
					    .evidence = cause->evidence };
	int r = life_step(&node->record.life, &change, ret, err);

	if (r < 0)
		return err_wrap(err, r, "%s", node->name);
	apply(f, node, cause, now_us);
	return 0;
}

bool fleet_is_pair_check(const char *check)
{
	static const char *const prefixes[] = { "rnic_pair.", "all_reduce.", "rnic.flapping" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (starts_with(check, prefixes[i]))
			return true;
	}
	return false;
}

bool finding_is_pair(const struct finding *finding)
{
	return fleet_is_pair_check(finding->check);
}

bool fleet_is_born_part(const struct finding *finding)
{
	return ((finding->born && fleet_is_of_parts(finding)) || finding->was_born) &&
	       family_find(finding->check, NULL)->compared;
}

/* One pass is enough for a pair, or for something that is present or not; a value needs more. */
static unsigned passes_that_end(const struct finding *finding)
{
	return family_find(finding->check, NULL)->compared && !finding_is_pair(finding)
		       ? FINDING_PASSES
		       : 1;
}

static bool tested_finding(struct fleet *f, struct fleet_node *node, const struct fleet_test *test)
{
	const struct fleet_cause cleared = { .event = EVENT_CLEARED,
					     .who = WHO_AUTOMATIC,
					     .why = "the test passed" };
	struct finding *finding = test->finding;

	finding->tested_us = test->at_us;
	free(finding->partner);
	finding->partner = xstrdup(test->partner);
	if (test->outcome == TEST_FAILED) {
		/* It found what was always there, and nothing that it was to show. */
		if (fleet_is_born_part(finding))
			return false;
		if (!finding_is_pair(finding) || test->partner_good)
			finding->reproduced++;
		finding->passed = 0;
		return false;
	}
	finding->reproduced = 0;
	if (++finding->passed < passes_that_end(finding))
		return false;
	finding->exonerated++;
	fleet_quieten(finding);
	(void)fleet_event(f, node, &cleared, test->at_us, NULL, NULL);
	return true;
}

static void tested_node(struct fleet *f, struct fleet_node *node, const struct fleet_test *test)
{
	const struct fleet_cause failed = { .event = EVENT_VERIFY_FAILED,
					    .who = WHO_AUTOMATIC,
					    .why = "the test failed" };

	if (node->record.life.state != LIFE_VERIFYING)
		return;
	if (test->outcome == TEST_PASSED)
		node->record.passes++;
	else
		(void)fleet_event(f, node, &failed, test->at_us, NULL, NULL);
}

static bool is_last_test(const struct fleet_node *node, const struct fleet_test *test)
{
	const struct blame *blame = &node->blame;

	return blame->class != BLAME_LINK &&
	       (test->deep || !blame->rung || rungs_is_last(blame->class, blame->rung));
}

bool fleet_tested(struct fleet *f, struct fleet_node *node, const struct fleet_test *test)
{
	/*
	 * The problem of a job was shown: the host is tested again or taken out, without jobs. The
	 * same if it passed a rung that is not the last, or is an end of a link that passed by
	 * itself: pairs with others are next. A group is held until the job says of each of its
	 * hosts that it is cleared.
	 */
	const bool goes_on = test->outcome == TEST_FAILED || node->blame.group ||
			     (test->outcome == TEST_PASSED && !is_last_test(node, test));

	if (!goes_on || !blame_holds(&node->blame, test->at_us))
		end_hold(node, test->at_us);
	node->record.ordered_us = 0;
	if (!test->finding)
		node->record.tested_us = test->at_us;
	if (test->outcome == TEST_NOTHING) {
		node->record.aborted++;
		return false;
	}
	node->record.aborted = 0;
	if (test->deep)
		node->deep_us = test->at_us;
	if (test->finding)
		return tested_finding(f, node, test);
	tested_node(f, node, test);
	return false;
}
