/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's handling of orders, the controller's answer to the held call. */
#include <errno.h>
#include <stdlib.h>

#include "agents/assayd/orders.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

/* 2026-11-20T10:00:00Z: later deadlines have not expired. */
#define NOW_US (UINT64_C(1795168800) * USEC_PER_SEC)

/* Exactly four keys go into verdict.json. */
static void check_opinion(const struct order *order)
{
	const char *sentence = json_string_value(json_object_get(order->opinion, "sentence"));
	uint64_t expires_us = 0;

	FUZZ_CHECK(json_object_size(order->opinion) <= 4);
	FUZZ_CHECK(json_is_string(json_object_get(order->opinion, "verdict")));
	FUZZ_CHECK(!sentence || strlen(sentence) <= ORDER_SENTENCE_MAX);
	FUZZ_CHECK(clock_parse_stamp(json_string_value(json_object_get(order->opinion, "expires")),
				     &expires_us) == 0);
	FUZZ_CHECK(expires_us > NOW_US && expires_us - NOW_US <= ORDER_EXPIRES_MAX_US);
}

/* The text becomes a line of a file and an argument, so it must not break out of them. */
static void check_text(const char *text, size_t most)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:[]";
	const size_t length = strlen(text);

	FUZZ_CHECK(length > 0 && length <= most && text[0] != '-');
	FUZZ_CHECK(strspn(text, allowed) == length);
}

static void check_peers(char *const *peers)
{
	size_t i, j;

	FUZZ_CHECK(peers && strv_len(peers) <= ORDER_PEERS_MAX);
	for (i = 0; peers[i]; i++) {
		const unsigned port = order_peer_port(peers[i]);

		check_text(peers[i], ORDER_PEER_MAX);
		FUZZ_CHECK(port >= 1 && port <= UINT16_MAX);
		for (j = 0; j < i; j++)
			FUZZ_CHECK(!streq(peers[i], peers[j]));
	}
}

static void check_meeting(const struct order *order)
{
	const struct order_meeting *m = &order->meeting;
	const size_t n = strv_len(m->peers);

	check_peers(m->peers);
	check_peers(m->passed);
	FUZZ_CHECK(order->kind == ORDER_PAIR ? n == 2 : n >= 2);
	FUZZ_CHECK(m->rank < n);
	FUZZ_CHECK(strlen(m->token) >= ORDER_TOKEN_MIN && strlen(m->token) <= ORDER_TOKEN_MAX);
	FUZZ_CHECK(!strpbrk(m->token, "\r\n .:/[]"));
	FUZZ_CHECK(order->kind == ORDER_PAIR || strv_len(m->passed) >= n);
}

/* The part used to answer a rejected order agrees with the whole. */
static void check_head(const struct jval *v, const struct order *order)
{
	struct order head = { .kind = 0 };

	FUZZ_CHECK(order_decode_head(v, &head, NULL) == 0);
	FUZZ_CHECK(streq(head.id, order->id) && head.kind == order->kind);
}

static void check_order(const struct jval *v, struct order_seen *seen)
{
	CLEANUP(order_release) struct order order = { .kind = 0 };
	struct err err = ERR_INIT;
	int r = order_decode(v, NOW_US, &order, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		FUZZ_CHECK(r == -EINVAL || r == -ESTALE);
		return;
	}
	FUZZ_CHECK(order.kind >= ORDER_DEEP && order.kind <= ORDER_OPINION);
	FUZZ_CHECK(strnlen(order.id, sizeof(order.id)) <= ORDER_ID_MAX && order.id[0]);
	FUZZ_CHECK((order.kind == ORDER_OPINION) == (order.opinion != NULL));
	if (order.opinion)
		check_opinion(&order);
	FUZZ_CHECK(order_kind_meets(order.kind) == (order.meeting.peers != NULL));
	if (order.meeting.peers)
		check_meeting(&order);
	check_head(v, &order);
	(void)order_seen(seen, order.id);
	FUZZ_CHECK(order_seen(seen, order.id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_bytes(data, size);
	CLEANUP(freep) struct order_seen *seen = xcalloc(1, sizeof(*seen));
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	size_t i;
	int r = json_parse(text, size, "orders", &value, &err);

	root = jval_root(value, "orders");
	if (r == 0)
		r = jval_need_array(&root, &err);
	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	for (i = 0; i < MIN(json_array_size(value), (size_t)ORDERS_MAX); i++) {
		struct jval item = jval_at(&root, i);

		check_order(&item, seen);
	}
	return 0;
}
