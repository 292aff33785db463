/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary_late.h"

#include <math.h>
#include <stdlib.h>

#include "controller/job/summary.h"
#include "controller/job/summary_place.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/ring/ring_words.h"

/* Ranks that take longer by more than this are left out. */
#define EXCESS_MAX 1000.0
#define SECONDS_MAX 1e6
#define COUNT_MAX 1e9
#define STEP_MAX 9e15

/* A rank or worker, with its data. */
struct late {
	char **hosts;
	json_t *ranks;
	double dp, stage;
	double excess, late_s, wait_s, last, collectives; /* of the slowest */
	bool stands_out;
	double step, seconds; /* of a stall */
};

static void late_release(struct late *l)
{
	size_t i;

	for (i = 0; l->hosts && l->hosts[i]; i++)
		free(l->hosts[i]);
	free(l->hosts);
	json_decref(l->ranks);
}

#define LATE(member) offsetof(struct late, member)
#define PLACE                                                                              \
	{ "hosts", J_STRV, LATE(hosts), 0, .max = SUMMARY_HOSTS_MAX },                     \
		{ "dp", J_REAL, LATE(dp), 0, 0, SUMMARY_RANKS_MAX },                       \
		{ "stage", J_REAL, LATE(stage), 0, 0, SUMMARY_RANKS_MAX },                 \
	{                                                                                  \
		"ranks", J_CUSTOM, LATE(ranks), J_REQUIRED, .decode = summary_place_ranks, \
							    .encode = summary_place_json   \
	}

static const struct jfield place_fields[] = { PLACE };

static const struct jfield slowest_fields[] = {
	PLACE,
	{ "excess", J_REAL, LATE(excess), J_REQUIRED, 0, EXCESS_MAX },
	{ "late_s", J_REAL, LATE(late_s), J_REQUIRED, -SECONDS_MAX, SECONDS_MAX },
	{ "wait_s", J_REAL, LATE(wait_s), J_REQUIRED, 0, SECONDS_MAX },
	{ "last", J_REAL, LATE(last), J_REQUIRED, 0, COUNT_MAX },
	{ "collectives", J_REAL, LATE(collectives), J_REQUIRED, 0, COUNT_MAX },
	{ "stands_out", J_BOOL, LATE(stands_out), J_REQUIRED },
};

static const struct jfield stall_fields[] = {
	PLACE,
	{ "step", J_REAL, LATE(step), J_REQUIRED, -STEP_MAX, STEP_MAX },
	{ "seconds", J_REAL, LATE(seconds), J_REQUIRED, 0, SECONDS_MAX },
};

static int take(const struct jval *v, const struct jfield *fields, size_t n, json_t **ret,
		struct err *err)
{
	CLEANUP(late_release) struct late late = { .dp = NAN, .stage = NAN };
	int r = jval_decode(v, fields, n, 0, &late, err);

	if (r == 0)
		r = summary_place_check(v, late.hosts, err);
	if (r == 0 && !late.ranks)
		r = jval_fail(v, err, "says no ranks");
	if (r < 0)
		return r;
	json_decref(*ret);
	*ret = jval_encode(fields, n, &late);
	return 0;
}

static int decode_place(const struct jval *v, void *member, struct err *err)
{
	return take(v, place_fields, ARRAY_SIZE(place_fields), member, err);
}

static int decode_slowest(const struct jval *v, void *member, struct err *err)
{
	return json_is_null(v->value)
		       ? 0
		       : take(v, slowest_fields, ARRAY_SIZE(slowest_fields), member, err);
}

/* --- lists --- */

struct link {
	json_t *from, *to;
	double transfers, transfer_s, usual_s;
};

static void link_release(struct link *l)
{
	json_decref(l->from);
	json_decref(l->to);
}

#define LINK(member) offsetof(struct link, member)

static const struct jfield link_fields[] = {
	{ "from", J_CUSTOM, LINK(from), J_REQUIRED, .decode = decode_place,
	  .encode = summary_place_json },
	{ "to", J_CUSTOM, LINK(to), J_REQUIRED, .decode = decode_place,
	  .encode = summary_place_json },
	{ "transfers", J_REAL, LINK(transfers), J_REQUIRED, 0, COUNT_MAX },
	{ "transfer_s", J_REAL, LINK(transfer_s), J_REQUIRED, 0, SECONDS_MAX },
	{ "usual_s", J_REAL, LINK(usual_s), J_REQUIRED, 0, SECONDS_MAX },
};

