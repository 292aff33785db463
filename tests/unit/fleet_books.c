/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fleet_books.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"

struct truth *truth_of(struct books *w, const struct fleet_node *node)
{
	return &w->truth[strtoul(node->name + 1, NULL, 10)];
}

unsigned books_out(const struct truth *t)
{
	return (unsigned)(t->ours * OUT_OURS + t->others * OUT_OTHERS +
			  t->not_ready * OUT_NOT_READY + t->held * OUT_HOLD);
}

static bool is_out(const struct truth *t)
{
	return t->there && (t->ours || t->others || t->held || t->not_ready);
}

static size_t count_out(const struct books *w, int domain, int job)
{
	size_t n = 0, i;

	for (i = 0; i < NODES_MAX; i++) {
		const struct truth *t = &w->truth[i];

		n += is_out(t) && (domain < 0 || t->domain == domain) && (job < 0 || t->job == job);
	}
	return n;
}

static size_t total_cap(const struct books *w)
{
	size_t cap = (size_t)(w->policy.total_percent * (double)w->fleet.n / 100);

	if (cap == 0 && w->policy.total_percent > 0)
		cap = 1;
	if (w->policy.total_nodes > 0 && w->policy.total_nodes < cap)
		cap = w->policy.total_nodes;
	return cap;
}

static size_t cordons_in_window(const struct books *w)
{
	size_t n = 0;

	/* Sorted by time, because it only advances. */
	while (n < w->n_stamps && w->now_us - w->stamps[w->n_stamps - 1 - n] < w->policy.rate_per_us)
		n++;
	return n;
}

void books_check_room(const struct books *w, const struct truth *t)
{
	if (is_out(t))
		return;
	CHECK(count_out(w, -1, -1) < total_cap(w));
	if (w->policy.domain_label && t->domain > 0)
		CHECK(count_out(w, t->domain, -1) < w->policy.domain_max);
	if (t->job > 0)
		CHECK(count_out(w, -1, t->job) < w->policy.per_job);
}

void books_check_rate(const struct books *w)
{
	CHECK(cordons_in_window(w) < w->policy.rate_cordons);
}

static bool counts_as_born(const struct books *w, const struct truth *t)
{
	return t->there && t->born_us > 0 && w->now_us - t->born_us < w->policy.jobs.born_per_us;
}

/* All are of one SKU. */
static void check_born(struct books *w, struct truth *t)
{
	size_t n = 0, i;

	for (i = 0; i < NODES_MAX; i++)
		n += counts_as_born(w, &w->truth[i]);
	CHECK(n < (size_t)(w->policy.jobs.born_percent * (double)w->fleet.n / 100));
	CHECK(!counts_as_born(w, t));
	t->born_us = w->now_us;
	w->born++;
}

void books_count_cordon(struct books *w)
{
	if (w->n_stamps < STAMPS_MAX)
		w->stamps[w->n_stamps++] = w->now_us;
}

/* ---- checks of every result ---------------------------------------------------- */

void books_check_refusal(const struct refusal *refusal)
{
	CHECK(refusal->by > REFUSED_BY_NONE && refusal->by < REFUSED_BY_COUNT);
	CHECK(starts_with(refusal->sentence, refused_by_names[refusal->by]));
	CHECK(refusal->allow[0] != '\0');
}

static void check_cordon(struct books *w, const struct decision *one)
{
	struct truth *t = truth_of(w, one->node);

	books_check_room(w, t);
	books_check_rate(w);
	CHECK(!w->breaker.open);
	CHECK(!t->others && !t->opted_out && !t->ours);
	CHECK(t->silence_until_us <= w->now_us);
	CHECK(t->override_until_us <= w->now_us ||
	      (one->fatal && one->finding->fatal_us > t->override_us));
	CHECK(one->fatal || !finding_is_pair(one->finding) || one->finding->reproduced > 0);
	CHECK(one->fatal || !streq(one->rule, "slow") ||
	      one->finding->reproduced >= w->policy.retest_times ||
	      blame_fits(&one->node->blame, one->finding->check, one->finding->seen_us, w->now_us));
}

