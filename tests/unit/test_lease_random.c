/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the Lease in a model: a server, and contenders with pauses, lost requests, lost and
 * late responses, and clocks of different speeds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/lease_state.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/lease_server.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define SEC USEC_PER_SEC

enum { CONTENDERS = 5, MESSAGES_MAX = 256 };

struct contender {
	struct lease_state s;
	double rate;		     /* of its clock */
	uint64_t offset_us, wake_us; /* its own time */
	uint64_t asleep_until_us;    /* the world's */
	unsigned request, incarnation;
	bool held;
};

enum message_kind { NO_MESSAGE, REQUEST, ANSWER, TIMEOUT };

struct message {
	int kind, who, step, result;
	unsigned request, incarnation;
	uint64_t at_us;
	json_t *body;
};

struct world {
	struct random random;
	struct lease_server server;
	struct contender who[CONTENDERS];
	struct message messages[MESSAGES_MAX];
	uint64_t now_us, calm_us; /* nothing goes wrong from then on */
	unsigned gains;
	long long epoch;
};

static uint64_t local_us(const struct world *w, const struct contender *c)
{
	return c->offset_us + (uint64_t)((double)w->now_us * c->rate);
}

static uint64_t world_us(const struct contender *c, uint64_t own_us)
{
	return own_us == UINT64_MAX ? UINT64_MAX
				    : (uint64_t)((double)(own_us - c->offset_us) / c->rate) + 1;
}

static bool chance(struct world *w, unsigned percent)
{
	return w->now_us < w->calm_us && random_below(&w->random, 100) < percent;
}

static uint64_t delay_us(struct world *w)
{
	return chance(w, 15) ? random_below(&w->random, 7 * SEC)
			     : 1000 + random_below(&w->random, 20000);
}

static void send(struct world *w, const struct message *like)
{
	size_t i;

	for (i = 0; i < MESSAGES_MAX; i++) {
		if (w->messages[i].kind == NO_MESSAGE) {
			w->messages[i] = *like;
			return;
		}
	}
	json_decref(like->body);
	abort(); /* more is under way than there can be */
}

static void begin_anew(struct world *w, int who)
{
	const struct lease_times times = lease_times(LEASE_SECONDS);
	struct contender *c = &w->who[who];
	CLEANUP(freep) char *identity = xasprintf("c%d_%u", who, ++c->incarnation);

	lease_state_release(&c->s);
	c->s = lease_state(identity, &times);
	c->wake_us = local_us(w, c) + random_below(&w->random, 5 * SEC);
	c->held = false;
}

static void go(struct world *w, int who)
{
	struct contender *c = &w->who[who];
	const uint64_t own_us = local_us(w, c);
	const int step = (int)lease_next(&c->s, own_us, &c->wake_us);
	struct message m = { .kind = REQUEST,
			     .who = who,
			     .step = step,
			     .request = c->request + 1,
			     .incarnation = c->incarnation };

	if (step == LEASE_LOST)
		begin_anew(w, who);
	if (step == LEASE_WAIT || step == LEASE_LOST)
		return;
	c->request++;
	(void)lease_next(&c->s, own_us, &c->wake_us);
	if (step != LEASE_READ)
		m.body = lease_body(&c->s, (enum lease_step)step, LEASE_NAME, "assay",
				    LEASE_REAL_US + w->now_us);
	m.at_us = w->now_us + delay_us(w);
	if (chance(w, 5))
		json_decref(TAKE(m.body));
	else
		send(w, &m);
	m.kind = TIMEOUT;
	m.body = NULL;
	m.at_us = world_us(c, own_us + c->s.times.request_us);
	send(w, &m);
}

static void note_gain(struct world *w, struct contender *c)
{
	if (!c->held && lease_holds(&c->s, local_us(w, c))) {
		c->held = true;
		w->gains++;
		CHECK((long long)c->s.seen.transitions > w->epoch);
		w->epoch = (long long)c->s.seen.transitions;
	}
}

