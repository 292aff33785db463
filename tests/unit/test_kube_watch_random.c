/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever happens to lists and watches, the view matches the server in the end. */
#include "controller/cluster/kube/kube_watch.h"

#include "tests/unit/kube_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* ---- whatever happens -------------------------------------------------------------------- */

/* All is well again: what is asked is answered, until nothing is left to tell. */
static void heal(struct world *w)
{
	unsigned s;

	w->kube.down = false;
	for (s = 0; s < 200; s++) {
		world_serve(w);
		world_later(w, USEC_PER_SEC);
	}
	world_serve(w);
	CHECK(fake_watch(&w->kube) && fake_watch(&w->kube)->at >= w->kube.version);
	CHECK(w->synced > 0);
	world_check(w);
}

/* A sequence of changes that is broken off after each of its steps, in each of these ways. */
static void restart(struct world *w, unsigned way)
{
	static const unsigned ends[] = { 200, 0, 410, 500 };

	if (way < ARRAY_SIZE(ends) && fake_watch(&w->kube)) {
		fake_end(fake_watch(&w->kube), ends[way]);
	} else if (way == ARRAY_SIZE(ends)) {
		fake_compact(&w->kube);
		if (fake_watch(&w->kube))
			fake_end(fake_watch(&w->kube), 200);
	} else { /* the controller itself */
		kube_watch_free(w->watch);
		world_forget(w);
		world_begin(w);
	}
}

static void change(struct kube *kube, unsigned step)
{
	static void (*const changes[])(struct kube * kube,
				       unsigned node) = { fake_touch,	 fake_touch, fake_delete,
							  fake_recreate, fake_touch, fake_delete };

	changes[step % ARRAY_SIZE(changes)](kube, step * 5 % 7);
}

static void a_sequence_may_be_broken_off_anywhere(void)
{
	enum { STEPS = 18, WAYS = 6 };
	unsigned way, at, step;

	for (way = 0; way < WAYS; way++) {
		for (at = 0; at <= STEPS; at++) {
			struct world w;

			world_settle(&w, 5);
			for (step = 0; step < STEPS; step++) {
				change(&w.kube, step);
				if (step < at && fake_watch(&w.kube))
					(void)fake_line(fake_watch(&w.kube));
				if (step == at)
					restart(&w, way);
			}
			heal(&w);
			world_close(&w);
		}
	}
}

/* One thing that may happen to requests that are under way. */
static void strike(struct world *w, struct random *r)
{
	static const unsigned ends[] = { 200, 0, 410, 500, 429, 403, 504 };
	static const char *const lines[] = { "{\"type\":\"ERROR\",\"object\":{\"code\":500}}", "{",
					     "{\"type\":\"ERROR\",\"object\":{\"code\":410}}" };
	struct kube_request *request =
		fake_request(&w->kube, (unsigned)random_below(r, FAKE_REQUESTS_MAX));

	if (!request)
		return;
	switch (random_below(r, 6)) {
	case 0:
		if (request->watch || random_below(r, 2))
			fake_end(request, ends[random_below(r, ARRAY_SIZE(ends))]);
		break;
	case 1:
		if (request->watch)
			fake_say(request, lines[random_below(r, ARRAY_SIZE(lines))]);
		break;
	case 2:
		if (request->watch && !request->cut)
			fake_bookmark(request);
		break;
	case 3:
		if (request->watch)
			(void)fake_line(request);
		break;
	default:
		fake_serve(request);
	}
}

static void live(struct world *w, struct random *r)
{
	const unsigned node = (unsigned)random_below(r, FAKE_NODES);

	switch (random_below(r, 12)) {
	case 0:
		fake_touch(&w->kube, node);
		break;
	case 1:
		fake_delete(&w->kube, node);
		break;
	case 2:
		fake_recreate(&w->kube, node);
		break;
	case 3:
		if (random_below(r, 4) == 0)
			fake_compact(&w->kube);
		break;
	case 4:
		w->kube.down = random_below(r, 3) == 0;
		break;
	case 5:
		world_later(w, random_below(r, random_below(r, 20) ? 3 : 900) * USEC_PER_SEC);
		break;
	default:
		strike(w, r);
	}
}

/* Fresh is only what a list, a line or an answer has said within the last minute. */
static void check_fresh(const struct world *w)
{
	CHECK(!kube_watch_fresh(w->watch) || !w->stale);
	CHECK(!kube_watch_fresh(w->watch) || w->synced > 0);
}

static void whatever_happens_the_picture_is_the_servers_in_the_end(void)
{
	const unsigned runs = (unsigned)test_times(20000, 1000);
	unsigned run, step;

	for (run = 0; run < runs; run++) {
		struct random r = random_seeded(run);
		struct world w;

		world_open(&w, (unsigned)random_below(&r, FAKE_NODES));
		fake_touch(&w.kube, 0);
		for (step = 0; step < 400; step++) {
			live(&w, &r);
			check_fresh(&w);
		}
		heal(&w);
		world_close(&w);
	}
}

static const struct test tests[] = {
	TEST(a_sequence_may_be_broken_off_anywhere),
	TEST(whatever_happens_the_picture_is_the_servers_in_the_end),
};

TEST_SUITE(tests);
