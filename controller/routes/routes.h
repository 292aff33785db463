/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the API, and what they share. `context` is the struct service. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct api_options;
struct call;
struct err;
struct identity;
struct jfield;
struct jval;
struct pool;
struct service;
struct store_page;
struct store_range;
struct verdict;

/* The table of the API, into `options`. */
void routes_set(struct api_options *options);

/*
 * True, and the call is refused with 503 and its connection ended: another controller acts, and
 * what hosts say and ask is for that one.
 */
bool stands_by(const struct service *s, struct call *call);

/* The same, or it is refused with 503 as too many wait for a commit: an order is not taken now. */
bool routes_take_no_order(const struct service *s, struct call *call);

/* Hosts (routes_nodes.c). */
void get_nodes(void *context, struct call *call);
void get_node(void *context, struct call *call);
void get_why(void *context, struct call *call);
void get_samples(void *context, struct call *call);
void get_verdicts(void *context, struct call *call);

/* What a host measured between its parts, and those (routes_matrices.c). */
void routes_matrices_get(void *context, struct call *call);
void routes_parts_get(void *context, struct call *call);
/* One of its checks over time (routes_series.c). */
void routes_series_get(void *context, struct call *call);

/* The verdict over the last runs of a host; the texts of its items are in `pool`. Of the store. */
int routes_merge_runs(struct service *s, const char *node, struct pool *pool, struct verdict *ret,
		      struct err *err);

/* The fleet (routes_fleet.c). */
void get_incidents(void *context, struct call *call);
void get_incident(void *context, struct call *call);
void get_baselines(void *context, struct call *call);
void get_drift(void *context, struct call *call);
void post_backup(void *context, struct call *call);
void get_backup(void *context, struct call *call);

/* What hosts send (routes_reports.c, routes_topology.c, routes_processes.c). */
void post_report(void *context, struct call *call);
void post_reports(void *context, struct call *call);
void put_topology(void *context, struct call *call);
void get_topology(void *context, struct call *call);
void routes_put_processes(void *context, struct call *call);

/* The same of ranks that stand still (routes_hang.c). */
void routes_put_hang(void *context, struct call *call);
void routes_post_burn(void *context, struct call *call);

/*
 * May the caller say `what` ("which ranks run") of the host that the path names? A host speaks of
 * itself alone, and not too often. False, and the call is refused: no.
 */
bool routes_may_speak(struct service *s, struct call *call, const char *what);

/* The status for what ingest_decode() and its like return. */
unsigned status_of_content(int r);

/* What is held (routes_orders.c). */
void get_orders(void *context, struct call *call);

/* Something of the host has changed: if it has new orders and holds a call, answer it. */
void orders_wake(struct service *s, const char *node);

/* Orders of people (routes_act.c), and what came of them (routes_acted.c, routes_replay.c). */
void post_cordon(void *context, struct call *call);
void post_uncordon(void *context, struct call *call);
void post_repair_done(void *context, struct call *call);
void post_override(void *context, struct call *call);
void post_silence(void *context, struct call *call);
void post_breaker_reset(void *context, struct call *call);
void get_actions(void *context, struct call *call);
/* Silences and overrides that hold (routes_orders_given.c). */
void routes_silences(void *context, struct call *call);
void routes_overrides(void *context, struct call *call);
void get_breaker(void *context, struct call *call);
/* What that is answered; new reference. */
json_t *routes_breaker(const struct service *s);
void get_coverage(void *context, struct call *call);
void get_policy(void *context, struct call *call);
void routes_whoami(void *context, struct call *call);
void get_evidence(void *context, struct call *call);
void post_policy_replay(void *context, struct call *call);

/* Tests of hosts with each other (routes_campaigns.c). */
void post_campaign(void *context, struct call *call);
void get_campaigns(void *context, struct call *call);
void get_campaign(void *context, struct call *call);

enum {
	PROCESSES_MAX = 65536,	    /* bytes of what runs on a host */
	HANG_SAID_MAX = 1048576,    /* bytes of what it says of ranks that stand still */
	ORDER_MAX = 4096,	    /* bytes of an order */
	BEAT_MAX = 4096,	    /* bytes of a beat of a job */
	CAMPAIGN_BODY_MAX = 131072, /* of one that names hosts: 256 of 253 bytes, and the rest */
};

/* Of a person's order: its JSON, new reference; -EBADMSG. */
int parse_order_body(struct call *call, json_t **ret_value, struct err *err);
/*
 * The body of an order into `out`, by `n` fields of which `*reason` is one; nothing else may be in
 * it. -EBADMSG, -EINVAL.
 */
int routes_order_body(struct call *call, const struct jfield *fields, size_t n, void *out,
		      char *const *reason, struct err *err);
/* Who asks, and why: a body of an order that says no more. Owned; NULL: not said. */
struct routes_asker {
	char *reason, *by;
};
int routes_asker_read(struct call *call, bool needs_reason, struct routes_asker *ret,
		      struct err *err);
void routes_asker_release(struct routes_asker *a);

/* Is the member "reason", when it is there, one? -EINVAL. */
int check_reason(const struct jval *root, const char *reason, struct err *err);
/* Who it is for the records: what the token names, else what they say of themselves. New memory. */
char *operator_name(const struct identity *who, const char *by);

/* What the cursor of a list is made of. */
enum cursor_kind { CURSOR_NUMBER, CURSOR_NODE };

/*
 * A whole number of the query, which stays as it is when it is not asked for; false: it is bad, and
 * the call is refused. `unit`: what is expected, "" or "seconds, ".
 */
bool routes_argument(struct call *call, const char *name, const char *unit, unsigned long least,
		     unsigned long most, unsigned long *value);

/* ?limit and ?cursor; false: they were bad, and the call is refused. */
bool routes_range_of(struct call *call, enum cursor_kind kind, struct store_range *ret);

/* Items of `all` from the cursor, which counts them, to the limit. */
struct store_page cut_page(const json_t *all, const struct store_range *range);

/* {"items", "next"}; empties the page. */
void reply_page(struct call *call, struct store_page *page);

/* The number that the path names, of a `what`. -ENOENT: it is none. */
int routes_number(const struct call *call, const char *what, int64_t *ret, struct err *err);

/* -ENOENT with a sentence for a host that never reported; others of the store. */
int routes_need_node(struct service *s, const char *node, struct err *err);

/* 404 or 503 for what the store said. */
void refuse_store(struct call *call, int r, const struct err *err);

/* A change that the store did not take: 409 where there are too many (-EDQUOT), else as above; but
 * for -ENOENT the store has failed. */
void routes_refuse_change(struct service *s, struct call *call, int r, const struct err *err);