static void deliver(struct world *w, struct message m)
{
	struct contender *c = &w->who[m.who];
	CLEANUP(json_freep) json_t *object = m.body;
	struct message answer = m;

	if (m.kind == REQUEST) {
		answer.kind = ANSWER;
		answer.result = lease_server_ask(&w->server, m.step, m.body);
		answer.body = answer.result == LEASE_OK ? json_deep_copy(w->server.object) : NULL;
		answer.at_us = w->now_us + delay_us(w);
		if (chance(w, 5))
			json_decref(answer.body);
		else
			send(w, &answer);
		return;
	}
	if (m.request != c->request || m.incarnation != c->incarnation || c->s.asked == LEASE_WAIT)
		return; /* nobody waits for it any more */
	lease_answer(&c->s,
		     &(struct lease_answer){ .result = m.kind == TIMEOUT ? LEASE_FAILED : m.result,
					     .object = object },
		     local_us(w, c), random_next(&w->random));
	note_gain(w, c);
	go(w, m.who);
}

/* When it comes: who sleeps gets it later. */
static uint64_t due_of(const struct world *w, const struct message *m)
{
	return m->kind == REQUEST ? m->at_us : MAX(m->at_us, w->who[m->who].asleep_until_us);
}

static bool happen(struct world *w, uint64_t end_us)
{
	struct message *first = NULL, taken;
	uint64_t at_us = end_us;
	int awake = -1, i;

	for (i = 0; i < MESSAGES_MAX; i++) {
		struct message *m = &w->messages[i];

		if (m->kind != NO_MESSAGE && due_of(w, m) < at_us) {
			first = m;
			at_us = due_of(w, m);
		}
	}
	for (i = 0; i < CONTENDERS; i++) {
		const struct contender *c = &w->who[i];
		const uint64_t due_us = MAX(world_us(c, c->wake_us), c->asleep_until_us);

		if (due_us < at_us) {
			awake = i;
			at_us = due_us;
		}
	}
	w->now_us = MAX(w->now_us, at_us);
	if (at_us == end_us)
		return false;
	if (awake >= 0) {
		go(w, awake);
	} else {
		taken = *first;
		first->kind = NO_MESSAGE;
		deliver(w, taken);
	}
	return true;
}

static int holders(const struct world *w)
{
	int n = 0, i;

	for (i = 0; i < CONTENDERS; i++)
		n += lease_holds(&w->who[i].s, local_us(w, &w->who[i]));
	return n;
}

/* Mostly whoever holds it, and mostly for about as long as it is theirs: that is where it hurts. */
static void fall_asleep(struct world *w)
{
	size_t i = random_below(&w->random, CONTENDERS), k;

	for (k = 0; k < CONTENDERS; k++) {
		if (lease_holds(&w->who[k].s, local_us(w, &w->who[k])))
			i = k;
	}
	w->who[i].asleep_until_us =
		w->now_us +
		random_below(&w->random, random_below(&w->random, 2) ? 40 * SEC : 9 * SEC);
}

static unsigned play_world(uint64_t seed)
{
	struct world w = { .random = random_seeded(seed), .calm_us = 600 * SEC, .epoch = -1 };
	unsigned most = 0, gains;
	size_t i;

	for (i = 0; i < CONTENDERS; i++) {
		w.who[i].rate = random_below(&w.random, 2) ? 0.81
							   : 1.2; /* nearly half as fast again */
		w.who[i].offset_us = random_below(&w.random, 1000 * SEC);
		begin_anew(&w, (int)i);
	}
	while (happen(&w, 720 * SEC)) {
		most = MAX(most, (unsigned)holders(&w));
		if (chance(&w, 3))
			fall_asleep(&w);
	}
	CHECK(most <= 1);
	CHECK_EQ(holders(&w), 1); /* after two calm minutes */
	for (i = 0; i < CONTENDERS; i++)
		lease_state_release(&w.who[i].s);
	for (i = 0; i < MESSAGES_MAX; i++)
		json_decref(w.messages[i].kind == NO_MESSAGE ? NULL : w.messages[i].body);
	lease_server_release(&w.server);
	gains = w.gains;
	return gains;
}

static void never_two_hold_it(void)
{
	const unsigned worlds = (unsigned)test_times(3000, 150);
	unsigned gains = 0, i;

	for (i = 0; i < worlds; i++)
		gains += play_world(i + 1);
	(void)printf("%u worlds, it changed hands %u times\n", worlds, gains);
	CHECK(gains > 5 * worlds);
}

static const struct test tests[] = { TEST(never_two_hold_it) };

TEST_SUITE(tests);
