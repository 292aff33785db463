/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/fleet_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/http/api_body.h"
#include "controller/routes/fleet_feed.h"
#include "controller/routes/routes.h"
#include "controller/store/store_fleet.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"

enum {
	ANSWER_MAX = 64 * 1024 * 1024, /* for 100,000 hosts with long names */
	SENTENCE_MAX = 400,
	ID_LETTERS = 16,
	WHOLE_SHARE = 4, /* send all hosts if more than this part of them changed */
};

/* --- updates --- */

static void forget_bodies(struct fleet_answer *a)
{
	size_t i;

	api_body_free(TAKE(a->whole));
	for (i = 0; i < a->n_kept; i++)
		api_body_free(a->kept[i].body);
	a->n_kept = 0;
}

void fleet_answer_init(struct fleet_answer *a)
{
	*a = (struct fleet_answer){ .id = random_u64() };
}

void fleet_answer_release(struct fleet_answer *a)
{
	forget_bodies(a);
	free(a->as_of);
	free(a->head);
	json_decref(a->worst);
	*a = (struct fleet_answer){ 0 };
}

static json_t *policy_of(const struct service *s)
{
	const int mode = MIN((int)s->settings->mode, s->rules.policy.mode);

	return json_pack("{s:s, s:s, s:s?}", "mode", policy_mode_names[mode], "version",
			 s->rules.version, "domain_label", s->rules.policy.domain_label);
}

/* A host's sentence, as written by the host: cut at a character. */
static json_t *sentence_of(struct service *s, const char *node)
{
	CLEANUP(freep) char *sentence = NULL;
	size_t length;
	json_t *value;

	(void)store_fleet_sentence(s->store, node, &sentence, NULL);
	length = sentence ? MIN(strlen(sentence), (size_t)SENTENCE_MAX) : 0;
	while (length > 0 && ((unsigned char)sentence[length] & 0xc0) == 0x80)
		length--;
	value = sentence ? json_stringn(sentence, length) : NULL;
	return value ? value : json_null();
}

static json_t *worst_of(const struct fleet_feed *feed)
{
	json_t *list = json_array();
	struct fleet_view_worst worst;
	size_t i;

	fleet_view_worst(&feed->view, &worst);
	for (i = 0; i < worst.n; i++) {
		const struct fleet_view_row *row = &feed->view.rows[worst.rows[i]];
		const bool in = row->service == FLEET_SERVICE_IN;

		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o}", "node", row->name, "verdict",
				  verdict_level_names[fleet_view_level(row)], "in_service",
				  row->service == FLEET_UNKNOWN ? json_null() : json_boolean(in),
				  "sentence", sentence_of(feed->service, row->name)));
	}
	return list;
}

/* Shared data has changed: that counts as a change, too, like that of a host. */
static void look_at_head(struct fleet_answer *a, struct fleet_feed *feed)
{
	CLEANUP(json_freep)
	json_t *head = json_pack("{s:o, s:o}", "policy", policy_of(feed->service), "breaker",
				 routes_breaker(feed->service));
	char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;

	if (!text || streq(text, a->head)) {
		free(text);
		return;
	}
	free(a->head);
	a->head = text;
	(void)fleet_view_count(&feed->view);
}

static void look_at_worst(struct fleet_answer *a, struct fleet_feed *feed)
{
	json_t *worst = worst_of(feed);

	if (a->worst && json_equal(worst, a->worst)) {
		json_decref(worst);
		return;
	}
	json_decref(a->worst);
	a->worst = worst;
	a->worst_version = fleet_view_count(&feed->view);
}

bool fleet_answer_look(struct fleet_answer *a, struct fleet_feed *feed, uint64_t mono_us)
{
	const uint64_t epoch = actor_view_epoch(feed->service->act), before = a->version;
	char stamp[CLOCK_STAMP_SIZE];

	if (a->look_us > 0 && mono_us - a->look_us < FLEET_ANSWER_US)
		return false;
	a->look_us = mono_us;
	forget_bodies(a);
	if (epoch != a->epoch)
		a->id = random_u64();
	a->epoch = epoch;
	look_at_head(a, feed);
	look_at_worst(a, feed);
	clock_stamp(clock_real_us(), stamp);
	free(a->as_of);
	a->as_of = xstrdup(stamp);
	a->version = feed->view.version;
	return a->version != before;
}

/* --- as JSON --- */

static void put_json(struct strbuf *text, const char *key, json_t *value)
{
	CLEANUP(freep) char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	json_decref(value);
	(void)strbuf_printf(text, ",\"%s\":%s", key, dumped ? dumped : "null");
}

static json_t *words(const char *const *names)
{
	json_t *list = json_array();

	for (; *names; names++)
		(void)json_array_append_new(list, json_string(*names));
	return list;
}

