/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_lead.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_step.h"

/* An unreachable address takes a second per queue; a test takes two writes. */
#define ANSWER_US (20 * USEC_PER_SEC)
#define PATIENCE 3

#define STEP_MAX_US (3 * USEC_PER_SEC)
#define STEP_MIN_US (200 * USEC_PER_MSEC)

static void take_outcome(struct pair_message *m, struct pair_outcome *ret)
{
	size_t i;

	ret->verdict.state = m->state;
	ret->verdict.ok = m->state == SAMPLE_MEASURED ? m->ok : TRI_UNKNOWN;
	ret->lost_full = m->lost_full;
	(void)snprintf(ret->verdict.note, sizeof(ret->verdict.note), "%s", m->note ? m->note : "");
	for (i = 0; i < m->n_samples; i++) {
		ret->samples[i] = m->samples[i];
		m->samples[i] = sample_init();
	}
}

static int unexpected(const struct pair_session *s, struct err *err)
{
	return err_set(err, EPROTO, "%s sent an unexpected answer", s->line.name);
}

/* Ask the other side to open its lanes, and connect ours. Returns 1 if both are ready. */
static int open_both(struct pair_session *s, const struct pair_step *step, struct pair_outcome *ret,
		     struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message ask = pair_message_init(PAIR_OPEN);
	CLEANUP(pair_message_release) struct pair_message answer = pair_message_init(PAIR_BYE);
	int r;

	if (pair_step_open(s, step, &ret->verdict) < 0)
		return 0;
	ask.rail = step->rail;
	ask.forth = step->forth;
	ask.rates = step->rates;
	ask.mtu = step->mtu;
	ask.step_us = step->us;
	pair_lanes_offer(&s->lanes, &ask.offer);
	r = pair_say(s, &ask, err);
	if (r == 0)
		r = pair_hear(s, ANSWER_US, &answer, err);
	if (r < 0)
		return r;
	if (answer.kind == PAIR_FAILED)
		take_outcome(&answer, ret);
	if (answer.kind != PAIR_OFFER)
		return answer.kind == PAIR_FAILED ? 0 : unexpected(s, err);
	return pair_step_connect(s, &answer.offer, &ret->verdict) < 0 ? 0 : 1;
}

static int let_other_write(struct pair_session *s, const struct pair_step *step,
			   struct pair_outcome *ret, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message answer = pair_message_init(PAIR_BYE);
	CLEANUP(freep) char *words = NULL;
	int r = pair_hear(s, ANSWER_US + PATIENCE * step->us, &answer, err);
	size_t i;

	if (r < 0)
		return r;
	if (answer.kind != (step->rates ? PAIR_RATES : PAIR_TRIED))
		return unexpected(s, err);
	take_outcome(&answer, ret);
	if (step->rates)
		words = pair_step_heard(s, &answer.written);
	for (i = 0; words && i < ARRAY_SIZE(ret->samples); i++)
		pair_guard_blame_others(&ret->samples[i], words);
	return 0;
}

/* Run one step. 0 with its outcome, good or bad; errors are of the connection to the peer. */
static int run_step(struct pair_session *s, const struct pair_step *step, struct pair_outcome *ret,
		    struct err *err)
{
	const struct pair_message ready = pair_message_init(PAIR_READY);
	int r;

	*ret = (struct pair_outcome){ .verdict = { .state = SAMPLE_SET_UP, .ok = TRI_UNKNOWN } };
	ret->samples[0] = sample_init();
	ret->samples[1] = sample_init();
	r = open_both(s, step, ret, err);
	if (r > 0) {
		if (step->rates && !step->forth)
			pair_reading_begin(&s->lanes, &s->reading);
		r = pair_say(s, &ready, err);
		if (r == 0 && step->forth)
			pair_step_write(s, step, ret);
		else if (r == 0)
			r = let_other_write(s, step, ret, err);
	} else if (r == 0) {
		/* If set-up failed, the rates get its reason. */
		ret->samples[0].state = ret->samples[1].state = SAMPLE_SET_UP;
		ret->samples[0].note = xstrdup(ret->verdict.note);
		ret->samples[1].note = xstrdup(ret->verdict.note);
	}
	pair_lanes_close(&s->lanes);
	return r;
}

