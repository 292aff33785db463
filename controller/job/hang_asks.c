/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_asks.h"

#include "lib/base/xalloc.h"

struct hang_asked {
	char *name;
	uint64_t given_us; /* when the order was given; 0: not yet */
	unsigned tries;
	bool answered;
};

void hang_asks_begin(struct hang_asks *a, char *const *nodes, size_t n, uint64_t now_us)
{
	size_t i;

	hang_asks_end(a);
	for (i = 0; i < n; i++)
		(void)map_need(&a->hosts, nodes[i], sizeof(struct hang_asked));
	a->began_us = now_us;
}

uint64_t hang_asks_look_us(const struct hang_asks *a)
{
	return a->hosts.n > HANG_ASKS_MANY ? HANG_ASKS_LOOK_MANY_US : HANG_ASKS_LOOK_US;
}

bool hang_asks_give(struct hang_asks *a, const char *node, uint64_t now_us, uint64_t *ret_until_us)
{
	struct hang_asked *asked = map_find(&a->hosts, node);

	if (!asked || asked->given_us || asked->tries >= HANG_ASKS_TRIES)
		return false;
	a->given += asked->tries++ == 0;
	asked->given_us = now_us;
	*ret_until_us = now_us + hang_asks_look_us(a);
	return true;
}

void hang_asks_answered(struct hang_asks *a, const char *node, uint64_t now_us)
{
	struct hang_asked *asked = map_find(&a->hosts, node);

	if (!asked || !asked->given_us || asked->answered)
		return;
	asked->answered = true;
	a->answered_us = now_us;
	a->answered++;
}

/* --- once a second --- */

struct looking {
	struct hang_asks *asks;
	uint64_t now_us;
	size_t n;
};

static void look_at(void *context, void *item)
{
	struct looking *to = context;
	struct hang_asked *asked = item;
	const uint64_t for_us = to->now_us - MIN(to->now_us, asked->given_us);

	if (!asked->given_us)
		return;
	if (!asked->answered && for_us > HANG_ASKS_LOST_US) {
		if (asked->tries < HANG_ASKS_TRIES)
			asked->given_us = 0;
		else
			to->asks->lost++;
		return;
	}
	to->n += for_us <= hang_asks_look_us(to->asks);
}

size_t hang_asks_look(struct hang_asks *a, uint64_t now_us)
{
	struct looking to = { a, now_us, 0 };

	a->lost = 0;
	map_each(&a->hosts, look_at, &to);
	return to.n;
}

struct waiting {
	void (*each)(void *context, const char *node);
	void *context;
	size_t n, most;
};

static void find_waiting(void *context, void *item)
{
	const struct hang_asked *asked = item;
	struct waiting *to = context;

	if (asked->given_us || asked->tries >= HANG_ASKS_TRIES || to->n == to->most)
		return;
	to->n++;
	to->each(to->context, asked->name);
}

size_t hang_asks_waiting(const struct hang_asks *a, size_t most,
			 void (*each)(void *context, const char *node), void *context)
{
	struct waiting to = { each, context, 0, most };

	map_each(&a->hosts, find_waiting, &to);
	return to.n;
}

void hang_asks_end(struct hang_asks *a)
{
	map_release(&a->hosts, NULL);
	*a = (struct hang_asks){ .began_us = 0 };
}
