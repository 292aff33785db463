/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People, the policy and crashes in random order: after each step the nodes are compared with a
 * model of who cordoned them, and with the store and the gauges.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded.h"
#include "controller/store/store_actions.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/act_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* Most events hit a few nodes, so that they get histories. */
enum { STEPS = 120, LIMIT = WORLD_NODES / 5, HOT = 6, BURST = 5 };

/* The expected state of a node. */
struct expected {
	bool bad;		     /* it has a finding */
	bool theirs;		     /* cordoned at the cluster by another */
	bool persons;		     /* cordoned by a person through us */
	bool was_ours;		     /* at the end of the previous step */
	bool freed;		     /* uncordoned by a person in this step */
	bool passed;		     /* passed a test since it was cordoned or last bad */
	uint64_t bad_us;	     /* begin of the finding */
	uint64_t order_us, until_us; /* a person's order to leave it in service, and its end */
};

struct scene {
	struct world w;
	struct random dice;
	struct expected nodes[WORLD_NODES];
	unsigned long long seed;
	bool beyond; /* a person bypassed the budget in this step */
	size_t pre;  /* our marks seen beside another's cordon */
};

static struct actor_request order(const char *node)
{
	return (struct actor_request){ .node = node, .who = "operator eve", .reason = "dice" };
}

static const char *name_of(size_t i)
{
	static char text[16];

	(void)snprintf(text, sizeof(text), "n%zu", i);
	return text;
}

static bool is_ours(const struct cluster_node *n)
{
	return n->mark && !n->mark->pre;
}

/* --- events --- */

static void report(struct scene *s, size_t i, bool bad)
{
	struct expected *e = &s->nodes[i];

	if (!e->bad)
		e->bad_us = s->w.now_us;
	e->bad = bad;
	e->passed &= !bad;
	world_report(&s->w, name_of(i), bad);
}

static void do_report(struct scene *s, size_t i)
{
	report(s, i, random_below(&s->dice, 3) == 0);
}

/* Several at once: actions on one are still in progress when the next is decided. */
static void do_burst(struct scene *s, size_t i)
{
	const size_t n = 2 + random_below(&s->dice, BURST - 1);
	size_t j;

	for (j = 0; j < n; j++) {
		report(s, (i + j) % WORLD_NODES, true);
		(void)world_run(&s->w, 1);
	}
}

static void do_cordon(struct scene *s, size_t i)
{
	struct actor_request ask = order(name_of(i));

	ask.break_glass = random_below(&s->dice, 3) == 0;
	if (world_ask(&s->w, ACT_CORDON, &ask) != 200)
		return;
	s->nodes[i].persons = true;
	s->beyond |= ask.break_glass;
}

static void on_told(void *context, const struct actor_reply *said)
{
	*(unsigned *)context = said->status;
}

/* Several concurrent requests. Rare, because cordons by people stay. */
static void do_cordons(struct scene *s, size_t i)
{
	unsigned status[BURST] = { 0 };
	size_t j;

	if (random_below(&s->dice, 6) > 0)
		return;
	for (j = 0; j < BURST; j++) {
		const struct actor_request ask = order(name_of((i + j) % WORLD_NODES));

		actor_ask(s->w.act, ACT_CORDON, &ask, on_told, &status[j]);
	}
	CHECK(world_run(&s->w, 0));
	for (j = 0; j < BURST; j++)
		s->nodes[(i + j) % WORLD_NODES].persons |= status[j] == 200;
}

/* By now it has come; it holds at least until then. */
static void ordered(struct scene *s, size_t i, uint64_t until_us)
{
	s->nodes[i].order_us = s->w.now_us;
	s->nodes[i].until_us = until_us;
}

static void do_uncordon(struct scene *s, size_t i)
{
	const struct actor_request ask = order(name_of(i));
	const uint64_t until_us = s->w.now_us + s->w.policy.override_us;

	if (world_ask(&s->w, ACT_UNCORDON, &ask) == 200) {
		s->nodes[i].freed = true;
		s->nodes[i].persons = false;
		ordered(s, i, until_us);
	}
}

