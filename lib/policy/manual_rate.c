/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/manual_rate.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"
#include "lib/policy/budget.h"
#include "lib/policy/policy.h"

/* A timestamp in the future (the clock was set back) counts until that time is over. */
static bool within(const struct manual_stamp *s, uint64_t now_us, uint64_t per_us)
{
	return s->account && (s->at_us > now_us || now_us - s->at_us < per_us);
}

static uint32_t hash_of(const char *account)
{
	return fnv1a(account, strlen(account));
}

static bool is_of(const struct manual_stamp *s, const char *account, uint32_t hash)
{
	return s->account && s->hash == hash && streq(s->account, account);
}

static uint64_t used(const struct manual_rate *m, const char *account, uint64_t now_us,
		     uint64_t per_us)
{
	const uint32_t hash = hash_of(account);
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < MANUAL_STAMPS_MAX; i++)
		n += is_of(&m->stamps[i], account, hash) && within(&m->stamps[i], now_us, per_us);
	return n;
}

uint64_t manual_rate_limit(const struct policy *policy)
{
	return MIN(policy->manual_cordons, (uint64_t)MANUAL_RATE_MAX);
}

/* When the oldest of those that count stops counting; the ring is in their order. */
static uint64_t free_at(const struct manual_rate *m, const char *account, uint64_t now_us,
			uint64_t per_us)
{
	const uint32_t hash = hash_of(account);
	uint64_t at_us = UINT64_MAX;
	size_t i;

	for (i = 0; i < MANUAL_STAMPS_MAX; i++) {
		const struct manual_stamp *s = &m->stamps[i];

		if (is_of(s, account, hash) && within(s, now_us, per_us))
			at_us = MIN(at_us, s->at_us);
	}
	return at_us + per_us;
}

bool manual_rate_allows(const struct manual_rate *m, const struct policy *policy,
			const char *account, uint64_t now_us, struct refusal *ret)
{
	const uint64_t per_us = policy->manual_per_us, limit = manual_rate_limit(policy);
	const uint64_t n = used(m, account, now_us, per_us);
	char per[CLOCK_DURATION_SIZE], stamp[CLOCK_STAMP_SIZE];

	if (n < limit)
		return true;
	*ret = (struct refusal){ .by = REFUSED_BY_MANUAL };
	duration_format(per_us, per);
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "budget.rate.manual: %.100s has cordoned %llu host%s in the last %s, and at "
		       "most %llu may be",
		       account, (unsigned long long)n, n == 1 ? "" : "s", per,
		       (unsigned long long)limit);
	if (n == 0) {
		(void)snprintf(ret->allow, sizeof(ret->allow),
			       "a budget.rate.manual above 0, or --break-glass");
		return false;
	}
	ret->again_us = free_at(m, account, now_us, per_us);
	clock_stamp(ret->again_us, stamp);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "waiting until %s, a larger budget.rate.manual, or --break-glass", stamp);
	return false;
}

static void empty(struct manual_stamp *s)
{
	free(s->account);
	*s = (struct manual_stamp){ 0 };
}

void manual_rate_count(struct manual_rate *m, const char *account, int64_t action, uint64_t at_us)
{
	struct manual_stamp *s = &m->stamps[m->n++ % MANUAL_STAMPS_MAX];

	empty(s);
	*s = (struct manual_stamp){ xstrdup(account), hash_of(account), action, at_us };
}

void manual_rate_uncount(struct manual_rate *m, int64_t action)
{
	size_t i;

	for (i = 0; i < MANUAL_STAMPS_MAX; i++) {
		if (m->stamps[i].account && m->stamps[i].action == action)
			empty(&m->stamps[i]);
	}
}

uint64_t manual_rate_most(const struct manual_rate *m, const struct policy *policy, uint64_t now_us,
			  const char **ret_account)
{
	uint64_t most = 0;
	size_t i;

	*ret_account = NULL;
	for (i = 0; i < MANUAL_STAMPS_MAX; i++) {
		const struct manual_stamp *s = &m->stamps[i];
		uint64_t n;

		if (!within(s, now_us, policy->manual_per_us))
			continue;
		n = used(m, s->account, now_us, policy->manual_per_us);
		if (n > most)
			*ret_account = s->account;
		most = MAX(most, n);
	}
	return most;
}

void manual_rate_release(struct manual_rate *m)
{
	size_t i;

	for (i = 0; i < MANUAL_STAMPS_MAX; i++)
		empty(&m->stamps[i]);
	m->n = 0;
}