static void carry_out(struct books *w, const struct decision *one)
{
	struct truth *t = truth_of(w, one->node);
	struct life_change change;
	struct err err = ERR_INIT;

	if (one->action == DECIDE_CORDON || one->action == DECIDE_CORDON_DRAIN) {
		check_cordon(w, one);
		CHECK_EQ(one->born, !one->fatal && fleet_is_born_part(one->finding));
		if (one->born)
			check_born(w, t);
		t->ours = true;
		t->by_person = one->sticky;
		books_count_cordon(w);
		w->granted++;
	} else if (one->action == DECIDE_HOLD) {
		books_check_room(w, t);
		CHECK(!w->breaker.open);
		CHECK(!t->others && !t->opted_out);
		t->held = true;
	} else if (one->action == DECIDE_UNHOLD) {
		CHECK(t->held);
		t->held = false;
	} else if (one->action == DECIDE_RELEASE) {
		CHECK(t->ours && !t->by_person);
		t->ours = false;
		w->released++;
	} else if (one->action == DECIDE_RETEST) {
		CHECK(!w->breaker.open && !t->opted_out && !t->others);
	}
	CHECK_EQ(policy_applied(&w->policy, &w->fleet, &w->breaker, one, w->now_us, &change, &err),
		 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(one->node->out, books_out(t));
	CHECK_EQ(life_holds(one->node->record.life.state), t->ours);
}

/* Deciding again without carrying anything out gives the same decisions. */
static void check_same(struct books *w)
{
	struct outcome again = { 0 };
	size_t i;

	policy_decide(&w->policy, &w->fleet, &w->breaker, w->now_us, &again);
	CHECK_EQ(again.n, w->out.n);
	CHECK_EQ(again.n_changes, 0);
	CHECK(!again.opened);
	for (i = 0; i < MIN(again.n, w->out.n); i++) {
		const struct decision *a = &w->out.items[i], *b = &again.items[i];

		CHECK(a->node == b->node && a->action == b->action && a->effect == b->effect);
		CHECK_STR(a->reason, b->reason);
		CHECK_STR(a->partner, b->partner);
		CHECK_EQ(a->refused ? a->refused->by : 0, b->refused ? b->refused->by : 0);
	}
	outcome_release(&again);
}

static size_t count_effects(const struct outcome *out, int action)
{
	size_t n = 0, i;

	for (i = 0; i < out->n; i++)
		n += out->items[i].action == action && out->items[i].effect;
	return n;
}

/* With the breaker open the same fleet gets all its releases and no new cordon. */
static void check_breaker(struct books *w)
{
	struct breaker open = w->breaker;
	struct outcome out = { 0 };

	(void)breaker_open(&open, BREAKER_HAND, w->now_us, "test");
	policy_decide(&w->policy, &w->fleet, &open, w->now_us, &out);
	CHECK(open.open);
	CHECK_EQ(count_effects(&out, DECIDE_RELEASE), count_effects(&w->out, DECIDE_RELEASE));
	CHECK_EQ(count_effects(&out, DECIDE_UNHOLD), count_effects(&w->out, DECIDE_UNHOLD));
	CHECK_EQ(count_effects(&out, DECIDE_VERIFY), count_effects(&w->out, DECIDE_VERIFY));
	CHECK_EQ(count_effects(&out, DECIDE_CORDON), 0);
	CHECK_EQ(count_effects(&out, DECIDE_CORDON_DRAIN), 0);
	CHECK_EQ(count_effects(&out, DECIDE_HOLD), 0);
	CHECK_EQ(count_effects(&out, DECIDE_RETEST), 0);
	outcome_release(&out);
}

void books_decide(struct books *w)
{
	bool was_open = w->breaker.open;
	size_t i;

	policy_decide(&w->policy, &w->fleet, &w->breaker, w->now_us, &w->out);
	CHECK_EQ(w->out.out, count_out(w, -1, -1));
	CHECK_EQ(w->out.budget.total_max, total_cap(w));
	CHECK_EQ(w->out.opened, !was_open && w->breaker.open);
	CHECK(!was_open || w->breaker.open);
	w->opened += w->out.opened;
	w->notices += w->out.n_notices;
	check_same(w);
	check_breaker(w);
	for (i = 0; i < w->out.n; i++) {
		const struct decision *one = &w->out.items[i];

		CHECK(one->reason[0] != '\0');
		CHECK(w->policy.mode == MODE_ENFORCE || one->action == DECIDE_ALERT || !one->effect);
		CHECK(!one->refused || !one->effect);
		if (one->refused)
			books_check_refusal(one->refused);
		w->refused += one->refused != NULL;
	}
	for (i = 0; i < w->out.n; i++) {
		/* Sometimes the controller dies before it carries this out. */
		if (w->out.items[i].effect && random_unit(&w->random) <= 0.9)
			carry_out(w, &w->out.items[i]);
	}
}
