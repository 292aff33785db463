/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/delivery.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/json/json.h"

static const struct row {
	unsigned status;
	enum delivery delivery;
	const char *key; /* required member of the body */
	const char *words;
} rows[] = {
	{ 202, DELIVERY_DONE, "accepted", "accepted" },
	{ 200, DELIVERY_DONE, "duplicate", "known already" },
	{ 400, DELIVERY_SET_ASIDE, NULL, "malformed" },
	{ 413, DELIVERY_SET_ASIDE, NULL, "too large" },
	{ 422, DELIVERY_SET_ASIDE, NULL, "bad content" },
	{ 401, DELIVERY_KEEP, NULL, "not authenticated: check token_file, cert and key" },
	{ 403, DELIVERY_SET_ASIDE, NULL, "not allowed for this node" },
	{ 404, DELIVERY_KEEP, NULL, "no such route: check the controller's URL" },
	{ 429, DELIVERY_KEEP, NULL, "too many requests" },
	{ 503, DELIVERY_KEEP, NULL, "not now" },
};

static enum delivery judge(const struct row *row, const json_t *body)
{
	if (row->key && json_integer_value(json_object_get(body, row->key)) < 1)
		return DELIVERY_KEEP;
	return row->delivery;
}

/* The detail of a problem+json, or NULL. */
static const char *detail_of(const json_t *object)
{
	const char *detail = json_string_value(json_object_get(object, "detail"));

	return detail ? detail : json_string_value(json_object_get(object, "title"));
}

static void say(unsigned status, const char *words, const char *detail, struct err *why)
{
	(void)err_set(why, EREMOTEIO, "%u %s%s%.300s", status, words, detail ? ": " : "",
		      detail ? detail : "");
}

static const struct row *row_of(unsigned status)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status)
			return &rows[i];
	}
	return NULL;
}

enum delivery delivery_judge(unsigned status, const char *body, size_t len, struct err *why)
{
	CLEANUP(json_freep) json_t *object = NULL;
	const struct row *row = row_of(status);
	enum delivery delivery = DELIVERY_KEEP;
	const char *words = "an unexpected answer";

	(void)json_parse(body, len, "answer", &object, NULL);
	if (row) {
		delivery = judge(row, object);
		words = row->key ? "the answer does not acknowledge it" : row->words;
	}
	if (delivery != DELIVERY_DONE)
		say(status, words, detail_of(object), why);
	return delivery;
}

/* False if it does not settle a report. */
static bool read_result(const json_t *value, struct delivery_result *ret)
{
	const json_int_t status = json_integer_value(json_object_get(value, "status"));
	const struct row *row = row_of(status > 0 && status < 1000 ? (unsigned)status : 0);

	if (!row || row->delivery == DELIVERY_KEEP)
		return false;
	*ret = (struct delivery_result){ .delivery = row->delivery };
	if (row->delivery == DELIVERY_SET_ASIDE)
		say(row->status, row->words, detail_of(value), &ret->why);
	return true;
}

static enum delivery_lines read_results(const json_t *results, size_t n,
					struct delivery_result *ret_results, size_t *ret_n,
					struct err *why)
{
	const size_t said = json_array_size(results);
	size_t i = 0;

	while (said <= n && i < said && read_result(json_array_get(results, i), &ret_results[i]))
		i++;
	if (i == 0) {
		(void)err_set(why, EREMOTEIO, "202 the answer does not acknowledge it");
		return LINES_KEEP;
	}
	*ret_n = i;
	return LINES_TAKEN;
}

enum delivery_lines delivery_judge_lines(const struct http_answer *answer, size_t n,
					 struct delivery_result *ret_results, size_t *ret_n,
					 struct err *why)
{
	static const unsigned singly[] = { 400, 404, 405, 413, 415, 422, 501 };
	CLEANUP(json_freep) json_t *object = NULL;
	const struct row *row = row_of(answer->status);
	size_t i;

	(void)json_parse(answer->body, answer->len, "answer", &object, NULL);
	if (answer->status == 202)
		return read_results(json_object_get(object, "results"), n, ret_results, ret_n, why);
	if (answer->status == 403)
		return LINES_ALONE;
	for (i = 0; i < ARRAY_SIZE(singly); i++) {
		if (singly[i] == answer->status)
			return LINES_SINGLY;
	}
	say(answer->status, row && !row->key ? row->words : "an unexpected answer",
	    detail_of(object), why);
	return LINES_KEEP;
}

size_t delivery_wants(const char *body, size_t len,
		      char ret_digests[static DELIVERY_WANTS_MAX][TOPOLOGY_DIGEST_LEN + 1])
{
	CLEANUP(json_freep) json_t *object = NULL;
	const json_t *list;
	size_t n = 0, i;

	if (json_parse(body, len, "answer", &object, NULL) < 0)
		return 0;
	list = json_object_get(object, "want_topologies");
	for (i = 0; i < json_array_size(list) && n < DELIVERY_WANTS_MAX; i++) {
		const char *digest = json_string_value(json_array_get(list, i));

		if (topology_digest_ok(digest))
			memcpy(ret_digests[n++], digest, TOPOLOGY_DIGEST_LEN + 1);
	}
	return n;
}