/* Full packets are lost: find out whether smaller ones arrive. */
static int look_for_smaller(struct pair_session *s, const struct pair_step *step,
			    struct pair_outcome *o, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && o->lost_full && pair_smaller_mtus[i]; i++) {
		struct pair_step smaller = *step;
		struct pair_outcome again;

		smaller.mtu = pair_smaller_mtus[i];
		if (o->verdict.mtu && smaller.mtu >= o->verdict.mtu)
			continue;
		r = run_step(s, &smaller, &again, err);
		if (r == 0 && again.verdict.ok == TRI_YES) {
			pair_decide(&o->verdict, SAMPLE_SET_UP, TRI_UNKNOWN,
				    "full packets do not get through, but those of %u bytes do: "
				    "something on the way has a smaller MTU; set the same MTU on "
				    "all ports and switches",
				    smaller.mtu);
			o->lost_full = false;
		}
		pair_outcome_release(&again);
	}
	return r;
}

/* Both sides emit once the other one has acknowledged. */
static int finish(struct pair_session *s, const struct pair_step *step, struct sample *samples,
		  size_t n, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message answer = pair_message_init(PAIR_BYE);
	struct pair_message final = pair_message_init(PAIR_FINAL);
	size_t i;
	int r;

	final.rail = step->rail;
	final.forth = step->forth;
	final.written = s->written;
	final.n_samples = n;
	for (i = 0; i < n; i++) {
		if (!samples[i].check) {
			samples[i].check = xstrdup("rnic_pair");
			samples[i].subject = xstrdup("pair");
			samples[i].unit = xstrdup("1");
		}
		final.samples[i] = samples[i];
	}
	r = pair_say(s, &final, err);
	if (r == 0)
		r = pair_hear(s, ANSWER_US, &answer, err);
	if (r == 0 && answer.kind != PAIR_ACK)
		r = unexpected(s, err);
	for (i = 0; r == 0 && answer.note && i < n; i++)
		pair_guard_blame_others(&samples[i], answer.note);
	return r == 0 ? pair_step_emit(s, step->rail, step->forth, samples, n) : r;
}

/* There is no connection, so the samples of the rates say that on both sides. */
static int finish_unmeasured(struct pair_session *s, const struct pair_step *step,
			     const struct pair_verdict *v, struct err *err)
{
	struct sample samples[2] = { sample_init(), sample_init() };
	int i, r;

	for (i = 0; i < 2; i++) {
		samples[i].state = v->ok == TRI_NO ? SAMPLE_ABORTED : v->state;
		samples[i].note = xstrdup(v->ok == TRI_NO ? "not tried: no connection" : v->note);
	}
	r = finish(s, step, samples, 2, err);
	sample_release(&samples[0]);
	sample_release(&samples[1]);
	return r;
}

/* Returns 1 if the rail connects, 0 if not. */
static int connect_rail(struct pair_session *s, size_t rail, bool forth, struct err *err)
{
	const struct pair_step step = { .rail = rail, .forth = forth, .mtu = s->options->mtu };
	struct sample sample = sample_init();
	struct pair_outcome o;
	int r = run_step(s, &step, &o, err);
	bool connects;

	if (r == 0)
		r = look_for_smaller(s, &step, &o, err);
	connects = o.verdict.ok == TRI_YES;
	if (r == 0) {
		pair_sample_verdict(&sample, &o.verdict);
		r = finish(s, &step, &sample, 1, err);
	}
	if (r == 0 && !connects && !s->options->connect_only)
		r = finish_unmeasured(s, &step, &o.verdict, err);
	sample_release(&sample);
	pair_outcome_release(&o);
	return r < 0 ? r : connects;
}

static int measure_rail(struct pair_session *s, size_t rail, bool forth, uint64_t us,
			struct err *err)
{
	const struct pair_step step = {
		.rail = rail, .forth = forth, .rates = true, .mtu = s->options->mtu, .us = us
	};
	struct pair_outcome o;
	int r = run_step(s, &step, &o, err);

	if (r == 0)
		r = finish(s, &step, o.samples, 2, err);
	pair_outcome_release(&o);
	return r;
}

int pair_lead(struct pair_session *s, struct err *err)
{
	const struct pair_message bye = pair_message_init(PAIR_BYE);
	bool connects[PAIR_PORTS_MAX][2] = { { false } };
	size_t i, left = 2 * s->n_rails;
	int r = 0;

	for (i = 0; r >= 0 && i < 2 * s->n_rails; i++) {
		r = connect_rail(s, i / 2, i % 2 == 0, err);
		connects[i / 2][i % 2] = r > 0;
	}
	for (i = 0; r >= 0 && !s->options->connect_only && i < 2 * s->n_rails; i++, left--) {
		uint64_t us = clock_left_us(s->deadline_us) / (left + 1);

		if (connects[i / 2][i % 2] && us >= STEP_MIN_US)
			r = measure_rail(s, i / 2, i % 2 == 0, MIN(us, STEP_MAX_US), err);
	}
	return r < 0 ? r : pair_say(s, &bye, err);
}