static void do_hand_cordon(struct scene *s, size_t i)
{
	const struct cluster_node *n = world_node(&s->w, name_of(i));

	if (!n->unschedulable) {
		CHECK_EQ(cluster_embedded_touch(s->w.cluster, name_of(i), true, NULL), 0);
		s->nodes[i].theirs = true;
	}
}

static void do_hand_uncordon(struct scene *s, size_t i)
{
	/* For a host that we never changed it has no effect. */
	const bool is_order = world_node(&s->w, name_of(i))->mark != NULL;

	CHECK_EQ(cluster_embedded_touch(s->w.cluster, name_of(i), false, NULL), 0);
	if (is_order)
		ordered(s, i, s->w.now_us + s->w.policy.override_us);
	s->nodes[i].theirs = s->nodes[i].persons = false;
	s->nodes[i].freed = true;
}

static void do_repair(struct scene *s, size_t i)
{
	const struct actor_request ask = order(name_of(i));

	if (world_ask(&s->w, ACT_REPAIR_DONE, &ask) == 200) {
		s->nodes[i].bad = s->nodes[i].passed = false;
		s->nodes[i].persons = false; /* from now on tests decide */
	}
}

static void do_override(struct scene *s, size_t i)
{
	struct actor_request ask = order(name_of(i));

	ask.until_us = s->w.now_us + USEC_PER_HOUR;
	CHECK_EQ(world_ask(&s->w, ACT_OVERRIDE, &ask), 200);
	ordered(s, i, ask.until_us);
}

static void do_replace(struct scene *s, size_t i)
{
	s->nodes[i].bad = s->nodes[i].passed = false;
	s->nodes[i].until_us = 0; /* it was for another machine */
	world_replace(&s->w, name_of(i));
}

/* The next host that we cordoned and that waits for a test. */
static void do_answer(struct scene *s, size_t i)
{
	size_t n = WORLD_NODES;

	while (n > 0 && !is_ours(world_node(&s->w, name_of(i)))) {
		i = (i + 1) % WORLD_NODES;
		n--;
	}
	if (world_answer(&s->w, name_of(i), !s->nodes[i].bad))
		s->nodes[i].passed = !s->nodes[i].bad;
}

static void do_wait(struct scene *s, size_t i UNUSED)
{
	world_wait(&s->w, random_below(&s->dice, 3) ? USEC_PER_MIN : 40 * USEC_PER_MIN);
}

static void (*const steps[])(struct scene *s, size_t i) = {
	do_report,	do_report, do_report,	     do_cordon, do_uncordon,
	do_hand_cordon, do_answer, do_hand_uncordon, do_repair, do_override,
	do_replace,	do_answer, do_wait,	     do_burst,	do_answer,
	do_wait,	do_wait,   do_cordons,	     do_repair, do_answer,
};

/* --- invariants --- */

/* It was returned only by someone who may. */
static bool is_wrongly_free(const struct expected *e, const struct cluster_node *n)
{
	if (n->unschedulable)
		return false;
	if (e->theirs)
		return true;
	/* We return only good hosts, and only after a passed test. */
	return !e->freed && (e->persons || (e->was_ours && (e->bad || !e->passed)));
}

/* A person's request overrides earlier findings. */
static bool is_wrongly_out(const struct scene *s, const struct expected *e,
			   const struct cluster_node *n)
{
	return is_ours(n) && (!e->was_ours || e->freed) && streq(n->mark->by, "assay") &&
	       s->w.now_us < e->until_us && e->bad_us <= e->order_us;
}

