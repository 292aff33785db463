/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/missing.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/report.h"

void probe_prefix(const char *probe, char ret_prefix[static PROBE_PREFIX_SIZE])
{
	static const struct {
		const char *probe, *prefix;
	} states[] = {
		{ "host-state", "host." },
		{ "rnic-state", "rnic." },
		{ "gpu-state", "gpu." },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (streq(probe, states[i].probe)) {
			(void)snprintf(ret_prefix, PROBE_PREFIX_SIZE, "%s", states[i].prefix);
			return;
		}
	}
	(void)snprintf(ret_prefix, PROBE_PREFIX_SIZE, "%.100s.", probe);
	for (i = 0; ret_prefix[i]; i++) {
		if (ret_prefix[i] == '-')
			ret_prefix[i] = '_';
	}
}

bool probe_has_check(const char *probe, const char *check)
{
	char prefix[PROBE_PREFIX_SIZE];

	probe_prefix(probe, prefix);
	if (starts_with(check, prefix))
		return true;
	return streq(probe, "host-state") && starts_with(check, "inventory.");
}

/* The probe of a check: the prefix of its checks' names, up to the dot. */
struct word {
	const char *text;
	size_t length;
};

static struct word word_of(const char *check)
{
	if (streq(check, "inventory.nvlinks"))
		return (struct word){ "gpu.", strlen("gpu.") };
	if (starts_with(check, "inventory."))
		return (struct word){ "host.", strlen("host.") };
	return (struct word){ check, strcspn(check, ".") + 1 };
}

/* True if the run tried the probe that `word` stands for. */
static bool has_tried(const struct report *report, struct word word)
{
	char prefix[PROBE_PREFIX_SIZE];
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		struct word own = word_of(report->samples[i].check);

		if (own.length == word.length && strncmp(own.text, word.text, word.length) == 0)
			return true;
	}
	for (i = 0; i < report->n_problems; i++) {
		probe_prefix(report->problems[i].probe, prefix);
		if (strlen(prefix) == word.length && strncmp(prefix, word.text, word.length) == 0)
			return true;
	}
	return false;
}

/* True if probes were hand-picked, without that of this check (or finding about a probe). */
static bool was_not_picked(const struct report *report, const char *check)
{
	char prefix[PROBE_PREFIX_SIZE];

	if (!streq(report->profile, PROFILE_HAND_PICKED))
		return false;
	if (!starts_with(check, "probe."))
		return !has_tried(report, word_of(check));
	probe_prefix(check + strlen("probe."), prefix);
	return !has_tried(report, word_of(prefix));
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = *(const struct sample *const *)a;
	const struct sample *y = *(const struct sample *const *)b;
	int r = strcmp(x->check, y->check);

	return r ? r : strcmp(x->subject, y->subject);
}

bool missing_excused(const struct report *report, const char *check)
{
	size_t i;

	for (i = 0; i < report->n_problems; i++) {
		const struct problem *p = &report->problems[i];

		if (p->code != PROBLEM_NOT_APPLICABLE && probe_has_check(p->probe, check))
			return true;
	}
	return was_not_picked(report, check);
}

/* States and events (a line in the kernel log) need not recur; devices must. */
static bool about_a_device(const struct verdict *v, const struct verdict_item *item)
{
	const struct family *family = family_find(item->check, item->unit);

	return (family->compared || family->count) && !starts_with(item->check, "probe.") &&
	       !verdict_item_is_link(item) && !streq(item->subject, v->node);
}

/* True if `end` is the last (or `first`: the first) part of a path's subject. */
static bool has_end(const char *subject, const char *end, size_t length, bool first)
{
	const char *arrow = strchr(subject, '>');

	if (!arrow)
		return false;
	if (!first)
		return streq(arrow + 1, end);
	return (size_t)(arrow - subject) == length && strncmp(subject, end, length) == 0;
}

/*
 * In the mesh of a host, a run measures enough cells to cover all of its parts. A cell that was
 * left out is not missing if other cells have each of its ends.
 */
static bool stands_for(const struct report *report, const struct verdict_item *item)
{
	const char *arrow = starts_with(item->check, "loopback.") ? strchr(item->subject, '>')
								  : NULL;
	bool from = false, to = false;
	size_t i;

	for (i = 0; arrow && !(from && to) && i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (!streq(s->check, item->check))
			continue;
		from = from ||
		       has_end(s->subject, item->subject, (size_t)(arrow - item->subject), true);
		to = to || has_end(s->subject, arrow + 1, 0, false);
	}
	return from && to;
}

static bool listed(const struct verdict_item *const *items, size_t n,
		   const struct verdict_item *item)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (streq(items[i]->check, item->check) && streq(items[i]->subject, item->subject))
			return true;
	}
	return false;
}

size_t missing_find(const struct report *report, const struct verdict *before,
		    const struct verdict_item **ret_items)
{
	CLEANUP(freep)
	const struct sample **sorted = xcalloc(report->n_samples + 1, sizeof(*sorted));
	size_t n = 0, i;

	for (i = 0; i < report->n_samples; i++)
		sorted[i] = &report->samples[i];
	qsort(sorted, report->n_samples, sizeof(*sorted), compare_samples);
	for (i = 0; i < before->n_items; i++) {
		const struct verdict_item *item = &before->items[i];
		struct sample same = { .check = item->check, .subject = item->subject };
		const struct sample *key = &same;

		if (about_a_device(before, item) && !missing_excused(report, item->check) &&
		    !bsearch(&key, sorted, report->n_samples, sizeof(*sorted), compare_samples) &&
		    !stands_for(report, item) && !listed(ret_items, n, item))
			ret_items[n++] = item;
	}
	return n;
}

/* Which check shows that the probe which counts something ran. */
static const struct {
	const char *check, *ran;
} counts[] = {
	{ "inventory.cpus", "inventory." },	  { "inventory.numa_nodes", "inventory." },
	{ "inventory.dimm_bytes", "inventory." }, { "inventory.gpus", "inventory." },
	{ "inventory.nics", "inventory." },	  { "inventory.ports_active", "inventory." },
	{ "inventory.nvlinks", "gpu." },
};
_Static_assert(ARRAY_SIZE(counts) <= MISSING_COUNTS_MAX, "room for each");

static bool has_check(const struct report *report, const char *check)
{
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		if (starts_with(report->samples[i].check, check))
			return true;
	}
	return false;
}

/* True if a count above zero is expected. */
static bool is_expected(const struct judge_inputs *inputs, const char *check)
{
	CLEANUP(sample_release) struct sample s = sample_init();
	double expected, floor;

	s.check = xstrdup(check);
	s.subject = xstrdup("host");
	return inputs->sku(inputs->sku_context, &s, &expected, &floor) && expected > 0;
}

size_t missing_counts(const struct report *report, const struct judge_inputs *inputs,
		      const char *ret_checks[static MISSING_COUNTS_MAX])
{
	size_t n = 0, i;

	if (!inputs->sku || !has_check(report, "inventory."))
		return 0;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		if (has_check(report, counts[i].ran) && !has_check(report, counts[i].check) &&
		    is_expected(inputs, counts[i].check) &&
		    !missing_excused(report, counts[i].check))
			ret_checks[n++] = counts[i].check;
	}
	return n;
}
