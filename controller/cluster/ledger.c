/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/ledger.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static const char *const kind_names[] = { "cordon", "hold", NULL };

static void holder_release(struct ledger_holder *h)
{
	free(h->node);
	free(h->domain);
	free(h->job);
	free(h->action);
}

void ledger_release(struct ledger *l)
{
	size_t i;

	for (i = 0; i < l->n_holders; i++)
		holder_release(&l->holders[i]);
	free(l->holders);
	*l = (struct ledger){ 0 };
}

/* --- text --- */

static int decode_stamp(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (!v->value || json_is_null(v->value))
		return 0;
	return text && clock_parse_stamp(text, member) == 0 ? 0
							    : jval_fail(v, err, "expected a time");
}

#define HOLDER(m) offsetof(struct ledger_holder, m)
#define LEDGER(m) offsetof(struct ledger, m)

static const struct jfield holder_fields[] = {
	{ "node", J_STRING, HOLDER(node), J_REQUIRED },
	{ "domain", J_STRING, HOLDER(domain), J_NULL },
	{ "job", J_STRING, HOLDER(job), J_NULL },
	{ "action", J_STRING, HOLDER(action), J_NULL },
	{ "kind", J_ENUM, HOLDER(kind), J_REQUIRED, .names = kind_names },
	{ "done", J_BOOL, HOLDER(done), J_REQUIRED },
	{ "at", J_CUSTOM, HOLDER(at_us), J_REQUIRED, .decode = decode_stamp },
};
static int decode_breaker(const struct jval *v, void *member, struct err *err)
{
	return breaker_decode(v, member, err);
}

static int decode_holders(const struct jval *v, void *member, struct err *err)
{
	struct ledger *l = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > LEDGER_HOLDERS_MAX)
		r = jval_fail(v, err, "%zu holders, more than %d", n, LEDGER_HOLDERS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct ledger_holder h = { 0 };
		struct jval item = jval_at(v, i);

		r = jval_decode(&item, holder_fields, ARRAY_SIZE(holder_fields), 0, &h, err);
		if (r == 0)
			(void)ledger_reserve(l, &h);
		holder_release(&h);
	}
	return r;
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "expected 1: this program reads version 1 only");
}

static const struct jfield ledger_fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "epoch", J_U64, LEDGER(epoch), J_REQUIRED },
	{ "breaker", J_CUSTOM, LEDGER(breaker), J_REQUIRED, .decode = decode_breaker },
	{ "holders", J_CUSTOM, 0, J_REQUIRED, .decode = decode_holders },
};

int ledger_decode(const char *text, struct ledger *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct ledger l = { 0 };
	struct jval root;
	int r = json_parse(text, strlen(text), "ledger", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "ledger");
	r = jval_decode(&root, ledger_fields, ARRAY_SIZE(ledger_fields), 0, &l, err);
	if (r < 0)
		ledger_release(&l);
	else
		*ret = l;
	return r;
}

struct ledger_reading ledger_reading_of(const char *text)
{
	struct ledger_reading reading = { 0 };
	struct err err = ERR_INIT;

	if (text && ledger_decode(text, &reading.ledger, &err) < 0)
		reading.wrong = xstrdup(err.msg);
	return reading;
}

void ledger_reading_release(struct ledger_reading *reading)
{
	ledger_release(&reading->ledger);
	free(reading->wrong);
}

static json_t *encode_holders(const struct ledger *l)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < l->n_holders; i++) {
		const struct ledger_holder *h = &l->holders[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s*, s:s*, s:s*, s:s, s:b, s:o}", "node", h->node,
					"domain", h->domain, "job", h->job, "action", h->action,
					"kind", kind_names[h->kind], "done", h->done, "at",
					json_stamp(h->at_us)));
	}
	return list;
}

char *ledger_encode(const struct ledger *l)
{
	CLEANUP(json_freep) json_t *value = NULL;

	value = json_pack("{s:i, s:I, s:o, s:o}", "v", 1, "epoch", (json_int_t)l->epoch, "breaker",
			  breaker_encode(&l->breaker), "holders", encode_holders(l));
	return json_line(value);
}

/* --- holders --- */

struct ledger_holder *ledger_find(const struct ledger *l, const char *node, int kind)
{
	size_t i;

	for (i = 0; i < l->n_holders; i++) {
		if (l->holders[i].kind == kind && streq(l->holders[i].node, node))
			return &l->holders[i];
	}
	return NULL;
}

bool ledger_reserve(struct ledger *l, const struct ledger_holder *holder)
{
	struct ledger_holder *at = ledger_find(l, holder->node, holder->kind), copy = *holder;

	if (!at && l->n_holders == LEDGER_HOLDERS_MAX)
		return false;
	copy.node = xstrdup(holder->node);
	copy.domain = xstrdup(holder->domain);
	copy.job = xstrdup(holder->job);
	copy.action = xstrdup(holder->action);
	if (at) {
		holder_release(at);
	} else {
		l->holders = xrealloc(l->holders, l->n_holders + 1, sizeof(*l->holders));
		at = &l->holders[l->n_holders++];
	}
	*at = copy;
	return true;
}

void ledger_drop(struct ledger *l, const char *node, int kind)
{
	struct ledger_holder *at = ledger_find(l, node, kind);

	if (!at)
		return;
	holder_release(at);
	*at = l->holders[--l->n_holders];
}

static const struct ledger_holder *find_in(const struct ledger_holder *list, size_t n,
					   const struct ledger_holder *like)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (list[i].kind == like->kind && streq(list[i].node, like->node))
			return &list[i];
	}
	return NULL;
}

bool ledger_reconcile(struct ledger *l, const struct ledger_holder *truth, size_t n)
{
	bool changed = false;
	size_t i;

	for (i = l->n_holders; i > 0; i--) {
		struct ledger_holder *h = &l->holders[i - 1];

		if (find_in(truth, n, h))
			continue;
		holder_release(h);
		*h = l->holders[--l->n_holders];
		changed = true;
	}
	for (i = 0; i < n; i++) {
		const struct ledger_holder *h = ledger_find(l, truth[i].node, truth[i].kind);

		if (h && h->done == truth[i].done)
			continue;
		changed |= ledger_reserve(l, &truth[i]);
	}
	return changed;
}
