/* SPDX-License-Identifier: Apache-2.0 */
/* Data about hosts, for people and programs. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/fleet/findings_fleet.h"
#include "controller/http/api.h"
#include "controller/ingest/host_identity.h"
#include "controller/job/hangs.h"
#include "controller/job/job_restarts.h"
#include "controller/routes/life.h"
#include "controller/routes/routes.h"
#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_part_names.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/node_name.h"
#include "lib/report/report.h"

enum { LIMIT_DEFAULT = 100 };

void refuse_store(struct call *call, int r, const struct err *err)
{
	call_refuse(call, r == -ENOENT ? 404 : 503, "%s", err->msg);
}

void routes_refuse_change(struct service *s, struct call *call, int r, const struct err *err)
{
	if (r == -EDQUOT) {
		call_refuse(call, 409, "%s", err->msg);
		return;
	}
	if (r != -ENOENT)
		service_failed(s, err);
	refuse_store(call, r, err);
}

int routes_number(const struct call *call, const char *what, int64_t *ret, struct err *err)
{
	const char *text = call_segment(call);
	char *end = NULL;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return err_set(err, ENOENT, "there is no %s '%.40s'", what, text);
	*ret = number;
	return 0;
}

int routes_need_node(struct service *s, const char *node, struct err *err)
{
	bool known = false;
	int r = store_has_node(s->store, node, &known, err);

	return r == 0 && !known ? err_set(err, ENOENT, "unknown host '%.80s'", node) : r;
}

bool routes_argument(struct call *call, const char *name, const char *unit, unsigned long least,
		     unsigned long most, unsigned long *value)
{
	const char *text = call_argument(call, name);
	char *end = NULL;
	unsigned long number;

	if (!text)
		return true;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || !isdigit((unsigned char)text[0]) || *end || number < least || number > most) {
		call_refuse(call, 400, "%s: expected %s%lu to %lu", name, unit, least, most);
		return false;
	}
	*value = number;
	return true;
}

/* Accept only cursors that a page returned as `next`. */
static bool cursor_ok(const char *cursor, enum cursor_kind kind)
{
	char *end = NULL;

	if (kind == CURSOR_NODE)
		return node_name_ok(cursor);
	errno = 0;
	(void)strtoll(cursor, &end, 10);
	return errno == 0 && cursor[0] >= '0' && cursor[0] <= '9' && *end == '\0';
}

bool routes_range_of(struct call *call, enum cursor_kind kind, struct store_range *ret)
{
	const char *cursor = call_argument(call, "cursor");
	unsigned long value = LIMIT_DEFAULT;

	if (!routes_argument(call, "limit", "", 1, STORE_PAGE_MAX, &value))
		return false;
	if (cursor && !cursor_ok(cursor, kind)) {
		call_refuse(call, 400, "cursor: expected the value of next from the previous page");
		return false;
	}
	*ret = (struct store_range){ cursor, value };
	return true;
}

void reply_page(struct call *call, struct store_page *page)
{
	call_reply(call, 200,
		   json_pack("{s:o, s:s?}", "items", TAKE(page->items), "next", page->next));
	free(page->next);
	page->next = NULL;
}

/*
 * Add its domain, by the label that budgets go by; and on request all its labels, of which there
 * may be many.
 */
static void add_place(struct service *s, const struct call *call, const char *name, json_t *node)
{
	const char *wants = call_argument(call, "labels");
	const char *label = s->rules.policy.domain_label;
	const json_t *labels = actor_labels(s->act, name);
	const json_t *domain = label ? json_object_get(labels, label) : NULL;

	(void)json_object_set_new(node, "domain", domain ? json_deep_copy(domain) : json_null());
	if (streq(wants, "1"))
		(void)json_object_set_new(node, "labels",
					  labels ? json_deep_copy(labels) : json_object());
}

