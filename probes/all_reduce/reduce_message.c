/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_message.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/flow.h"
#include "probes/rdma/options.h"
#include "probes/rnic_pair/pair_message.h"

static const char *const kind_names[] = {
	[REDUCE_HELLO] = "hello", [REDUCE_PLAN] = "plan",     [REDUCE_PING] = "ping",
	[REDUCE_PONG] = "pong",	  [REDUCE_OPEN] = "open",     [REDUCE_OFFER] = "offer",
	[REDUCE_JOIN] = "join",	  [REDUCE_READY] = "ready",   [REDUCE_GO] = "go",
	[REDUCE_DONE] = "done",	  [REDUCE_WHOSE] = "whose",   [REDUCE_SEEN] = "seen",
	[REDUCE_STOP] = "stop",	  [REDUCE_RESULT] = "result", [REDUCE_BYE] = "bye",
	[REDUCE_UNITE] = "unite", [REDUCE_KINDS] = NULL,
};

const char *const reduce_engine_names[] = {
	[REDUCE_VERBS] = "verbs",
	[REDUCE_NCCL] = "nccl",
	[REDUCE_ENGINES] = NULL,
};

static const char *const state_names[] = {
	[COLL_IDLE] = "idle",	  [COLL_UNDER_WAY] = "under-way", [COLL_DONE] = "done",
	[COLL_FAILED] = "failed", [COLL_LATE] = "late",		  [COLL_TOLD] = "told",
	[COLL_TOLD + 1] = NULL,
};

/* JSON integers have 63 bits. */
#define WHOLE_MAX 0x1p62
#define SECONDS_MAX 86400.0
#define RATE_MAX 1e15

static int offer_decode(const struct jval *v, void *member, struct err *err)
{
	return pair_offer_decode(v, member, err);
}

static json_t *offer_encode(const void *member)
{
	return pair_offer_encode(member);
}

#define AT(member) offsetof(struct reduce_message, member)
#define OFFER(key, member)                                                     \
	{                                                                      \
		key, J_CUSTOM, AT(member), J_REQUIRED, .decode = offer_decode, \
						       .encode = offer_encode  \
	}
#define WHY                                          \
	{                                            \
		"why", J_STRING, AT(why), J_REQUIRED \
	}
#define ENGINE                                                             \
	{                                                                  \
		"engine", J_ENUM, AT(engine), .names = reduce_engine_names \
	}
#define SUSPECT                                                                 \
	{                                                                       \
		"suspect", J_U64, AT(suspect), J_REQUIRED, .max = REDUCE_NOBODY \
	}

static const struct jfield hello_fields[] = {
	{ "node", J_STRING, AT(node), J_REQUIRED },
	{ "rank", J_U64, AT(rank), J_REQUIRED, .min = 1, .max = COLL_RANKS_MAX - 1 },
	{ "ranks", J_U64, AT(ranks), J_REQUIRED, .min = 2, .max = COLL_RANKS_MAX },
	{ "rails", J_U64, AT(rails), J_REQUIRED, .min = 1, .max = PAIR_PORTS_MAX },
	{ "bytes", J_U64, AT(bytes), J_REQUIRED, .max = COLL_BYTES_MAX },
	ENGINE,
};
static const struct jfield plan_fields[] = {
	{ "nodes", J_STRV, AT(nodes), J_REQUIRED, .min = 2, .max = COLL_RANKS_MAX },
	{ "rails", J_U64, AT(rails), J_REQUIRED, .min = 1, .max = PAIR_PORTS_MAX },
	{ "bytes", J_U64, AT(bytes), J_REQUIRED, .max = COLL_BYTES_MAX },
	{ "size", J_U64, AT(size), J_REQUIRED, .min = 1, .max = RDMA_SIZE_MAX },
	{ "qps", J_U64, AT(qps), J_REQUIRED, .min = 1, .max = FLOW_QUEUES_MAX },
	ENGINE,
};
static const struct jfield pong_fields[] = {
	{ "now_ns", J_U64, AT(now_ns), J_REQUIRED, .max = WHOLE_MAX },
};
static const struct jfield open_fields[] = {
	{ "rail", J_U64, AT(rail), J_REQUIRED, .max = PAIR_PORTS_MAX - 1 },
};
static const struct jfield offer_fields[] = {
	OFFER("before", offer.before),
	OFFER("next", offer.next),
};
static const struct jfield unite_fields[] = {
	{ "id", J_STRING, AT(id), J_REQUIRED },
};
static const struct jfield ready_fields[] = {
	WHY,
	{ "busy", J_BOOL, AT(busy), J_REQUIRED },
};
static const struct jfield go_fields[] = {
	{ "ops", J_U64, AT(ops), J_REQUIRED, .min = 1, .max = REDUCE_OPS_MAX },
	{ "within_us", J_U64, AT(within_us), J_REQUIRED, .max = SECONDS_MAX * 1e6 },
	{ "check", J_BOOL, AT(check), J_REQUIRED },
	{ "timed", J_BOOL, AT(timed), J_REQUIRED },
};
static const struct jfield done_fields[] = {
	{ "state", J_ENUM, AT(state), J_REQUIRED, .names = state_names },
	SUSPECT,
	WHY,
	{ "arrived_ns", J_U64, AT(arrived_ns), J_REQUIRED, .max = WHOLE_MAX },
	{ "ended_ns", J_U64, AT(ended_ns), J_REQUIRED, .max = WHOLE_MAX },
	{ "sent_bytes", J_U64, AT(sent_bytes), J_REQUIRED, .max = WHOLE_MAX },
	{ "sent_s", J_REAL, AT(sent_s), J_REQUIRED, .max = SECONDS_MAX },
	{ "wrong", J_U64, AT(wrong), J_REQUIRED, .max = WHOLE_MAX },
	{ "resends", J_U64, AT(resends), J_REQUIRED, .max = WHOLE_MAX },
};
static const struct jfield whose_fields[] = {
	{ "again", J_REALS, AT(again), J_REQUIRED, .max = COLL_RANKS_MAX },
};
static const struct jfield seen_fields[] = { WHY };
static const struct jfield stop_fields[] = {
	SUSPECT,
	WHY,
	{ "busy", J_BOOL, AT(busy), J_REQUIRED },
};
static const struct jfield result_fields[] = {
	{ "rail", J_U64, AT(rail), J_REQUIRED, .max = PAIR_PORTS_MAX - 1 },
	{ "rates", J_REALS, AT(rates), J_REQUIRED, .max = COLL_RANKS_MAX },
	{ "late", J_REALS, AT(late), J_REQUIRED, .max = COLL_RANKS_MAX },
	{ "behind", J_REALS, AT(behind), J_REQUIRED, .max = COLL_RANKS_MAX * REDUCE_WINDOWS },
	{ "foreign", J_STRING, AT(foreign), J_REQUIRED },
	WHY,
};

