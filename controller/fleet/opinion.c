/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/opinion.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"

/* The agent accepts at most 1024 bytes of a sentence. */
enum { SENTENCE_MAX = 1000 };

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int level_of(const json_t *object)
{
	const char *text = text_of(object, "verdict");
	int i;

	for (i = 0; verdict_level_names[i]; i++) {
		if (streq(verdict_level_names[i], text))
			return i;
	}
	return VERDICT_INCONCLUSIVE;
}

/* Weight of an incident. */
static int weight(const json_t *incident)
{
	return 2 * (level_of(incident) == VERDICT_FAIL) +
	       json_is_true(json_object_get(incident, "fatal"));
}

static const json_t *worst_of(const json_t *incidents)
{
	const json_t *worst = NULL;
	size_t i;

	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *one = json_array_get(incidents, i);

		if (!worst || weight(one) > weight(worst))
			worst = one;
	}
	return worst;
}

static const char unverified[] = "it has joined but not yet passed a quick or full run";

/* Cut at a character boundary. */
static char *short_text(const char *text)
{
	size_t n = strnlen(text, SENTENCE_MAX + 1);

	if (n > SENTENCE_MAX) {
		for (n = SENTENCE_MAX; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	}
	return xstrndup(text, n);
}

json_t *opinion_make(const struct opinion_input *in, uint64_t now_real_us)
{
	const json_t *worst = worst_of(in->incidents), *speaks = worst ? worst : in->node;
	const bool open = in->let_in && !in->cordoned;
	CLEANUP(freep)
	char *cordoned = in->cordoned ? xasprintf("cordoned: %s", in->cordoned) : NULL;
	CLEANUP(freep)
	char *sentence = short_text(cordoned ? cordoned
				    : open   ? in->let_in
					     : text_of(speaks, "sentence"));
	char expires[CLOCK_STAMP_SIZE];
	int level = level_of(speaks);
	const bool apart = !in->cordoned && !open && level < VERDICT_WARN &&
			   json_is_true(json_object_get(in->node, "unverified"));

	if (in->cordoned)
		level = VERDICT_FAIL;
	else if (level == VERDICT_FAIL || apart)
		level = VERDICT_WARN;
	clock_stamp(now_real_us + OPINION_LIFE_US, expires);
	return json_pack("{s:s, s:s, s:s, s:s, s:s*}", "verdict", verdict_level_names[level],
			 "policy", in->policy, "expires", expires, "sentence",
			 apart ? unverified : sentence, "admit", open ? "degraded" : NULL);
}

/* --- opinions sent --- */

struct told {
	char *node;
	char *said; /* without the expiry */
	uint64_t at_us;
};

static char *said_by(const json_t *opinion)
{
	return xasprintf("%s %s %s %s", text_of(opinion, "verdict"), text_of(opinion, "admit"),
			 text_of(opinion, "policy"), text_of(opinion, "sentence"));
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->node, ((const struct told *)b)->node);
}

static struct told *find(const struct opinions *o, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct told key = { .node = name };
	struct told **found = tfind(&key, &o->tree, compare);

	return found ? *found : NULL;
}

bool opinions_due(const struct opinions *o, const char *node, const json_t *opinion, uint64_t now_us)
{
	const struct told *told = find(o, node);
	CLEANUP(freep) char *said = said_by(opinion);

	return !told || now_us - told->at_us >= OPINION_LIFE_US / 2 || !streq(told->said, said);
}

void opinions_told(struct opinions *o, const char *node, const json_t *opinion, uint64_t now_us)
{
	struct told *told = find(o, node);

	if (!told) {
		told = xcalloc(1, sizeof(*told));
		told->node = xstrdup(node);
		if (!tsearch(told, &o->tree, compare))
			abort(); /* out of memory */
		o->n++;
	}
	free(told->said);
	told->said = said_by(opinion);
	told->at_us = now_us;
}

static void told_free(void *p)
{
	struct told *told = p;

	free(told->said);
	free(told->node);
	free(told);
}

void opinions_forget(struct opinions *o, const char *node)
{
	struct told *told = find(o, node);

	if (!told)
		return;
	(void)tdelete(told, &o->tree, compare);
	told_free(told);
	o->n--;
}

void opinions_release(struct opinions *o)
{
	tdestroy(o->tree, told_free);
	*o = (struct opinions){ 0 };
}
