/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_follow.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair_step.h"

struct follower {
	struct pair_session *session;
	struct pair_step step;
	bool open; /* our lanes are connected for `step` */
	bool over;
};

static int say_failed(struct pair_session *s, const struct pair_verdict *v, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message m = pair_message_init(PAIR_FAILED);

	m.state = v->state;
	m.ok = v->ok;
	m.note = xstrdup(v->note);
	return pair_say(s, &m, err);
}

static int on_open(struct follower *f, struct pair_message *m, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message answer = pair_message_init(PAIR_OFFER);
	struct pair_session *s = f->session;
	struct pair_verdict v = { .state = SAMPLE_SET_UP };

	if (m->rail >= s->n_rails)
		return err_set(err, EPROTO, "%s asked for a rail that does not exist", s->line.name);
	f->step = (struct pair_step){ .rail = m->rail,
				      .forth = m->forth,
				      .rates = m->rates,
				      .mtu = (unsigned)m->mtu,
				      .us = m->step_us };
	if (pair_step_open(s, &f->step, &v) < 0)
		return say_failed(s, &v, err);
	pair_lanes_offer(&s->lanes, &answer.offer);
	/* Connect before answering, so that we are ready when the leader writes. */
	if (pair_step_connect(s, &m->offer, &v) < 0)
		return say_failed(s, &v, err);
	if (f->step.rates && f->step.forth)
		pair_reading_begin(&s->lanes, &s->reading);
	f->open = true;
	return pair_say(s, &answer, err);
}

static int on_ready(struct follower *f, struct pair_message *m, struct err *err)
{
	struct pair_session *s = f->session;
	struct pair_message tried = pair_message_init(PAIR_TRIED);
	struct pair_outcome o = { .verdict = { .state = SAMPLE_SET_UP, .ok = TRI_UNKNOWN } };
	int r;

	(void)m;
	if (!f->open)
		return err_set(err, EPROTO, "%s is not ready", s->line.name);
	if (f->step.forth)
		return 0;
	o.samples[0] = sample_init();
	o.samples[1] = sample_init();
	pair_step_write(s, &f->step, &o);
	if (f->step.rates) {
		tried.kind = PAIR_RATES;
		tried.written = s->written;
		tried.samples[0] = o.samples[0];
		tried.samples[1] = o.samples[1];
		tried.n_samples = 2;
	} else {
		tried.state = o.verdict.state;
		tried.ok = o.verdict.ok;
		tried.lost_full = o.lost_full;
		tried.note = xstrdup(o.verdict.note);
	}
	r = pair_say(s, &tried, err);
	if (!f->step.rates)
		pair_outcome_release(&o);
	pair_message_release(&tried);
	return r;
}

static int on_final(struct follower *f, struct pair_message *m, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message ack = pair_message_init(PAIR_ACK);
	struct pair_session *s = f->session;
	size_t i;
	int r;

	if (m->rail >= s->n_rails)
		return err_set(err, EPROTO, "%s named a rail that does not exist", s->line.name);
	/* Foreign traffic may only be seen on this side, but both sides must emit the same. */
	ack.note = pair_step_heard(s, &m->written);
	for (i = 0; ack.note && i < m->n_samples; i++)
		pair_guard_blame_others(&m->samples[i], ack.note);
	r = pair_say(s, &ack, err);
	return r < 0 ? r : pair_step_emit(s, m->rail, m->forth, m->samples, m->n_samples);
}

static int on_bye(struct follower *f, struct pair_message *m, struct err *err)
{
	(void)m;
	(void)err;
	f->over = true;
	return 0;
}

static const struct {
	int (*handle)(struct follower *f, struct pair_message *m, struct err *err);
	bool keeps; /* the lanes of the step stay open */
} rows[PAIR_KINDS] = {
	[PAIR_OPEN] = { on_open, false },
	[PAIR_READY] = { on_ready, true },
	[PAIR_FINAL] = { on_final, false },
	[PAIR_BYE] = { on_bye, false },
};

static int follow_once(struct follower *f, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message m = pair_message_init(PAIR_BYE);
	struct pair_session *s = f->session;
	/* Only the leader knows how long it will measure; the budget covers both sides. */
	int r = pair_hear(s, clock_left_us(s->deadline_us), &m, err);

	if (r < 0)
		return r;
	if (!rows[m.kind].handle)
		return err_set(err, EPROTO, "%s sent an unexpected message", s->line.name);
	if (!rows[m.kind].keeps) {
		pair_lanes_close(&s->lanes);
		f->open = false;
	}
	return rows[m.kind].handle(f, &m, err);
}

int pair_follow(struct pair_session *s, struct err *err)
{
	struct follower f = { .session = s };
	int r = 0;

	while (r == 0 && !f.over)
		r = follow_once(&f, err);
	pair_lanes_close(&s->lanes);
	return r;
}
