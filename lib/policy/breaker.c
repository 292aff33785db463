/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/breaker.h"

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

const char *const breaker_cause_names[] = {
	[BREAKER_STORM] = "storm",	   [BREAKER_SILENT] = "silent",
	[BREAKER_SIGNATURE] = "signature", [BREAKER_SKU_FILE] = "sku-file",
	[BREAKER_HAND] = "by-hand",	   NULL,
};

bool breaker_open(struct breaker *b, int cause, uint64_t now_us, const char *sentence)
{
	if (b->open)
		return false;
	b->open = true;
	b->cause = cause;
	b->opened_us = now_us;
	(void)snprintf(b->sentence, sizeof(b->sentence), "%s", sentence);
	return true;
}

bool breaker_reset(struct breaker *b, const char *who, const char *reason, uint64_t now_us)
{
	bool was_open = b->open;

	b->open = false;
	b->reset_us = now_us;
	(void)snprintf(b->reset_by, sizeof(b->reset_by), "%s: %s", who, reason);
	return was_open;
}

void breaker_count(struct breaker *b, uint64_t now_us)
{
	b->cordons_us[b->n_cordons++ % BREAKER_STAMPS_MAX] = now_us;
}

static uint64_t remembered(const struct breaker *b)
{
	return MIN(b->n_cordons, (uint64_t)BREAKER_STAMPS_MAX);
}

/* The i-th newest; 0 is the newest. */
static uint64_t stamp(const struct breaker *b, uint64_t i)
{
	return b->cordons_us[(b->n_cordons - 1 - i) % BREAKER_STAMPS_MAX];
}

bool breaker_has(const struct breaker *b, uint64_t at_us)
{
	uint64_t i;

	for (i = 0; i < remembered(b); i++) {
		if (stamp(b, i) == at_us)
			return true;
	}
	return false;
}

void breaker_uncount(struct breaker *b, uint64_t at_us)
{
	uint64_t i = 0;

	while (i < remembered(b) && stamp(b, i) != at_us)
		i++;
	if (i == remembered(b))
		return;
	for (; i > 0; i--)
		b->cordons_us[(b->n_cordons - 1 - i) % BREAKER_STAMPS_MAX] = stamp(b, i - 1);
	/* The place of the newest is that of the oldest now, which nobody remembers. */
	b->n_cordons--;
	b->cordons_us[b->n_cordons % BREAKER_STAMPS_MAX] = 0;
}

/* A stamp from the future (the clock was set back) counts until that time is over. */
static bool within(uint64_t at_us, uint64_t now_us, uint64_t per_us)
{
	return at_us > now_us || now_us - at_us < per_us;
}

uint64_t breaker_cordons(const struct breaker *b, uint64_t now_us, uint64_t per_us)
{
	uint64_t n = 0, i;

	for (i = 0; i < remembered(b); i++)
		n += within(stamp(b, i), now_us, per_us);
	return n;
}

uint64_t breaker_free_at(const struct breaker *b, uint64_t limit, uint64_t now_us, uint64_t per_us)
{
	uint64_t at_us = now_us;

	if (limit > 0 && limit <= remembered(b))
		at_us = MAX(at_us, stamp(b, limit - 1) + per_us);
	return at_us;
}
