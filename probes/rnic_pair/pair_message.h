/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two rnic-pair probes of two hosts say to each other: one JSON object a
 * message. The leader (who dialled) asks, the other follows.
 *
 *	hello			each: its node and its active ports, the leader its settings
 *	open -> offer | failed	the leader's queues for a rail and a direction; the other's
 *	ready | failed ->	both are connected and their memory is registered:
 *	tried			the follower, when it is the writer: what became of its writes
 *	rates			the same: its samples of bandwidth and latency, and what it wrote
 *	final -> ack		the leader: what is emitted, by both: the sample of the
 *				connection, or the two of bandwidth and latency, and what it
 *				wrote; the follower: whose else traffic came, if any
 *	bye			no more
 *
 * Whatever is sent is bounded and checked here. Pure.
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
	int memory; /* hello: enum pair_memory; the host's of a probe that does not say it */
	bool connect_only;
	uint64_t budget_us; /* hello: what is left */
	struct pair_rail rails[PAIR_PORTS_MAX];
	size_t n_rails;
	uint64_t rail;		     /* open, final */
	bool forth;		     /* the leader writes */
	bool rates;		     /* open: to measure, not to try */
	uint64_t step_us;	     /* open: time of one measurement */
	struct pair_offer offer;     /* open, offer */
	int state;		     /* failed, tried: enum sample_state */
	int ok;			     /* enum tristate */
	bool lost_full;		     /* small writes arrive, full packets do not */
	char *note;		     /* failed, tried, ack; owned */
	struct pair_written written; /* rates, final: of who wrote, in this step */
	struct sample samples[2];    /* rates: bandwidth, latency; final: one */
	size_t n_samples;
};

struct pair_message pair_message_init(int kind);
void pair_message_release(struct pair_message *m);

/* -EINVAL with the place when it is not one of these messages. */
int pair_message_decode(const char *text, size_t length, struct pair_message *ret, struct err *err);

/*
 * The kind of a message of version 1: its place among the `n` `names`. -EINVAL with
 * the place.
 */
int pair_kind_decode(const struct jval *root, const char *const *names, int n, int *ret,
		     struct err *err);

/* An offer within a message; -EINVAL with the place. The encoded one is a new reference. */
int pair_offer_decode(const struct jval *v, struct pair_offer *ret, struct err *err);
json_t *pair_offer_encode(const struct pair_offer *offer);

/* Names go into subjects: no '/', '>' or ',' that would make another subject of them. */
bool pair_is_name(const char *text, size_t max);

/* One line, new memory. */
char *pair_message_encode(const struct pair_message *m);
