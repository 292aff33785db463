/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/breaker.h"

#include <stdio.h>
#include <stdlib.h>

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
	/* The newest slot becomes that of the oldest, which is no longer recorded. */
	b->n_cordons--;
	b->cordons_us[b->n_cordons % BREAKER_STAMPS_MAX] = 0;
}

/* A timestamp in the future (the clock was set back) counts until that time is over. */
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

/* --- as JSON --- */

/* As in JSON, with owned texts. */
struct stored {
	bool open;
	int cause;
	char *sentence, *reset_by;
	uint64_t opened_us, reset_us;
	uint64_t cordons_us[BREAKER_STAMPS_MAX];
	size_t n_cordons;
};

static int decode_cordons(const struct jval *v, void *member, struct err *err)
{
	struct stored *stored = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > BREAKER_STAMPS_MAX)
		r = jval_fail(v, err, "%zu stamps, more than %d", n, BREAKER_STAMPS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		if (!json_is_integer(item.value) || json_integer_value(item.value) < 0)
			r = jval_fail(&item, err, "expected microseconds");
		else
			stored->cordons_us[i] = (uint64_t)json_integer_value(item.value);
	}
	if (r == 0)
		stored->n_cordons = n;
	return r;
}

#define STORED(m) offsetof(struct stored, m)
#define STAMP_MAX 9e15 /* what a double holds exactly */

static const struct jfield fields[] = {
	{ "open", J_BOOL, STORED(open), J_REQUIRED },
	{ "cause", J_ENUM, STORED(cause), 0, .names = breaker_cause_names },
	{ "sentence", J_STRING, STORED(sentence), 0 },
	{ "opened_us", J_U64, STORED(opened_us), 0, .min = 0, .max = STAMP_MAX },
	{ "reset_us", J_U64, STORED(reset_us), 0, .min = 0, .max = STAMP_MAX },
	{ "reset_by", J_STRING, STORED(reset_by), 0 },
	{ "cordons_us", J_CUSTOM, 0, 0, .decode = decode_cordons },
};

json_t *breaker_encode(const struct breaker *b)
{
	uint64_t kept = MIN(b->n_cordons, (uint64_t)BREAKER_STAMPS_MAX), i;
	json_t *stamps = json_array();

	for (i = b->n_cordons - kept; i < b->n_cordons; i++)
		json_array_append_new(
			stamps, json_integer((json_int_t)b->cordons_us[i % BREAKER_STAMPS_MAX]));
	return json_pack("{s:b, s:s, s:s, s:I, s:I, s:s, s:o}", "open", b->open, "cause",
			 breaker_cause_names[b->cause], "sentence", b->sentence, "opened_us",
			 (json_int_t)b->opened_us, "reset_us", (json_int_t)b->reset_us, "reset_by",
			 b->reset_by, "cordons_us", stamps);
}

int breaker_decode(const struct jval *v, struct breaker *ret, struct err *err)
{
	struct stored stored = { 0 };
	int r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &stored, err);
	size_t i;

	if (r == 0) {
		*ret = (struct breaker){ .open = stored.open,
					 .cause = stored.cause,
					 .opened_us = stored.opened_us,
					 .reset_us = stored.reset_us,
					 .n_cordons = stored.n_cordons };
		for (i = 0; i < stored.n_cordons; i++)
			ret->cordons_us[i] = stored.cordons_us[i];
		(void)snprintf(ret->sentence, sizeof(ret->sentence), "%s",
			       stored.sentence ? stored.sentence : "");
		(void)snprintf(ret->reset_by, sizeof(ret->reset_by), "%s",
			       stored.reset_by ? stored.reset_by : "");
	}
	free(stored.sentence);
	free(stored.reset_by);
	return r;
}
