/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_traits.h"

#include "lib/policy/decide_inside.h"
#include "lib/policy/fleet_jobs.h"

bool decide_traits_has(const struct fleet_node *node, const struct finding *finding, int kind,
		       int trait)
{
	size_t i = 0;

	if (kind == NOTICE_JOB)
		return fleet_jobs_has(node, trait, finding);
	while (i < node->n_settings && node->settings[i] != trait)
		i++;
	return i < node->n_settings;
}

void decide_traits_count(const struct fleet_node *node, const struct finding *finding, int kind,
			 size_t *counts_of)
{
	size_t i;

	for (i = 0; kind == NOTICE_JOB && i < node->n_ran; i++)
		counts_of[node->ran[i].job] += fleet_jobs_has(node, node->ran[i].job, finding);
	for (i = 0; kind != NOTICE_JOB && i < node->n_settings; i++)
		counts_of[node->settings[i]]++;
}

/* What the key of a notice says beyond SKU and check of the candidate; NULL: it is of others. */
static const char *trait_in(const struct notice *notice, const struct candidate *c, const char *sku)
{
	const size_t of_sku = strlen(sku), of_check = strlen(c->finding->check);
	const char *key = notice->key;

	if (strncmp(key, sku, of_sku) != 0 || key[of_sku] != ' ')
		return NULL;
	key += of_sku + 1;
	return strncmp(key, c->finding->check, of_check) == 0 && key[of_check] == ' '
		       ? key + of_check + 1
		       : NULL;
}

/* By which kind of notice; 0: by none. */
static int explained_by(const struct deciding *d, const struct candidate *c)
{
	const struct fleet *f = d->fleet;
	const char *sku = names_text(&f->skus, c->node->sku);
	size_t i;

	for (i = 0; i < f->n_notices; i++) {
		const int kind = f->notices[i].kind;
		const char *text = kind == NOTICE_SETTING || kind == NOTICE_JOB
					   ? trait_in(&f->notices[i], c, sku ? sku : "-")
					   : NULL;
		const int trait = names_find(kind == NOTICE_JOB ? &f->jobs : &f->settings, text);

		if (text && trait != NAME_NONE &&
		    decide_traits_has(c->node, c->finding, kind, trait))
			return kind;
	}
	return 0;
}

void decide_traits_explain(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++) {
		struct candidate *c = &d->out->candidates[i];

		c->explained = explained_by(d, c);
	}
}
