/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/placing.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/job/summary.h"
#include "controller/job/summary_detail.h"
#include "controller/job/summary_late.h"
#include "controller/store/store_placements.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* per rank; with more, many hosts claimed it */
enum {
	CLAIMS_MAX = 256,
	RANKS_MAX = 16384, /* per job, as accepted by the API */
};

/* --- ranks of a suspect --- */

struct collecting {
	const struct placing_window *window;
	const struct placing_pods *pods; /* or NULL */
	size_t pod;			 /* pods before this one are no longer needed */
	struct placement_group group;
	struct placement_claim claims[CLAIMS_MAX]; /* for `rank`, owning the names of nodes */
	size_t n;
	bool too_many;
	int64_t rank;
	void (*each)(void *context, int64_t rank, const char *node); /* or NULL: add to `group` */
	void *context;
};

static void add_claim(struct collecting *c, const struct placement_claim *claim)
{
	if (c->n == CLAIMS_MAX) {
		c->too_many = true;
		return;
	}
	c->claims[c->n] = *claim;
	c->claims[c->n++].node = xstrdup(claim->node);
}

/* Add its pod, if pods are known. */
static void add_pod(struct collecting *c)
{
	const struct placing_pods *pods = c->pods;
	const struct placing_pod *p;

	while (pods && c->pod < pods->n &&
	       pods->items[c->pod].first + pods->items[c->pod].n <= c->rank)
		c->pod++;
	if (!pods || c->pod == pods->n)
		return;
	p = &pods->items[c->pod];
	add_claim(c, &(struct placement_claim){ PLACEMENT_PODS, p->node, p->from_us, p->until_us });
}

static void end_rank(struct collecting *c)
{
	const struct placement_found many = { .known = true, .doubt = PLACEMENT_MOVED };
	struct placement_found found;
	size_t i;

	add_pod(c);
	found = placement_of_rank(c->claims, c->n, &c->window->span);
	if (!c->each)
		placement_group_add(&c->group, c->too_many ? &many : &found);
	else if (!c->too_many && found.known && found.doubt == PLACEMENT_SURE)
		c->each(c->context, c->rank, found.node);
	for (i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->claims[i].node);
	c->n = 0;
	c->too_many = false;
}

/* Finish all ranks before this one: those not reported may be known from pods. */
static void end_before(struct collecting *c, int64_t rank)
{
	for (; c->rank < rank; c->rank++)
		end_rank(c);
}

/* Without times only the run separates windows; with times the sender's run may be wrong. */
static bool is_of_run(const struct placing_window *w, int64_t run)
{
	return w->span.until_us || run == 0 || run == w->run;
}

static void take_claim(void *context, const struct store_placement *p)
{
	struct collecting *c = context;

	end_before(c, p->rank);
	if (!is_of_run(c->window, p->run))
		return;
	add_claim(c,
		  &(struct placement_claim){ PLACEMENT_AGENTS, p->node, p->from_us, p->until_us });
}

/* Look up its ranks; nothing is known about a suspect without ranks. */
static int collect(struct store *store, struct collecting *c, const json_t *suspect, struct err *err)
{
	int64_t spans[SUMMARY_SPANS_MAX][2];
	const size_t n = summary_ranks(suspect, spans);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		c->rank = spans[i][0];
		r = store_placements(store, c->window->job, spans[i], take_claim, c, err);
		end_before(c, spans[i][1] + 1);
	}
	if (r == -E2BIG) {
		c->group.doubt = PLACEMENT_MOVED;
		r = 0;
	}
	return r;
}

int placing_ranks(struct store *store, const struct placing_window *window,
		  void (*each)(void *context, int64_t rank, const char *node), void *context,
		  struct err *err)
{
	static const int64_t all[] = { 0, RANKS_MAX - 1 };
	struct collecting *c = xcalloc(1, sizeof(*c));
	int r;

	c->window = window;
	c->pods = window->pods;
	c->each = each;
	c->context = context;
	r = store_placements(store, window->job, all, take_claim, c, err);
	end_before(c, RANKS_MAX);
	free(c);
	return r == -E2BIG ? 0 : r;
}

/* --- consequences --- */

/* The hosts that the trace names for it, without duplicates; they are sorted. */
static size_t traced_hosts(const json_t *suspect, const char *ret[static SUMMARY_HOSTS_MAX])
{
	const json_t *hosts = json_object_get(suspect, "hosts");
	size_t n = 0, i;

	for (i = 0; i < json_array_size(hosts) && n < SUMMARY_HOSTS_MAX; i++) {
		const char *host = json_string_value(json_array_get(hosts, i));

		if (n == 0 || !streq(ret[n - 1], host))
			ret[n++] = host;
	}
	return n;
}

static json_t *hosts_of(const struct placement_group *group)
{
	json_t *hosts = json_array();
	size_t i;

	for (i = 0; i < group->n_hosts; i++)
		(void)json_array_append_new(hosts, json_string(group->hosts[i]));
	return hosts;
}

static bool counts(const json_t *suspect)
{
	return json_is_true(json_object_get(suspect, "counts"));
}

/* The hosts from the store if they are sure, none if in doubt. */
static void put_hosts(json_t *place, const struct placement_group *group, enum placement_doubt doubt)
{
	if (placement_doubt_words[doubt])
		(void)json_object_set_new(place, "hosts", json_array());
	else if (group->source != PLACEMENT_TRACE)
		(void)json_object_set_new(place, "hosts", hosts_of(group));
}

