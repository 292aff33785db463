/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/sim/sim.h"
#include "tests/sim/truth.h"

static struct cause *find(struct causes *causes, const struct fault *fault)
{
	size_t i;

	for (i = 0; i < causes->n; i++) {
		if (causes->list[i].fault == fault)
			return &causes->list[i];
	}
	return NULL;
}

void cause_add(struct causes *causes, size_t number, const struct ailment *a, const char *rack,
	       const char *sku)
{
	const char *told = fault_traits[a->fault->kind].told;
	struct cause *cause = find(causes, a->fault);

	if (!cause) {
		causes->list = xrealloc(causes->list, causes->n + 1, sizeof(*causes->list));
		cause = &causes->list[causes->n++];
		*cause = (struct cause){ .fault = a->fault,
					 .onset_us = a->onset_us,
					 .until_us = a->until_us };
		(void)snprintf(cause->name, sizeof(cause->name), "%s", told ? told : rack);
		(void)snprintf(cause->sku, sizeof(cause->sku), "%s", sku);
	}
	if (!streq(cause->sku, sku))
		cause->sku[0] = '\0';
	cause->hosts = xrealloc(cause->hosts, cause->n + 1, sizeof(*cause->hosts));
	cause->hosts[cause->n++] = (struct cause_host){ .number = number };
}

void causes_release(struct causes *causes)
{
	size_t i;

	for (i = 0; i < causes->n; i++)
		free(causes->list[i].hosts);
	free(causes->list);
	*causes = (struct causes){ 0 };
}

static struct cause_host *host_of(struct cause *cause, size_t number)
{
	size_t i;

	for (i = 0; i < cause->n; i++) {
		if (cause->hosts[i].number == number)
			return &cause->hosts[i];
	}
	return NULL;
}

/* Values measured during the cause still count in the judge for another day. */
static bool lasts(const struct cause *cause, uint64_t now_us)
{
	return cause->onset_us <= now_us &&
	       (cause->until_us == UINT64_MAX || now_us < cause->until_us + USEC_PER_DAY);
}

static bool is_low_in(const struct cause *cause, const char *check)
{
	const char *family = truth_family(cause->fault->kind);
	const size_t n = strlen(family);

	return !check || (strncmp(check, family, n) == 0 && check[n] == '.');
}

void cause_run(struct sim *s, size_t number)
{
	struct causes *causes = &s->grade.causes;
	size_t i;

	for (i = 0; i < causes->n; i++) {
		struct cause *cause = &causes->list[i];
		struct cause_host *host = host_of(cause, number);

		if (host && cause->told_us == 0 && cause->onset_us <= s->now_us &&
		    s->now_us < cause->until_us)
			host->runs++;
	}
}

bool cause_explains(const struct sim *s, size_t number, const char *check)
{
	const struct causes *causes = &s->grade.causes;
	size_t i;

	for (i = 0; i < causes->n; i++) {
		if (lasts(&causes->list[i], s->now_us) && is_low_in(&causes->list[i], check) &&
		    host_of(&causes->list[i], number))
			return true;
	}
	return false;
}

void cause_incident(struct sim *s, size_t number, const char *check, bool open)
{
	struct causes *causes = &s->grade.causes;
	size_t i;

	for (i = 0; i < causes->n; i++) {
		struct cause *cause = &causes->list[i];
		struct cause_host *host = host_of(cause, number);

		if (!host || !is_low_in(cause, check))
			continue;
		if (open && lasts(cause, s->now_us)) {
			host->open++;
			host->blamed = true;
		} else if (!open && host->open > 0) {
			host->open--;
		}
	}
}

void cause_cordon(struct sim *s, size_t number)
{
	struct causes *causes = &s->grade.causes;
	size_t i;

	for (i = 0; i < causes->n; i++) {
		struct cause_host *host = host_of(&causes->list[i], number);

		if (host && lasts(&causes->list[i], s->now_us))
			host->cordoned = true;
	}
}

static bool says(const char *text, const char *word)
{
	return text && strstr(text, word);
}

void cause_told(struct sim *s, const char *key, const char *sentence)
{
	struct causes *causes = &s->grade.causes;
	size_t i;

	for (i = 0; i < causes->n; i++) {
		struct cause *cause = &causes->list[i];
		const char *family = truth_family(cause->fault->kind);

		if (!lasts(cause, s->now_us))
			continue;
		if (cause->told_us == 0 && (says(key, cause->name) || says(sentence, cause->name)))
			cause->told_us = s->now_us;
		if (cause->fleet_us == 0 && cause->sku[0] && says(key, cause->sku) &&
		    (says(key, family) || says(sentence, family)))
			cause->fleet_us = s->now_us;
	}
}

void causes_settle(struct sim *s, bool end)
{
	struct causes *causes = &s->grade.causes;
	size_t i, j;

	for (i = 0; i < causes->n; i++) {
		struct cause *cause = &causes->list[i];
		const bool settled = cause->told_us > 0 &&
				     s->now_us >= cause->told_us + CAUSE_SETTLED_US;

		if (cause->counted || !(settled || end || s->now_us >= cause->until_us))
			continue;
		cause->counted = true;
		for (j = 0; j < cause->n; j++)
			cause->left += cause->hosts[j].open > 0;
	}
}

static json_t *seconds_since(const struct cause *cause, uint64_t at_us)
{
	return at_us ? json_real((double)(at_us - cause->onset_us) / 1e6) : json_null();
}

static json_t *encode(const struct cause *cause)
{
	uint64_t runs = 0, most = 0, blamed = 0, cordoned = 0;
	size_t i;

	for (i = 0; i < cause->n; i++) {
		runs += cause->hosts[i].runs;
		most = MAX(most, cause->hosts[i].runs);
		blamed += cause->hosts[i].blamed;
		cordoned += cause->hosts[i].cordoned;
	}
	return json_pack("{s:s, s:I, s:o, s:o, s:f, s:I, s:I, s:I, s:I}", "kind",
			 fault_names[cause->fault->kind], "hosts", (json_int_t)cause->n, "told_s",
			 seconds_since(cause, cause->told_us), "fleet_told_s",
			 seconds_since(cause, cause->fleet_us), "runs_mean",
			 (double)runs / (double)cause->n, "runs_most", (json_int_t)most, "blamed",
			 (json_int_t)blamed, "blamed_after", (json_int_t)cause->left, "cordoned",
			 (json_int_t)cordoned);
}

json_t *causes_encode(const struct causes *causes)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < causes->n; i++)
		(void)json_array_append_new(list, encode(&causes->list[i]));
	return list;
}
