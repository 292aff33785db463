/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller may ask of a host. An order is one of a few kinds with
 * bounded parameters; it never carries a path, a program or a command line.
 * Pure: decoding needs no clock but the time it is given.
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
	ORDERS_MAX = 16,	       /* in one answer; the rest is refused */
	ORDERS_ANSWER_MAX = 64 * 1024, /* bytes of one answer */
	ORDER_SENTENCE_MAX = 1024,     /* bytes of an opinion's sentence */
	ORDER_SEEN_MAX = 64,	       /* ids remembered: an order is obeyed once */
	ORDER_PROFILE_MAX = 64,	       /* bytes of a profile's name */
	ORDER_JOB_MAX = 159,	       /* bytes of a job's name */
};

/* An opinion that would stand longer than this is refused: somebody's clock is wrong. */
#define ORDER_EXPIRES_MAX_US UINT64_C(2678400000000) /* 31 days */

enum order_kind { ORDER_DEEP, ORDER_PAIR, ORDER_ALLREDUCE, ORDER_OPINION, ORDER_LOOK };
extern const char *const order_kind_names[]; /* "deep" "pair" "allreduce" "opinion" "look" */

struct order {
	char id[ORDER_ID_MAX + 1];
	int kind;	      /* enum order_kind */
	uint64_t now_us;      /* the controller's clock when it gave the order; 0: it did not say */
	uint64_t deadline_us; /* CLOCK_REALTIME, to be finished by; 0: none given */
	char profile[ORDER_PROFILE_MAX + 1]; /* of deep: by what (deep.h); "": all */
	char job[ORDER_JOB_MAX + 1]; /* of look: whose ranks are looked at (hang_watch.h); never "" */
	json_t *opinion; /* {verdict, policy, expires, sentence} and nothing else, owned; or NULL */
	struct order_meeting meeting; /* of pair and allreduce; else empty */
};

/* The kinds that are a test with other hosts: their orders have a meeting. */
bool order_kind_meets(int kind);

/*
 * The id and the kind alone, of what may be no good order otherwise: so that it can be
 * answered. -EINVAL when there is neither.
 */
int order_decode_head(const struct jval *v, struct order *ret, struct err *err);

/*
 * Decode one order. Stamps in it count from its `now`, by which they are moved
 * to our clock: a day between the two clocks makes no order late, and no
 * opinion live a day longer. -ESTALE when its deadline, or its opinion, has passed;
 * -EINVAL when it is none (unknown kind, a parameter out of its bounds).
 */
int order_decode(const struct jval *v, uint64_t now_real_us, struct order *ret, struct err *err);
void order_release(struct order *o);

/* The ids of the last orders: a controller that is not sure sends one twice. */
struct order_seen {
	char ids[ORDER_SEEN_MAX][ORDER_ID_MAX + 1];
	size_t next;
};

/* True when `id` was seen before; remembers it. */
bool order_seen(struct order_seen *seen, const char *id);
