/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

const char *const order_kind_names[] = { "deep", "pair", "allreduce", "opinion", "look", NULL };

static const char *const verdict_names[] = { "pass", "warn", "fail", "inconclusive", NULL };

enum { POLICY_MAX = 128 };

struct opinion {
	int verdict;
	char *policy;
	char *expires;
	char *sentence;
	char *admit; /* NULL: as this host's own verdict says */
};

static int decode_id(const struct jval *v, void *member, struct err *err)
{
	char *id = member;
	const char *text = json_string_value(v->value);

	if (json_is_integer(v->value)) {
		(void)snprintf(id, ORDER_ID_MAX + 1, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(v->value));
		return 0;
	}
	if (!order_id_ok(text))
		return jval_fail(v, err, "expected an id of 1 to %d printable characters",
				 ORDER_ID_MAX);
	memcpy(id, text, strlen(text) + 1);
	return 0;
}

static int decode_stamp(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (json_is_null(v->value))
		return 0;
	if (!text || clock_parse_stamp(text, member) < 0)
		return jval_fail(v, err, "expected a time such as 2026-11-21T01:30:00Z");
	return 0;
}

/* Any name is accepted: for one that is unknown here, `full` runs (deep.h). */
static int decode_profile(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (json_is_null(v->value))
		return 0;
	if (!text || strlen(text) > ORDER_PROFILE_MAX)
		return jval_fail(v, err, "expected a profile name of at most %d bytes",
				 ORDER_PROFILE_MAX);
	memcpy(member, text, strlen(text) + 1);
	return 0;
}

/* Any bytes except control characters: the name is only compared with other names. */
static int decode_job(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	size_t i, n = text ? strlen(text) : 0;

	if (json_is_null(v->value))
		return 0;
	for (i = 0; i < n && (unsigned char)text[i] >= ' '; i++)
		;
	if (n == 0 || n > ORDER_JOB_MAX || i < n)
		return jval_fail(v, err, "expected a job name of at most %d bytes", ORDER_JOB_MAX);
	memcpy(member, text, n + 1);
	return 0;
}

#define AT(member) offsetof(struct order, member)
static const struct jfield order_fields[] = {
	{ "id", J_CUSTOM, AT(id), J_REQUIRED, .decode = decode_id },
	{ "kind", J_ENUM, AT(kind), J_REQUIRED, .names = order_kind_names },
	{ "now", J_CUSTOM, AT(now_us), 0, .decode = decode_stamp },
	{ "deadline", J_CUSTOM, AT(deadline_us), 0, .decode = decode_stamp },
	{ "profile", J_CUSTOM, AT(profile), 0, .decode = decode_profile },
	{ "job", J_CUSTOM, AT(job), 0, .decode = decode_job },
};
enum { ORDER_HEAD_FIELDS = 2 }; /* id and kind */
#undef AT

#define AT(member) offsetof(struct opinion, member)
static const struct jfield opinion_fields[] = {
	{ "verdict", J_ENUM, AT(verdict), J_REQUIRED, .names = verdict_names },
	{ "policy", J_STRING, AT(policy), J_NULL },
	{ "expires", J_STRING, AT(expires), J_REQUIRED },
	{ "sentence", J_STRING, AT(sentence), J_NULL },
	{ "admit", J_STRING, AT(admit), 0 },
};
#undef AT

static int check_text(const struct jval *v, const char *key, const char *text, size_t max,
		      struct err *err)
{
	struct jval member = jval_get(v, key);

	return text && strlen(text) > max ? jval_fail(&member, err, "longer than %zu bytes", max)
					  : 0;
}

static int check_opinion(const struct jval *v, const struct opinion *o, uint64_t now_real_us,
			 struct err *err)
{
	struct jval expires = jval_get(v, "expires"), admit = jval_get(v, "admit");
	uint64_t expires_us;
	int r = check_text(v, "sentence", o->sentence, ORDER_SENTENCE_MAX, err);

	if (r == 0)
		r = check_text(v, "policy", o->policy, POLICY_MAX, err);
	if (r < 0)
		return r;
	if (o->admit && !streq(o->admit, "degraded"))
		return jval_fail(&admit, err, "'%.80s': expected degraded", o->admit);
	if (clock_parse_stamp(o->expires, &expires_us) < 0)
		return jval_fail(&expires, err, "expected a time such as 2026-11-21T01:30:00Z");
	if (expires_us <= now_real_us)
		return err_set(err, ESTALE, "the opinion expired at %s", o->expires);
	if (expires_us - now_real_us > ORDER_EXPIRES_MAX_US)
		return jval_fail(&expires, err, "more than 31 days ahead");
	return 0;
}

