/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between two rnic-pair probes on two hosts: one JSON object each. The leader (who
 * dialled) asks, the other side follows.
 *
 *	hello			each: its node and active ports; the leader also its settings
 *	open -> offer | failed	queues of the leader for a rail and a direction; those of the follower
 *	ready | failed ->	both are connected and their memory is registered; then
 *	tried			the follower, if it is the writer: the outcome of its writes
 *	rates			the same: its samples of bandwidth and latency, and what it wrote
 *	final -> ack		the leader: what both emit, which is the sample of the connection, or
 *				those of bandwidth and latency, and what it wrote; the follower:
 *				foreign traffic it saw, if any
 *	bye			end of session
 *
 * Everything sent is bounded and is checked here. Pure.
 */
#pragma once

#include "lib/report/report.h"
#include "probes/rnic_pair/pair_guard.h"
#include "probes/rnic_pair/pair_lanes.h"
#include "probes/rnic_pair/pair_sample.h"

enum pair_kind {
	PAIR_HELLO,
	PAIR_OPEN,
	PAIR_OFFER,
	PAIR_FAILED,
	PAIR_READY,
	PAIR_TRIED,
	PAIR_RATES,
	PAIR_FINAL,
	PAIR_ACK,
	PAIR_BYE,
	PAIR_KINDS,
};

enum { PAIR_NAME_MAX = 253, PAIR_STEP_MAX_S = 600, PAIR_BUDGET_MAX_S = 86400 };

/* A port of the other host. */
struct pair_rail {
	char device[RDMA_NAME_SIZE];
	unsigned port;
};

struct pair_message {
	int kind;   /* enum pair_kind */
	char *node; /* hello; owned */
	uint64_t size, qps, depth, mtu;
	int memory; /* hello: enum pair_memory; host if the probe does not say */
	bool connect_only;
	uint64_t budget_us; /* hello: time left */
	struct pair_rail rails[PAIR_PORTS_MAX];
	size_t n_rails;
	uint64_t rail;		     /* open, final */
	bool forth;		     /* the leader writes */
	bool rates;		     /* open: to measure rates, not to test the connection */
	uint64_t step_us;	     /* open: duration of one measurement */
	struct pair_offer offer;     /* open, offer */
	int state;		     /* failed, tried: enum sample_state */
	int ok;			     /* enum tristate */
	bool lost_full;		     /* small writes arrive, but full packets do not */
	char *note;		     /* failed, tried, ack; owned */
	struct pair_written written; /* rates, final: by the writer in this step */
	struct sample samples[2];    /* rates: bandwidth, latency; final: at least one */
	size_t n_samples;
};

struct pair_message pair_message_init(int kind);
void pair_message_release(struct pair_message *m);

/* -EINVAL with the place if it is not one of these messages. */
int pair_message_decode(const char *text, size_t length, struct pair_message *ret, struct err *err);

/* The kind of a version 1 message: its index among the `n` `names`. -EINVAL with the place. */
int pair_kind_decode(const struct jval *root, const char *const *names, int n, int *ret,
		     struct err *err);

/* Decode or encode a message's offer. -EINVAL with the place. Encoding returns a new reference. */
int pair_offer_decode(const struct jval *v, struct pair_offer *ret, struct err *err);
json_t *pair_offer_encode(const struct pair_offer *offer);

/* Is it safe as part of a subject, with no '/', '>' or ','? */
bool pair_is_name(const char *text, size_t max);

/* One line; the caller frees it. */
char *pair_message_encode(const struct pair_message *m);