static json_t *changed_of(const struct fleet_feed *feed, bool whole, uint64_t since)
{
	json_t *all = json_object();
	size_t i;

	for (i = 0; i < FLEET_FEED_KINDS; i++)
		(void)json_object_set_new(all, fleet_feed_kinds[i],
					  whole ? json_null()
						: fleet_news_since(&feed->news[i], since));
	return all;
}

/* The meaning of numbers in the columns, if that has changed. */
static void put_names(const struct fleet_feed *feed, bool whole, uint64_t since, struct strbuf *text)
{
	if (whole) {
		put_json(text, "verdicts", words(verdict_level_names));
		put_json(text, "lives", words(life_state_names));
		put_json(text, "services", words(fleet_service_names));
		put_json(text, "connections", words(live_state_names));
	}
	if (whole || feed->view.domains_version > since)
		put_json(text, "domains", fleet_view_names(&feed->view.domains));
	if (whole || feed->view.skus_version > since)
		put_json(text, "skus", fleet_view_names(&feed->view.skus));
}

/* Changes since a version, or all hosts with `whole`. */
static struct api_body *body_of(const struct fleet_answer *a, const struct fleet_feed *feed,
				bool whole, uint64_t since)
{
	struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	const size_t head_length = strlen(a->head);

	(void)strbuf_printf(&text,
			    "{\"controller\":\"%0*" PRIx64 "\",\"epoch\":%" PRIu64
			    ",\"version\":\"%0*" PRIx64 "-%" PRIu64
			    "\",\"as_of\":\"%s\",\"whole\":%s,"
			    "\"reset\":false,",
			    ID_LETTERS, a->id, a->epoch, ID_LETTERS, a->id, a->version, a->as_of,
			    whole ? "true" : "false");
	(void)strbuf_add(&text, a->head + 1, head_length - 2);
	put_json(&text, "counts", fleet_view_counts(&feed->view));
	put_names(feed, whole, since, &text);
	(void)strbuf_puts(&text, ",\"nodes\":");
	fleet_view_columns(&feed->view, whole ? 0 : since, &text);
	if (whole || a->worst_version > since)
		put_json(&text, "worst", json_incref(a->worst));
	put_json(&text, "changed", changed_of(feed, whole, since));
	(void)strbuf_puts(&text, "}");
	if (!strbuf_ok(&text)) {
		strbuf_release(&text);
		return NULL;
	}
	return api_body_new(text.data, text.len);
}

struct api_body *fleet_answer_whole(struct fleet_answer *a, const struct fleet_feed *feed)
{
	if (!a->whole)
		a->whole = body_of(a, feed, true, 0);
	return a->whole;
}

struct api_body *fleet_answer_since(struct fleet_answer *a, const struct fleet_feed *feed,
				    uint64_t since)
{
	struct api_body *body;
	size_t i;

	for (i = 0; i < a->n_kept; i++) {
		if (a->kept[i].since == since)
			return api_body_again(a->kept[i].body);
	}
	if (since < feed->view.whole ||
	    fleet_view_changed(&feed->view, since) * WHOLE_SHARE > feed->view.n)
		body = api_body_again(fleet_answer_whole(a, feed));
	else
		body = body_of(a, feed, false, since);
	if (body && a->n_kept < FLEET_ANSWER_SHARED)
		a->kept[a->n_kept++] = (struct fleet_answer_kept){ since, api_body_again(body) };
	return body;
}

json_t *fleet_answer_reset(const struct fleet_answer *a, const struct service *s)
{
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(clock_real_us(), stamp);
	return json_pack("{s:o, s:I, s:o, s:s, s:b, s:b}", "controller",
			 json_sprintf("%0*" PRIx64, ID_LETTERS, a->id), "epoch",
			 (json_int_t)actor_view_epoch(s->act), "version",
			 json_sprintf("%0*" PRIx64 "-%" PRIu64, ID_LETTERS, a->id, a->version),
			 "as_of", stamp, "whole", 0, "reset", 1);
}

int fleet_answer_number(const struct fleet_answer *a, const char *version, uint64_t *ret)
{
	unsigned long long id, number;
	char *end = NULL;

	if (strspn(version, "0123456789abcdef") != ID_LETTERS || version[ID_LETTERS] != '-' ||
	    version[ID_LETTERS + 1] < '0' || version[ID_LETTERS + 1] > '9')
		return -EINVAL;
	errno = 0;
	id = strtoull(version, NULL, 16);
	number = strtoull(version + ID_LETTERS + 1, &end, 10);
	if (errno || *end)
		return -EINVAL;
	if (id != a->id || number > a->version)
		return -ESTALE;
	*ret = number;
	return 0;
}
