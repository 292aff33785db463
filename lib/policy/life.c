/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/life.h"

#include <errno.h>

#include "lib/base/err.h"

const char *const life_state_names[] = {
	[LIFE_HEALTHY] = "healthy",	[LIFE_SUSPECTED] = "suspected",
	[LIFE_RETESTING] = "retesting", [LIFE_CORDONED] = "cordoned",
	[LIFE_DRAINED] = "drained",	[LIFE_IN_REPAIR] = "in-repair",
	[LIFE_VERIFYING] = "verifying", [LIFE_RELEASED] = "released",
	[LIFE_STICKY] = "sticky",	NULL,
};

const char *const life_event_names[] = {
	[EVENT_SUSPECTED] = "suspected",
	[EVENT_CLEARED] = "cleared",
	[EVENT_RETEST] = "retest",
	[EVENT_CORDONED] = "cordoned",
	[EVENT_CORDONED_STICKY] = "cordoned-sticky",
	[EVENT_DRAIN_ASKED] = "drain-asked",
	[EVENT_DRAIN_BEGUN] = "drain-begun",
	[EVENT_DRAINED] = "drained",
	[EVENT_DRAIN_FAILED] = "drain-failed",
	[EVENT_REPAIR_BEGUN] = "repair-begun",
	[EVENT_REPAIR_DONE] = "repair-done",
	[EVENT_VERIFY] = "verify",
	[EVENT_VERIFY_FAILED] = "verify-failed",
	[EVENT_RELEASED] = "released",
	[EVENT_UNCORDONED] = "uncordoned",
	[EVENT_REPLACED] = "replaced",
	[EVENT_SETTLED] = "settled",
	[EVENT_OVERRIDE] = "override",
	[EVENT_SILENCE] = "silence",
	[EVENT_HOLD] = "hold",
	[EVENT_UNHOLD] = "unhold",
	NULL,
};

#define AT(state) (1u << (state))
#define FREE (AT(LIFE_HEALTHY) | AT(LIFE_SUSPECTED) | AT(LIFE_RETESTING) | AT(LIFE_RELEASED))
#define HELD                                                                              \
	(AT(LIFE_CORDONED) | AT(LIFE_DRAINED) | AT(LIFE_IN_REPAIR) | AT(LIFE_VERIFYING) | \
	 AT(LIFE_STICKY))
#define ANY (FREE | HELD)

#define UNDO_CORDON "assayctl uncordon NODE --reason REASON"
#define UNDO_RELEASE "assayctl cordon NODE --reason REASON"
#define UNDO_DRAIN "nothing: pods were evicted; their jobs start elsewhere"

/* Stay in the same state. */
enum { SAME = -2 };