static int take_link(const struct jval *v, json_t **ret, struct err *err)
{
	CLEANUP(link_release) struct link link = { NULL };
	int r = jval_decode(v, link_fields, ARRAY_SIZE(link_fields), 0, &link, err);

	if (r == 0)
		*ret = jval_encode(link_fields, ARRAY_SIZE(link_fields), &link);
	return r;
}

static int take_stall(const struct jval *v, json_t **ret, struct err *err)
{
	return take(v, stall_fields, ARRAY_SIZE(stall_fields), ret, err);
}

static int decode_list(const struct jval *v, size_t most,
		       int (*one)(const struct jval *v, json_t **ret, struct err *err),
		       json_t **member, struct err *err)
{
	CLEANUP(json_freep) json_t *all = json_array();
	const size_t n = json_array_size(v->value);
	int r = jval_need_array(v, err);
	size_t i;

	if (r == 0 && n > most)
		r = jval_fail(v, err, "has more than %zu", most);
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval item = jval_at(v, i);
		json_t *value = NULL;

		r = one(&item, &value, err);
		if (r == 0)
			(void)json_array_append_new(all, value);
	}
	if (r < 0)
		return r;
	json_decref(*member);
	*member = TAKE(all);
	return 0;
}

static int decode_links(const struct jval *v, void *member, struct err *err)
{
	return decode_list(v, SUMMARY_LATE_LINKS_MAX, take_link, member, err);
}

static int decode_stalls(const struct jval *v, void *member, struct err *err)
{
	return decode_list(v, SUMMARY_LATE_STALLS_MAX, take_stall, member, err);
}

/* --- everything --- */

struct found {
	bool told;
	char *why;
	json_t *slowest, *links, *stalls;
	double good_most;
};

static void found_release(struct found *f)
{
	free(f->why);
	json_decref(f->slowest);
	json_decref(f->links);
	json_decref(f->stalls);
}

#define FOUND(member) offsetof(struct found, member)

static const struct jfield fields[] = {
	{ "told", J_BOOL, FOUND(told), J_REQUIRED },
	{ "why", J_STRING, FOUND(why), 0 },
	{ "slowest", J_CUSTOM, FOUND(slowest), 0, .decode = decode_slowest,
	  .encode = summary_place_json },
	{ "good_most", J_REAL, FOUND(good_most), J_NULL, 0, EXCESS_MAX },
	{ "links", J_CUSTOM, FOUND(links), 0, .decode = decode_links, .encode = summary_place_json },
	{ "stalls", J_CUSTOM, FOUND(stalls), 0, .decode = decode_stalls,
	  .encode = summary_place_json },
};

int summary_late_decode(const struct jval *v, void *member, struct err *err)
{
	CLEANUP(found_release) struct found f = { .good_most = NAN };
	json_t **late = member;
	int r;

	if (json_is_null(v->value))
		return 0;
	r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &f, err);
	if (r < 0)
		return r;
	if (f.why && strlen(f.why) > SUMMARY_LATE_WHY_MAX)
		f.why[SUMMARY_LATE_WHY_MAX] = '\0';
	(void)utf8_clean_in_place(f.why);
	json_decref(*late);
	*late = jval_encode(fields, ARRAY_SIZE(fields), &f);
	summary_late_say(*late);
	return 0;
}

size_t summary_late_places(const json_t *lateness, json_t *ret[static SUMMARY_LATE_PLACES_MAX])
{
	json_t *slowest = json_object_get(lateness, "slowest");
	const json_t *links = json_object_get(lateness, "links");
	const json_t *stalls = json_object_get(lateness, "stalls");
	size_t n = 0, i;

	if (json_is_object(slowest))
		ret[n++] = slowest;
	for (i = 0; i < MIN(json_array_size(links), (size_t)SUMMARY_LATE_LINKS_MAX); i++) {
		ret[n++] = json_object_get(json_array_get(links, i), "from");
		ret[n++] = json_object_get(json_array_get(links, i), "to");
	}
	for (i = 0; i < MIN(json_array_size(stalls), (size_t)SUMMARY_LATE_STALLS_MAX); i++)
		ret[n++] = json_array_get(stalls, i);
	return n;
}

void summary_late_say(json_t *lateness)
{
	CLEANUP(freep) char *text = ring_words_lateness(lateness);

	(void)json_object_set_new(lateness, "sentence", json_string(text));
}