static void check_nodes(struct scene *s, size_t step)
{
	size_t out = 0, ours = 0, fresh = 0, i;

	for (i = 0; i < WORLD_NODES; i++) {
		struct expected *e = &s->nodes[i];
		const struct cluster_node *n = world_node(&s->w, name_of(i));

		CHECK(!is_wrongly_free(e, n));
		if (is_wrongly_free(e, n))
			(void)fprintf(stderr, "seed %llu step %zu: %s was given back\n", s->seed,
				      step, n->name);
		CHECK(!is_wrongly_out(s, e, n));
		if (is_wrongly_out(s, e, n))
			(void)fprintf(stderr, "seed %llu step %zu: %s was taken out\n", s->seed,
				      step, n->name);
		out += n->unschedulable;
		ours += n->mark != NULL;
		fresh += is_ours(n) && !e->was_ours;
		s->pre += n->mark && n->mark->pre;
		e->passed &= is_ours(n) && e->was_ours;
		e->was_ours = is_ours(n);
		e->freed = false;
	}
	/* The last cordon was allowed. */
	CHECK(fresh == 0 || out <= LIMIT || s->beyond);
	s->beyond = false;
	CHECK_EQ(actor_counts(s->w.act).cordoned, ours);
	CHECK_EQ(actor_counts(s->w.act).budget_used, out);
}

/* The rate counts cordons in its window; those at the edge may or may not count. */
static void check_rate(struct scene *s)
{
	static const char sql[] = "SELECT count(*) FROM actions WHERE kind = 0 AND state = 1"
				  " AND who = 'automatic' AND decided_us > %llu";
	const uint64_t from_us = s->w.now_us - s->w.policy.rate_per_us;
	CLEANUP(freep) char *sure = xasprintf(sql, (unsigned long long)(from_us + USEC_PER_SEC));
	CLEANUP(freep) char *most = xasprintf(sql, (unsigned long long)(from_us - USEC_PER_SEC));
	const long long used = (long long)actor_counts(s->w.act).rate_used;

	CHECK(used >= world_count(&s->w, sure));
	CHECK(used <= world_count(&s->w, most));
}

/* The actions in the store match those executed: once each, and none is left open. */
static void check_store(struct scene *s)
{
	check_rate(s);
	CHECK_EQ(world_count(&s->w,
			     "SELECT count(*) FROM cluster_nodes c WHERE mark IS NOT NULL"
			     " AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.kind = 0 AND"
			     " a.state = 1 AND a.id = CAST(c.mark ->> 'action' AS INTEGER))"),
		 0);
	CHECK_EQ(world_count(&s->w,
			     "SELECT count(*) FROM actions WHERE done_us IS NULL AND kind <> 5"),
		 0);
	CHECK_EQ(world_count(&s->w,
			     "SELECT count(*) FROM actions a WHERE kind = 0 AND state = 1 AND"
			     " EXISTS (SELECT 1 FROM transitions t WHERE t.node = a.node AND"
			     " t.at_us = a.done_us AND t.before IN (3, 4, 6, 8) AND"
			     " t.event = 'cordoned')"),
		 0);
	CHECK_EQ(
		world_count(
			&s->w,
			"SELECT count(*) FROM cluster_nodes c WHERE mark IS NOT NULL AND NOT EXISTS"
			" (SELECT 1 FROM lives l WHERE l.node = c.node AND"
			" l.record ->> 'state' IN ('cordoned', 'drained', 'in-repair', 'verifying',"
			" 'sticky'))"),
		0);
	CHECK_EQ(world_count(&s->w, "SELECT count(*) FROM cluster_nodes c, cluster_ledger l WHERE"
				    " c.mark IS NOT NULL AND NOT EXISTS (SELECT 1 FROM"
				    " json_each(l.text, '$.holders') h WHERE"
				    " h.value ->> 'node' = c.node AND h.value ->> 'done')"),
		 0);
	CHECK_EQ(world_count(&s->w,
			     "SELECT json_array_length(text, '$.holders') FROM cluster_ledger"),
		 world_count(&s->w, "SELECT count(*) FROM cluster_nodes WHERE mark IS NOT NULL"));
}

static void settle(struct scene *s)
{
	CHECK(world_run(&s->w, 0));
	world_wait(&s->w, 11 * USEC_PER_SEC); /* the policy is asked at least so often */
	CHECK(world_run(&s->w, 0));
	world_look(&s->w);
}

/* Totals of the sequences, to check that they were not idle. */
struct tally {
	long long released, uncordoned, dropped, refused;
	size_t pre, killed;
};

