/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/delivery.h"

#include <errno.h>

#include "lib/err.h"
#include "lib/json.h"

static const struct row {
	unsigned status;
	enum delivery delivery;
	const char *key; /* that the body must count in */
	const char *words;
} rows[] = {
	{ 202, DELIVERY_DONE, "accepted", "accepted" },
	{ 200, DELIVERY_DONE, "duplicate", "known already" },
	{ 400, DELIVERY_SET_ASIDE, NULL, "malformed" },
	{ 413, DELIVERY_SET_ASIDE, NULL, "too large" },
	{ 422, DELIVERY_SET_ASIDE, NULL, "bad content" },
	{ 401, DELIVERY_KEEP, NULL, "who we are is not believed: see token_file, cert and key" },
	{ 403, DELIVERY_KEEP, NULL, "not allowed for this node" },
	{ 404, DELIVERY_KEEP, NULL, "no such route: see controller" },
	{ 429, DELIVERY_KEEP, NULL, "too many requests" },
	{ 503, DELIVERY_KEEP, NULL, "not now" },
};

static enum delivery judge(const struct row *row, const json_t *body)
{
	if (row->key && json_integer_value(json_object_get(body, row->key)) < 1)
		return DELIVERY_KEEP;
	return row->delivery;
}

enum delivery delivery_judge(unsigned status, const char *body, size_t len, struct err *why)
{
	CLEANUP(json_freep) json_t *object = NULL;
	const char *detail;
	enum delivery delivery = DELIVERY_KEEP;
	const char *words = "an unexpected answer";
	size_t i;

	(void)json_parse(body, len, "answer", &object, NULL);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status) {
			delivery = judge(&rows[i], object);
			words = rows[i].key ? "an answer that acknowledges nothing" : rows[i].words;
		}
	}
	if (delivery == DELIVERY_DONE)
		return delivery;
	detail = json_string_value(json_object_get(object, "detail"));
	if (!detail)
		detail = json_string_value(json_object_get(object, "title"));
	(void)err_set(why, EREMOTEIO, "%u %s%s%.300s", status, words, detail ? ": " : "",
		      detail ? detail : "");
	return delivery;
}