/* Keeps only the known keys of the opinion. */
static int decode_opinion(const struct jval *v, uint64_t now_real_us, json_t **ret, struct err *err)
{
	struct opinion opinion = { 0 };
	int r = jval_decode(v, opinion_fields, ARRAY_SIZE(opinion_fields), 0, &opinion, err);

	if (r == 0)
		r = check_opinion(v, &opinion, now_real_us, err);
	if (r == 0)
		*ret = jval_encode(opinion_fields, ARRAY_SIZE(opinion_fields), &opinion);
	free(opinion.policy);
	free(opinion.expires);
	free(opinion.sentence);
	free(opinion.admit);
	return r;
}

/* Converts from the controller's clock to ours. Before 1970 becomes 1 us: expired, not unset. */
static uint64_t to_our_clock(uint64_t stamp_us, int64_t ahead_us)
{
	const int64_t us = (int64_t)stamp_us + ahead_us;

	return us > 0 ? (uint64_t)us : 1;
}

/* Converts the opinion's `expires` to our clock. */
static int move_opinion(json_t *opinion, int64_t ahead_us)
{
	const char *expires = json_string_value(json_object_get(opinion, "expires"));
	char stamp[CLOCK_STAMP_SIZE];
	uint64_t expires_us;

	if (!expires || clock_parse_stamp(expires, &expires_us) < 0)
		return 0; /* check_opinion() will refuse it */
	clock_stamp(to_our_clock(expires_us, ahead_us), stamp);
	return json_object_set_new(opinion, "expires", json_string(stamp));
}

/* Converts the order's times by the controller's `now`: the two clocks may differ. */
static int move_stamps(uint64_t now_real_us, struct order *order, json_t *opinion)
{
	int64_t ahead_us;

	if (!order->now_us)
		return 0;
	ahead_us = (int64_t)now_real_us - (int64_t)order->now_us;
	if (order->deadline_us)
		order->deadline_us = to_our_clock(order->deadline_us, ahead_us);
	return opinion ? move_opinion(opinion, ahead_us) : 0;
}

static int decode(const struct jval *v, uint64_t now_real_us, struct order *order, struct err *err)
{
	struct jval opinion = jval_get(v, "opinion");
	CLEANUP(json_freep) json_t *moved = json_deep_copy(opinion.value);
	int r = jval_decode(v, order_fields, ARRAY_SIZE(order_fields), 0, order, err);

	if (r == 0)
		r = move_stamps(now_real_us, order, moved);
	if (r < 0)
		return r;
	opinion.value = moved;
	if (order->deadline_us && order->deadline_us <= now_real_us)
		return err_set(err, ESTALE, "the deadline of order %s has passed", order->id);
	if (order->kind == ORDER_LOOK && !order->job[0])
		return jval_fail(v, err, "job: expected the name of the job to look at");
	if (order_kind_meets(order->kind))
		return order_meeting_decode(v, order->kind == ORDER_PAIR, &order->meeting, err);
	if (order->kind != ORDER_OPINION)
		return 0;
	return decode_opinion(&opinion, now_real_us, &order->opinion, err);
}

bool order_kind_meets(int kind)
{
	return kind == ORDER_PAIR || kind == ORDER_ALLREDUCE;
}

int order_decode_head(const struct jval *v, struct order *ret, struct err *err)
{
	struct order order = { 0 };
	int r = jval_decode(v, order_fields, ORDER_HEAD_FIELDS, 0, &order, err);

	if (r == 0)
		*ret = order;
	return r;
}

int order_decode(const struct jval *v, uint64_t now_real_us, struct order *ret, struct err *err)
{
	struct order order = { 0 };
	int r = decode(v, now_real_us, &order, err);

	if (r < 0) {
		order_release(&order);
		return r;
	}
	*ret = order;
	return 0;
}

void order_release(struct order *o)
{
	json_decref(o->opinion);
	order_meeting_release(&o->meeting);
	*o = (struct order){ 0 };
}

bool order_seen(struct order_seen *seen, const char *id)
{
	size_t i;

	for (i = 0; i < ORDER_SEEN_MAX; i++) {
		if (seen->ids[i][0] && streq(seen->ids[i], id))
			return true;
	}
	(void)snprintf(seen->ids[seen->next], sizeof(seen->ids[0]), "%s", id);
	seen->next = (seen->next + 1) % ORDER_SEEN_MAX;
	return false;
}