/* Add what the store does not know: is its agent connected? */
static void add_live(struct service *s, const struct call *call, json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "node"));
	int state = live_state(&s->live, name ? name : "", clock_mono_us());
	const struct host *host = hosts_find(&s->hosts, name ? name : "");
	const int there = actor_in_cluster(s->act, name ? name : "");
	json_t *service = actor_service_json(s->act, name ? name : "");

	(void)json_object_set_new(node, "clock_skew_s",
				  host && isfinite(host->skew_s) ? json_real(host->skew_s)
								 : json_null());
	(void)json_object_set_new(node, "lost_reports",
				  host ? json_integer((json_int_t)host->lost) : json_null());
	if (host_identity_two(host, clock_real_us())) {
		CLEANUP(freep) char *sentence = host_identity_two_sentence(host);

		(void)json_object_set_new(node, "verdict", json_string("inconclusive"));
		(void)json_object_set_new(node, "sentence", json_string(sentence));
	}
	(void)json_object_set_new(node, "connection", json_string(live_state_names[state]));
	(void)json_object_set_new(node, "in_cluster", there < 0 ? json_null() : json_boolean(there));
	(void)json_object_set_new(node, "service", service ? service : json_null());
	add_place(s, call, name ? name : "", node);
}

/* Add the names of the host's parts, and to each item the name of its subject, if it has one. */
static int add_parts(struct service *s, json_t *node, json_t *items, struct err *err)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	int r = store_part_names(s->store, json_string_value(json_object_get(node, "node")), &parts,
				 err);
	size_t i;

	if (r < 0)
		return r;
	for (i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		const char *subject = json_string_value(json_object_get(item, "subject"));
		CLEANUP(freep) char *name = host_parts_words(&parts, subject);

		if (name && !streq(name, subject))
			(void)json_object_set_new(item, "name", json_string(name));
	}
	(void)json_object_set_new(node, "parts", host_parts_encode(&parts));
	return 0;
}

/* Add the parts named in the sentence of a listed host; a passing one names none. */
static void add_told(struct service *s, json_t *node)
{
	const char *verdict = json_string_value(json_object_get(node, "last_verdict"));
	const char *sentence = json_string_value(json_object_get(node, "sentence"));
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	json_t *told;

	if (streq(verdict, verdict_level_names[VERDICT_PASS]) ||
	    store_part_names(s->store, json_string_value(json_object_get(node, "node")), &parts,
			     NULL) < 0)
		return;
	told = host_parts_told(&parts, sentence);
	if (told)
		(void)json_object_set_new(node, "parts", told);
}