static void count(struct scene *s, struct tally *t)
{
	t->released += world_count(&s->w, "SELECT count(*) FROM transitions WHERE event ="
					  " 'released' AND who = 'automatic'");
	t->uncordoned += world_count(&s->w, "SELECT count(*) FROM transitions WHERE event ="
					    " 'uncordoned'");
	t->dropped += world_count(&s->w, "SELECT count(*) FROM actions WHERE state = 3");
	t->refused += world_count(&s->w, "SELECT count(*) FROM actions WHERE state = 5");
	t->pre += s->pre;
}

static void play(unsigned long long seed, struct tally *tally)
{
	CLEANUP(freep) char *name = xasprintf("random-%llu.db", seed);
	struct scene s = { .dice = random_seeded(seed), .seed = seed };
	size_t step;

	world_open(&s.w, name);
	world_look(&s.w);
	for (step = 0; step < STEPS; step++) {
		const bool hot = random_below(&s.dice, 4) > 0;
		const size_t i = random_below(&s.dice, hot ? HOT : WORLD_NODES);
		bool killed;

		steps[random_below(&s.dice, ARRAY_SIZE(steps))](&s, i);
		/* The event is durable; the kill comes anywhere in what follows. */
		(void)world_run(&s.w, (unsigned)(1 + random_below(&s.dice, 6)));
		killed = random_below(&s.dice, 3) == 0;
		if (killed)
			world_kill(&s.w);
		settle(&s);
		check_nodes(&s, step);
		if (killed)
			check_store(&s);
		tally->killed += killed;
	}
	check_store(&s);
	count(&s, tally);
	world_close(&s.w);
}

static void nobody_is_given_back_wrongly_and_the_gauges_are_the_truth(void)
{
	unsigned long long seeds = test_times(200, 12), seed;
	const long long least = (long long)seeds;
	struct tally t = { 0 };

	for (seed = 1; seed <= seeds; seed++)
		play(seed, &t);
	(void)printf("%llu sequences of %d steps: %zu restarts, %lld given back by the policy, "
		     "%lld by people, %lld dropped, %lld refused, %zu marks beside theirs\n",
		     seeds, STEPS, t.killed, t.released, t.uncordoned, t.dropped, t.refused, t.pre);
	CHECK(t.released > least && t.uncordoned > least && t.dropped > least);
	CHECK(t.refused > least && t.pre > (size_t)least && t.killed > 20 * (size_t)seeds);
}

/* --- killed between any two commits --- */

/* Hosts go bad while the controller is repeatedly killed after a number of commits. */
static void storm(unsigned long long seed)
{
	CLEANUP(freep) char *name = xasprintf("storm-%llu.db", seed);
	struct random dice = random_seeded(seed);
	struct world w;
	size_t i, out = 0;

	world_open(&w, name);
	/* Half of the hosts at once would count as a shared cause. */
	for (i = 0; i < WORLD_NODES / 2 - 1; i++) {
		world_report(&w, name_of(i), true);
		(void)world_run(&w, (unsigned)random_below(&dice, 7));
		world_kill(&w);
	}
	CHECK(world_run(&w, 0));
	world_wait(&w, 11 * USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	world_look(&w);
	for (i = 0; i < WORLD_NODES; i++)
		out += world_node(&w, name_of(i))->unschedulable;
	CHECK_EQ(out, world_count(&w, "SELECT min(4, count(*)) FROM windows"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM transitions WHERE event = 'cordoned'"),
		 (long long)out);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE done_us IS NULL"), 0);
	CHECK_EQ(world_count(&w, "SELECT json_array_length(text, '$.holders') FROM cluster_ledger"),
		 (long long)out);
	world_close(&w);
}

static void killed_anywhere_none_is_lost_none_done_twice_none_over_budget(void)
{
	unsigned long long seeds = test_times(100, 10), seed;

	for (seed = 1; seed <= seeds; seed++)
		storm(seed);
}

static const struct test tests[] = {
	TEST(nobody_is_given_back_wrongly_and_the_gauges_are_the_truth),
	TEST(killed_anywhere_none_is_lost_none_done_twice_none_over_budget),
};

TEST_SUITE(tests);