static const struct {
	const struct jfield *fields;
	size_t n;
} kinds[REDUCE_KINDS] = {
	[REDUCE_HELLO] = { hello_fields, ARRAY_SIZE(hello_fields) },
	[REDUCE_PLAN] = { plan_fields, ARRAY_SIZE(plan_fields) },
	[REDUCE_PONG] = { pong_fields, ARRAY_SIZE(pong_fields) },
	[REDUCE_OPEN] = { open_fields, ARRAY_SIZE(open_fields) },
	[REDUCE_OFFER] = { offer_fields, ARRAY_SIZE(offer_fields) },
	[REDUCE_JOIN] = { offer_fields, ARRAY_SIZE(offer_fields) },
	[REDUCE_READY] = { ready_fields, ARRAY_SIZE(ready_fields) },
	[REDUCE_GO] = { go_fields, ARRAY_SIZE(go_fields) },
	[REDUCE_DONE] = { done_fields, ARRAY_SIZE(done_fields) },
	[REDUCE_WHOSE] = { whose_fields, ARRAY_SIZE(whose_fields) },
	[REDUCE_SEEN] = { seen_fields, ARRAY_SIZE(seen_fields) },
	[REDUCE_STOP] = { stop_fields, ARRAY_SIZE(stop_fields) },
	[REDUCE_RESULT] = { result_fields, ARRAY_SIZE(result_fields) },
	[REDUCE_UNITE] = { unite_fields, ARRAY_SIZE(unite_fields) },
};

struct reduce_message reduce_message_init(int kind)
{
	return (struct reduce_message){ .kind = kind, .suspect = REDUCE_NOBODY };
}

void reduce_message_release(struct reduce_message *m)
{
	free(m->node);
	free(m->why);
	free(m->foreign);
	free(m->id);
	free(m->again.v);
	free(m->behind.v);
	strv_free(m->nodes);
	free(m->rates.v);
	free(m->late.v);
	*m = reduce_message_init(m->kind);
}

static int check_names(const struct jval *root, const struct reduce_message *m, struct err *err)
{
	struct jval node = jval_get(root, "node"), nodes = jval_get(root, "nodes");
	struct jval why = jval_get(root, "why"), foreign = jval_get(root, "foreign");
	size_t i;

	if (m->node && !pair_is_name(m->node, PAIR_NAME_MAX))
		return jval_fail(&node, err, "expected the name of a node");
	for (i = 0; m->nodes && m->nodes[i]; i++) {
		if (!pair_is_name(m->nodes[i], PAIR_NAME_MAX))
			return jval_fail(&nodes, err, "expected names of nodes");
	}
	if (m->why && strlen(m->why) >= PAIR_NOTE_SIZE)
		return jval_fail(&why, err, "longer than %d bytes", PAIR_NOTE_SIZE - 1);
	if (m->foreign && strlen(m->foreign) >= PAIR_NOTE_SIZE)
		return jval_fail(&foreign, err, "longer than %d bytes", PAIR_NOTE_SIZE - 1);
	return 0;
}

/* `again` holds counts. */
static int check_again(const struct jval *root, const struct reduce_message *m, struct err *err)
{
	struct jval again = jval_get(root, "again");
	size_t i;

	for (i = 0; i < m->again.n; i++) {
		if (!(m->again.v[i] >= 0 && m->again.v[i] <= WHOLE_MAX))
			return jval_fail(&again, err, "expected non-negative numbers");
	}
	return 0;
}

int reduce_message_decode(const char *text, size_t length, struct reduce_message *ret,
			  struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct reduce_message m = reduce_message_init(REDUCE_BYE);
	struct jval root;
	int r = json_parse(text, length, "message", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "message");
	r = jval_need_object(&root, err);
	if (r == 0)
		r = pair_kind_decode(&root, kind_names, REDUCE_KINDS, &m.kind, err);
	if (r == 0 && kinds[m.kind].n > 0)
		r = jval_decode(&root, kinds[m.kind].fields, kinds[m.kind].n, 0, &m, err);
	if (r == 0)
		r = check_names(&root, &m, err);
	if (r == 0)
		r = check_again(&root, &m, err);
	if (r < 0) {
		reduce_message_release(&m);
		return r;
	}
	*ret = m;
	return 0;
}

char *reduce_message_encode(const struct reduce_message *m)
{
	CLEANUP(json_freep)
	json_t *object = kinds[m->kind].n ? jval_encode(kinds[m->kind].fields, kinds[m->kind].n, m)
					  : json_object();

	json_object_set_new(object, "v", json_integer(1));
	json_object_set_new(object, "kind", json_string(kind_names[m->kind]));
	return json_line(object);
}
