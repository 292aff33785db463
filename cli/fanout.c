/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fanout.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/act.h"
#include "cli/command.h"
#include "cli/targets.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

enum slot_state { SLOT_UNUSED, SLOT_SENT, SLOT_BUSY, SLOT_ANSWERED };

/* One host. */
struct slot {
	enum slot_state state;
	struct link_pending *pending; /* SLOT_SENT */
	uint64_t until_us;	      /* monotonic deadline for the answer */
	uint64_t again_us;	      /* SLOT_BUSY: monotonic time of the retry */
	struct fanout_answer answer;  /* SLOT_ANSWERED */
};

struct fanout {
	struct link *link;
	const struct request *request;
	const struct targets *targets;
	struct slot slots[LINK_AT_ONCE]; /* host i in slot i % LINK_AT_ONCE */
	size_t sent, taken;		 /* number of hosts */
	size_t at_once;
	bool stopped;
};

struct fanout *fanout_new(struct link *link, const struct request *request,
			  const struct targets *targets)
{
	struct fanout *f = xcalloc(1, sizeof(*f));

	*f = (struct fanout){ .link = link, .request = request, .targets = targets, .at_once = 1 };
	return f;
}

void fanout_free(struct fanout *f)
{
	size_t i;

	for (i = 0; f && i < LINK_AT_ONCE; i++) {
		link_pending_free(f->slots[i].pending);
		if (f->slots[i].state == SLOT_ANSWERED)
			json_decref(f->slots[i].answer.sent.value);
	}
	free(f);
}

void fanout_stop(struct fanout *f)
{
	f->stopped = true;
}

/* --- one host --- */

static void answered(struct slot *slot, int r)
{
	slot->answer.r = r;
	slot->state = SLOT_ANSWERED;
}

static void send_slot(struct fanout *f, struct slot *slot)
{
	int r;

	slot->answer.err = (struct err)ERR_INIT;
	link_begin_until(f->link, slot->until_us);
	r = act_start(f->link, f->request, slot->answer.name, &slot->pending, &slot->answer.err);
	slot->state = SLOT_SENT;
	if (r < 0)
		answered(slot, r);
}

/* Retry while the controller is busy and there is time. */
static void finish_slot(struct fanout *f, struct slot *slot)
{
	struct fanout_answer *answer = &slot->answer;
	int r = link_finish(slot->pending, &answer->sent, &answer->err);

	slot->pending = NULL;
	slot->again_us = clock_mono_us() + MAX(answer->sent.retry_after_us, USEC_PER_SEC);
	if (r == -EAGAIN && slot->again_us < slot->until_us) {
		slot->state = SLOT_BUSY;
		return;
	}
	if (r == 0)
		act_put_undo(f->request, answer->name, answer->sent.value);
	answered(slot, r);
}

/* --- all of them --- */

static void send_more(struct fanout *f)
{
	while (!f->stopped && f->sent < f->targets->n && f->sent - f->taken < f->at_once) {
		struct slot *slot = &f->slots[f->sent % LINK_AT_ONCE];

		*slot = (struct slot){
			.until_us = clock_mono_us() + f->request->settings.timeout_us,
			.answer.name = f->targets->names[f->sent],
		};
		send_slot(f, slot);
		f->sent++;
	}
}

/* Handle answers and retries that are due. Returns when to look next. */
static uint64_t look(struct fanout *f)
{
	const uint64_t now_us = clock_mono_us();
	uint64_t next_us = UINT64_MAX;
	size_t i;

	for (i = f->taken; i < f->sent; i++) {
		struct slot *slot = &f->slots[i % LINK_AT_ONCE];

		if (slot->state == SLOT_SENT && link_is_done(slot->pending))
			finish_slot(f, slot);
		else if (slot->state == SLOT_BUSY && slot->again_us <= now_us)
			send_slot(f, slot);
		if (slot->state == SLOT_BUSY)
			next_us = MIN(next_us, slot->again_us);
	}
	return next_us;
}

/* The loop has ended: pending requests will not be answered. */
static void give_up(struct fanout *f, int r, const struct err *err)
{
	size_t i;

	fanout_stop(f);
	for (i = f->taken; i < f->sent; i++) {
		struct slot *slot = &f->slots[i % LINK_AT_ONCE];

		if (slot->state == SLOT_ANSWERED)
			continue;
		link_pending_free(slot->pending);
		slot->pending = NULL;
		slot->answer.err = *err;
		answered(slot, r);
	}
}

bool fanout_take(struct fanout *f, struct fanout_answer *ret)
{
	struct slot *slot = &f->slots[f->taken % LINK_AT_ONCE];

	send_more(f);
	if (f->taken == f->sent)
		return false;
	for (;;) {
		const uint64_t next_us = look(f);
		struct err err = ERR_INIT;
		int r;

		if (slot->state == SLOT_ANSWERED)
			break;
		r = link_turn(f->link, next_us, &err);
		if (r < 0)
			give_up(f, r, &err);
	}
	*ret = slot->answer;
	slot->state = SLOT_UNUSED;
	f->taken++;
	if (ret->r == 0 && f->request->command->apart)
		f->at_once = LINK_AT_ONCE;
	return true;
}
