/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders from the controller to a host. An order is one of a few kinds with bounded parameters; it
 * never carries a path, a program or a command line. Pure: the caller passes the time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "agents/assayd/order_id.h"
#include "agents/assayd/order_meeting.h"
#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	ORDERS_MAX = 16,	       /* in one answer; the rest is ignored */
	ORDERS_ANSWER_MAX = 64 * 1024, /* bytes of one answer */
	ORDER_SENTENCE_MAX = 1024,     /* bytes of an opinion's sentence */
	ORDER_SEEN_MAX = 64,	       /* ids remembered, so that an order is obeyed once */
	ORDER_PROFILE_MAX = 64,	       /* bytes of a profile's name */
	ORDER_JOB_MAX = 159,	       /* bytes of a job's name */
};

/* An opinion that is valid for longer is refused: a clock must be wrong. */
#define ORDER_EXPIRES_MAX_US UINT64_C(2678400000000) /* 31 days */

enum order_kind { ORDER_DEEP, ORDER_PAIR, ORDER_ALLREDUCE, ORDER_OPINION, ORDER_LOOK };
extern const char *const order_kind_names[]; /* "deep" "pair" "allreduce" "opinion" "look" */

struct order {
	char id[ORDER_ID_MAX + 1];
	int kind;	      /* enum order_kind */
	uint64_t now_us;      /* the controller's clock when it gave the order; 0: not given */
	uint64_t deadline_us; /* CLOCK_REALTIME; 0: not given */
	char profile[ORDER_PROFILE_MAX + 1]; /* deep: the profile to run (deep.h); "": full */
	char job[ORDER_JOB_MAX + 1]; /* look: whose ranks to look at (hang_watch.h); never "" */
	json_t *opinion; /* only verdict, policy, expires, sentence, admit; owned, or NULL */
	struct order_meeting meeting; /* pair and allreduce; else empty */
};

/* Returns true for the kinds that are a test with other hosts: their orders have a meeting. */
bool order_kind_meets(int kind);

/*
 * Decodes only the id and the kind, so that an order that is otherwise invalid can be answered.
 * Returns -EINVAL if one of them is missing or invalid.
 */
int order_decode_head(const struct jval *v, struct order *ret, struct err *err);

/*
 * Decodes one order. Its times are converted to our clock by the difference from its `now`, so if
 * the clocks are a day apart, no order is late and no opinion lives a day longer. Returns -ESTALE
 * if the deadline has passed or the opinion has expired, -EINVAL if the order is invalid (unknown
 * kind, parameter out of bounds).
 */
int order_decode(const struct jval *v, uint64_t now_real_us, struct order *ret, struct err *err);
void order_release(struct order *o);

/* The ids of the last orders: a controller that is not sure sends an order twice. */
struct order_seen {
	char ids[ORDER_SEEN_MAX][ORDER_ID_MAX + 1];
	size_t next;
};

/* Returns true if `id` was seen before; remembers it. */
bool order_seen(struct order_seen *seen, const char *id);