static void name(json_t *suspect, const struct placement_group *group, enum placement_doubt doubt)
{
	const char *words = placement_doubt_words[doubt];

	(void)json_object_set_new(
		suspect, "placed",
		json_pack("{s:o, s:b, s:o}", "source",
			  words ? json_null() : json_string(placement_source_names[group->source]),
			  "sure", !words, "reason", words ? json_string(words) : json_null()));
	put_hosts(suspect, group, doubt);
	if (words)
		(void)json_object_set_new(suspect, "counts", json_false());
}

/* The sentence for a window. */
struct telling {
	const char *said; /* from the trace alone */
	struct strbuf text;
	bool lost; /* it names hosts that are in doubt */
};

static bool names_any(const char *text, const char *const *hosts, size_t n)
{
	size_t i;

	for (i = 0; text && i < n; i++) {
		if (strstr(text, hosts[i]))
			return true;
	}
	return false;
}

static bool is_sure(const json_t *suspect)
{
	return json_is_true(json_object_get(json_object_get(suspect, "placed"), "sure"));
}

/* Add a sentence for each suspect blamed or named: where it was, or why it has no name. */
static void tell(struct strbuf *text, const json_t *suspect, bool nameless)
{
	const json_t *placed = json_object_get(suspect, "placed");
	CLEANUP(freep) char *who = summary_suspect_name(suspect);

	if (!is_sure(suspect))
		(void)strbuf_printf(text, "%sNo host is suspected for %s: %s.", text->len ? " " : "",
				    who, json_string_value(json_object_get(placed, "reason")));
	else if (nameless)
		(void)strbuf_printf(text, "%sIts ranks ran on %s.", text->len ? " " : "", who);
}

/* Pods of a job of another size, or with processes that are not one GPU each, number ranks
 * differently. */
static const struct placing_pods *whole(const struct placing_pods *pods, const json_t *summary)
{
	const struct placing_pod *last = pods && pods->n > 0 ? &pods->items[pods->n - 1] : NULL;
	const int64_t ranks = json_integer_value(json_object_get(summary, "ranks"));

	return last && last->first + last->n == ranks ? pods : NULL;
}

static int settle(struct store *store, const struct placing_window *window, json_t *suspect,
		  struct telling *telling, struct err *err)
{
	struct collecting *c = xcalloc(1, sizeof(*c));
	const char *hosts[SUMMARY_HOSTS_MAX];
	const struct placement_traced traced = { hosts, traced_hosts(suspect, hosts),
						 window->bound };
	const bool blamed = counts(suspect), named = names_any(telling->said, hosts, traced.n);
	int r;

	c->window = window;
	c->pods = window->pods;
	r = collect(store, c, suspect, err);
	if (r == 0) {
		name(suspect, &c->group, placement_group_judge(&c->group, &traced));
		telling->lost |= (blamed || named) && !is_sure(suspect);
		if (blamed || (named && !is_sure(suspect)))
			tell(&telling->text, suspect, traced.n == 0);
	}
	placement_group_release(&c->group);
	free(c);
	return r;
}

/* Set the hosts of a place in the lateness. */
static int settle_place(struct store *store, const struct placing_window *window, json_t *place,
			struct err *err)
{
	struct collecting *c = xcalloc(1, sizeof(*c));
	const char *hosts[SUMMARY_HOSTS_MAX];
	const struct placement_traced traced = { hosts, traced_hosts(place, hosts), window->bound };
	int r;

	c->window = window;
	c->pods = window->pods;
	r = collect(store, c, place, err);
	if (r == 0)
		put_hosts(place, &c->group, placement_group_judge(&c->group, &traced));
	placement_group_release(&c->group);
	free(c);
	return r;
}

static int settle_lateness(struct store *store, const struct placing_window *window,
			   json_t *lateness, struct err *err)
{
	json_t *places[SUMMARY_LATE_PLACES_MAX];
	const size_t n = summary_late_places(lateness, places);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++)
		r = settle_place(store, window, places[i], err);
	if (r == 0 && n > 0)
		summary_late_say(lateness);
	return r;
}

static void name_worker(void *context, int64_t rank, const char *node)
{
	summary_detail_name(context, rank, node);
}

/* Set the host of each worker in its map. */
static int settle_workers(struct store *store, const struct placing_window *window, json_t *detail,
			  struct err *err)
{
	struct summary_detail_hosts hosts;
	int r;

	if (!json_object_get(detail, "ranks"))
		return 0;
	summary_detail_begin(&hosts, detail);
	r = placing_ranks(store, window, name_worker, &hosts, err);
	summary_detail_end(&hosts, detail, !window->bound);
	return r;
}

static void say(json_t *summary, const struct telling *telling)
{
	const char *text = strbuf_text(&telling->text);

	if (!*text)
		return;
	(void)json_object_set_new(summary, "sentence",
				  telling->lost ? json_string(text)
						: json_sprintf("%s %s", telling->said, text));
}

int placing_settle(struct store *store, const struct placing_window *window, json_t *summary,
		   struct err *err)
{
	struct placing_window checked = *window;
	struct telling telling = {
		.said = json_string_value(json_object_get(summary, "sentence")),
		.text = STRBUF_INIT(SUMMARY_SENTENCE_MAX),
	};
	const json_t *suspects = json_object_get(summary, "suspects");
	size_t i;
	int r = 0;

	checked.pods = whole(window->pods, summary);
	for (i = 0; r == 0 && i < json_array_size(suspects); i++)
		r = settle(store, &checked, json_array_get(suspects, i), &telling, err);
	if (r == 0)
		r = settle_lateness(store, &checked, json_object_get(summary, "lateness"), err);
	if (r == 0)
		r = settle_workers(store, &checked, json_object_get(summary, "detail"), err);
	if (r == 0) {
		summary_name_suspect(summary);
		say(summary, &telling);
	}
	strbuf_release(&telling.text);
	return r;
}
