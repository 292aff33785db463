/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/explain.h"

#include <stdlib.h>

#include "agents/assay/explain_input.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/link_words.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"

enum { STATUS_GOOD = 0, STATUS_SLOW = 1, STATUS_UNSURE = 3 };

/* Links named in the one-sentence summary. */
enum { LINKS_TOLD = 3 };

void explain_make(const struct explain_input *input, const struct sample_list *reference,
		  struct explanation *ret)
{
	const struct localise_input ask = { .samples = input->samples, .reference = *reference };

	*ret = (struct explanation){ .input = input };
	heats_build(&ask, &ret->heats);
	localise(&ask, &ret->found);
}

void explanation_release(struct explanation *e)
{
	heats_release(&e->heats);
	localised_release(&e->found);
}

static bool is_told(const struct explanation *e, const char *link)
{
	size_t i;

	for (i = 0; link && i < e->found.n; i++) {
		if (streq(e->found.links[i].link, link))
			return true;
	}
	return false;
}

/* Is it about a cell that one of the links makes slow? */
static bool is_cell(const struct explanation *e, const struct verdict_item *item)
{
	size_t i, j;

	for (i = 0; i < e->found.n; i++) {
		const struct localised_link *link = &e->found.links[i];

		for (j = 0; j < link->n_cells; j++) {
			const struct sample *s = &e->input->samples.v[link->cells[j]];

			if (streq(s->check, item->check) && streq(s->subject, item->subject))
				return true;
		}
	}
	return false;
}

const struct verdict_item *explain_next(const struct explanation *e, size_t *at)
{
	const struct verdict *v = &e->input->verdict;

	while (*at < v->n_items) {
		const struct verdict_item *item = &v->items[(*at)++];
		bool is_link = verdict_item_is_link(item);

		if (item->level == VERDICT_PASS || (is_link && is_told(e, item->subject)) ||
		    is_told(e, item->link) || (!is_link && is_cell(e, item)))
			continue;
		return item;
	}
	return NULL;
}

char *explain_link(const struct explanation *e, size_t nth)
{
	CLEANUP(freep) char *sentence = localised_sentence(&e->found.links[nth]);

	return host_parts_words(&e->input->parts, sentence);
}

char *explain_sentence(const struct explanation *e)
{
	CLEANUP(freep) char *text = xstrdup("");
	size_t cells = e->found.cells, i;

	if (e->found.n == 0 && cells == 0 && heats_measured(&e->heats) > 0)
		return xasprintf("no cell with a path could be compared: no link can be named");
	if (e->found.n == 0 && cells == 0)
		return xstrdup("nothing was measured between two parts: no link can be named");
	if (e->found.n == 0 && e->found.beyond > 0)
		return xasprintf("no slow link was found: %zu of %zu cells are in matrices too "
				 "large to be explained",
				 e->found.beyond, cells);
	if (e->found.n == 0)
		return xasprintf("no slow link: %zu cell%s with a path compared", cells,
				 cells == 1 ? "" : "s");
	for (i = 0; i < MIN(e->found.n, (size_t)LINKS_TOLD); i++) {
		CLEANUP(freep) char *before = TAKE(text);
		CLEANUP(freep) char *one = explain_link(e, i);

		text = xasprintf("%s%s%s", before, i ? "; and " : "", one);
	}
	if (e->found.n <= LINKS_TOLD)
		return TAKE(text);
	return xasprintf("%s; and %zu more links", text, e->found.n - LINKS_TOLD);
}

int explain_status(const struct explanation *e)
{
	if (e->found.n > 0 || e->input->verdict.level == VERDICT_FAIL)
		return STATUS_SLOW;
	return heats_measured(&e->heats) > 0 || e->found.cells > 0 ? STATUS_GOOD : STATUS_UNSURE;
}

/* --- explain/1 --- */

static void add_words(const struct explanation *e, size_t nth, json_t *link)
{
	const struct localised_link *l = &e->found.links[nth];
	const struct topo_link *t = topology_find_link(&e->input->topology, l->link);
	const char *hint = link_hint(l->link, l->ratio);

	(void)json_object_set_new(link, "hint", *hint ? json_string(hint) : json_null());
	if (t)
		(void)json_object_set_new(link, "pcie",
					  json_pack("{s:f, s:I, s:f, s:I}", "gts", t->gts, "width",
						    (json_int_t)t->width, "max_gts", t->max_gts,
						    "max_width", (json_int_t)t->max_width));
}

static json_t *encode_others(const struct explanation *e)
{
	const struct verdict_item *item;
	json_t *others = json_array();
	size_t at = 0;

	while ((item = explain_next(e, &at)))
		(void)json_array_append_new(
			others, json_pack("{s:s, s:s, s:s, s:s}", "check", item->check, "subject",
					  item->subject, "verdict", verdict_level_names[item->level],
					  "sentence", item->sentence));
	return others;
}

json_t *explain_encode(const struct explanation *e)
{
	CLEANUP(freep) char *sentence = explain_sentence(e);
	json_t *value = localised_encode(&e->found);
	json_t *links = json_object_get(value, "links");
	size_t i;

	for (i = 0; i < e->found.n; i++)
		add_words(e, i, json_array_get(links, i));
	(void)json_object_update_new(value, json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:o, s:o, s:s}",
						      "kind", "explain", "node", e->input->node,
						      "time", e->input->time, "profile",
						      e->input->profile, "verdict",
						      verdict_level_names[e->input->verdict.level],
						      "matrices", heats_encode(&e->heats), "others",
						      encode_others(e), "sentence", sentence));
	return value;
}