void get_nodes(void *context, struct call *call)
{
	struct service *s = context;
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	size_t i;
	int r;

	if (!routes_range_of(call, CURSOR_NODE, &range))
		return;
	r = store_nodes(s->store, &range, clock_real_us(), &page, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	for (i = 0; i < json_array_size(page.items); i++) {
		add_live(s, call, json_array_get(page.items, i));
		add_told(s, json_array_get(page.items, i));
	}
	reply_page(call, &page);
}

void get_node(void *context, struct call *call)
{
	struct service *s = context;
	json_t *node = NULL;
	struct err err = ERR_INIT;
	int r = store_node(s->store, call_segment(call), clock_real_us(), &node, &err);

	if (r == 0)
		r = add_parts(s, node, NULL, &err);
	if (r < 0) {
		json_decref(node);
		refuse_store(call, r, &err);
		return;
	}
	add_live(s, call, node);
	call_reply(call, 200, node);
}

/* --- why --- */

/* Items of the verdict over all profiles that are not pass. */
static json_t *bad_items(const struct verdict *v)
{
	CLEANUP(json_freep) json_t *whole = verdict_encode(v);
	json_t *items = json_object_get(whole, "items"), *bad = json_array();
	size_t i;

	for (i = 0; i < json_array_size(items) && i < v->n_items; i++) {
		if (v->items[i].level != VERDICT_PASS)
			(void)json_array_append(bad, json_array_get(items, i));
	}
	return bad;
}

int routes_merge_runs(struct service *s, const char *node, struct pool *pool, struct verdict *ret,
		      struct err *err)
{
	struct verdict runs[STORE_RUNS_MAX];
	bool active[STORE_RUNS_MAX];
	int n = store_runs(s->store, node, pool, runs, err), i;

	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		active[i] = profile_is_active(runs[i].profile);
	verdict_merge(runs, active, (size_t)n, ret);
	for (i = 0; i < n; i++)
		verdict_release(&runs[i]);
	return 0;
}

/* It may also have the findings of half of its SKU. */
static int add_fleet_incidents(struct service *s, const json_t *node, json_t *incidents,
			       struct err *err)
{
	const char *sku = json_string_value(json_object_get(node, "sku"));
	CLEANUP(freep) char *name = sku ? findings_fleet_name(sku) : NULL;
	CLEANUP(json_freep) json_t *more = NULL;
	int r = name ? store_open_incidents(s->store, name, &more, err) : 0;

	if (r == 0 && more)
		(void)json_array_extend(incidents, more);
	return r;
}

void get_why(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	CLEANUP(json_freep) json_t *node = NULL;
	json_t *items, *clock, *incidents = NULL, *jobs = NULL, *acquitted = NULL;
	struct err err = ERR_INIT;
	int r = store_node(s->store, call_segment(call), clock_real_us(), &node, &err);

	if (r == 0)
		r = routes_merge_runs(s, call_segment(call), &pool, &verdict, &err);
	if (r == 0)
		r = store_open_incidents(s->store, call_segment(call), &incidents, &err);
	if (r == 0)
		r = add_fleet_incidents(s, node, incidents, &err);
	if (r == 0)
		r = life_add(s, call_segment(call), node, &err);
	if (r == 0)
		r = store_jobs_that_blame(s->store, call_segment(call), &jobs, &err);
	if (r == 0)
		r = store_jobs_that_acquitted(s->store, call_segment(call), &acquitted, &err);
	if (r < 0) {
		json_decref(incidents);
		json_decref(jobs);
		refuse_store(call, r, &err);
		return;
	}
	add_live(s, call, node);
	items = bad_items(&verdict);
	(void)store_add_windows(s->store, call_segment(call), items, NULL);
	(void)store_add_reports(s->store, call_segment(call), items, NULL);
	clock = host_clock_item(hosts_find(&s->hosts, call_segment(call)));
	if (clock)
		(void)json_array_append_new(items, clock);
	(void)add_parts(s, node, items, NULL);
	(void)json_object_set_new(node, "items", items);
	(void)json_object_set_new(node, "measured", json_integer((json_int_t)verdict.n_items));
	(void)json_object_set_new(node, "incidents", incidents);
	(void)json_object_set_new(node, "jobs", jobs);
	(void)json_object_set_new(node, "hangs", hangs_of_node(s, call_segment(call)));
	(void)json_object_set_new(node, "acquitted", acquitted);
	(void)json_object_set_new(node, "restarts", job_restarts_show(s, call_segment(call)));
	call_reply(call, 200, TAKE(node));
}

/* --- samples --- */

/* Append the samples of a body to `all`, each with its run. */
static void add_samples(json_t *all, const struct store_body *body)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_MAX);
	CLEANUP(json_freep) json_t *report = NULL;
	struct packed packed = { body->coding, body->bytes, body->length };
	json_t *samples, *sample;
	size_t i;

	if (pack_open(&packed, &text, NULL) < 0 ||
	    json_parse(strbuf_text(&text), text.len, "report", &report, NULL) < 0)
		return; /* deleted, or compressed by a build with other codings */
	samples = json_object_get(report, "samples");
	json_array_foreach(samples, i, sample)
	{
		(void)json_object_set(sample, "profile", json_object_get(report, "profile"));
		(void)json_object_set(sample, "time", json_object_get(report, "time"));
		(void)json_array_append(all, sample);
	}
}

struct store_page cut_page(const json_t *all, const struct store_range *range)
{
	size_t from = range->cursor ? strtoul(range->cursor, NULL, 10) : 0;
	size_t n = json_array_size(all), i;
	struct store_page page = { .items = json_array() };

	for (i = from; i < n && i - from < range->limit; i++)
		(void)json_array_append(page.items, json_array_get(all, i));
	if (i < n)
		page.next = xasprintf("%zu", i);
	return page;
}

void get_samples(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *all = json_array();
	struct store_body bodies[STORE_PROFILES_MAX];
	struct store_range range;
	struct store_page page;
	struct err err = ERR_INIT;
	int n, i;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	n = routes_need_node(s, call_segment(call), &err);
	if (n == 0)
		n = store_bodies(s->store, call_segment(call), bodies, STORE_PROFILES_MAX, &err);
	if (n < 0) {
		refuse_store(call, n, &err);
		return;
	}
	for (i = 0; i < n; i++) {
		add_samples(all, &bodies[i]);
		free(bodies[i].bytes);
	}
	page = cut_page(all, &range);
	reply_page(call, &page);
}

void get_verdicts(void *context, struct call *call)
{
	struct service *s = context;
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = routes_need_node(s, call_segment(call), &err);
	if (r == 0)
		r = store_verdicts(s->store, call_segment(call), &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}