static const struct life_row {
	unsigned from;
	int event, to;
	const char *undo;
} rows[] = {
	{ AT(LIFE_HEALTHY) | AT(LIFE_RELEASED), EVENT_SUSPECTED, LIFE_SUSPECTED,
	  "it clears by itself; assayctl silence NODE --for D --reason REASON" },
	{ AT(LIFE_SUSPECTED) | AT(LIFE_RETESTING), EVENT_CLEARED, LIFE_HEALTHY, "nothing was done" },
	{ FREE, EVENT_RETEST, LIFE_RETESTING, "the test ends on its own" },
	{ FREE, EVENT_CORDONED, LIFE_CORDONED, UNDO_CORDON },
	{ FREE | AT(LIFE_CORDONED) | AT(LIFE_VERIFYING), EVENT_CORDONED_STICKY, LIFE_STICKY,
	  UNDO_CORDON },
	{ HELD, EVENT_DRAIN_ASKED, SAME, "nothing was evicted: it ends with the cordon" },
	{ AT(LIFE_CORDONED) | AT(LIFE_STICKY), EVENT_DRAIN_BEGUN, SAME, UNDO_DRAIN },
	{ AT(LIFE_CORDONED), EVENT_DRAINED, LIFE_DRAINED, UNDO_DRAIN },
	{ AT(LIFE_STICKY), EVENT_DRAINED, SAME, UNDO_DRAIN },
	{ AT(LIFE_CORDONED) | AT(LIFE_STICKY), EVENT_DRAIN_FAILED, SAME, UNDO_DRAIN },
	{ HELD, EVENT_REPAIR_BEGUN, LIFE_IN_REPAIR, "assayctl repair-done NODE" },
	{ HELD, EVENT_REPAIR_DONE, LIFE_VERIFYING, UNDO_CORDON },
	/* A part that was removed for good, a cable that was changed while jobs ran elsewhere. */
	{ AT(LIFE_HEALTHY) | AT(LIFE_SUSPECTED) | AT(LIFE_RELEASED), EVENT_REPAIR_DONE,
	  LIFE_HEALTHY, "whatever is still wrong will be found again" },
	{ AT(LIFE_CORDONED) | AT(LIFE_DRAINED), EVENT_VERIFY, LIFE_VERIFYING, UNDO_CORDON },
	{ AT(LIFE_VERIFYING), EVENT_VERIFY_FAILED, LIFE_CORDONED, UNDO_CORDON },
	{ HELD, EVENT_RELEASED, LIFE_RELEASED, UNDO_RELEASE },
	{ HELD, EVENT_UNCORDONED, LIFE_RELEASED, UNDO_RELEASE },
	{ ANY, EVENT_REPLACED, LIFE_HEALTHY, "it is another machine" },
	{ AT(LIFE_RELEASED), EVENT_SETTLED, LIFE_HEALTHY, "nothing was done" },
	{ ANY, EVENT_OVERRIDE, SAME, "assayctl override NODE --for 0s" },
	{ ANY, EVENT_SILENCE, SAME, "assayctl silence NODE --for 0s --reason REASON" },
	{ FREE, EVENT_HOLD, SAME, "it ends on its own" },
	{ ANY, EVENT_UNHOLD, SAME, "the next test requests it again" },
};

static const struct life_row *find_row(int state, int event)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].event == event && rows[i].from & AT(state))
			return &rows[i];
	}
	return NULL;
}

bool life_holds(int state)
{
	return HELD & AT(state);
}

int life_next(int state, int event)
{
	const struct life_row *row = find_row(state, event);

	if (!row)
		return -1;
	return row->to == SAME ? state : row->to;
}

/* What a person began, or must look at first, only a person may end. */
static bool needs_person(const struct life *life, int event)
{
	bool ends = event == EVENT_RELEASED || event == EVENT_VERIFY || event == EVENT_REPAIR_DONE;

	return ends && (life->manual || life->state == LIFE_STICKY);
}

int life_step(struct life *life, const struct life_change *change, struct life_change *ret,
	      struct err *err)
{
	const struct life_row *row = find_row(life->state, change->event);
	int to = life_next(life->state, change->event);

	if (!row)
		return err_set(err, EINVAL, "a host that is %s cannot be '%s'",
			       life_state_names[life->state], life_event_names[change->event]);
	if (streq(change->who, WHO_AUTOMATIC) && needs_person(life, change->event))
		return err_set(err, EINVAL, "only an operator can release a host that is %s%s",
			       life_state_names[life->state], life->manual ? " by an operator" : "");
	if (ret) {
		*ret = *change;
		ret->from = life->state;
		ret->to = to;
		ret->undo = row->undo;
	}
	if (change->event == EVENT_CORDONED || change->event == EVENT_CORDONED_STICKY)
		life->manual = !streq(change->who, WHO_AUTOMATIC);
	else if (change->event == EVENT_REPAIR_DONE || !life_holds(to))
		life->manual = false;
	if (to != life->state) {
		life->state = to;
		life->since_us = change->at_us;
	}
	return 0;
}
