/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the API, and shared functions. `context` is the struct service. */
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

/* Set the table of the API in `options`. */
void routes_set(struct api_options *options);

/*
 * Returns true after refusing the call with 503 and closing its connection: another controller is
 * the leader, and hosts have to talk to that one.
 */
bool stands_by(const struct service *s, struct call *call);

/* ... or after refusing it with 503 because too many wait for a commit, so that orders are not
 * accepted. */
bool routes_take_no_order(const struct service *s, struct call *call);

/* Hosts (routes_nodes.c). */
void get_nodes(void *context, struct call *call);
void get_node(void *context, struct call *call);
void get_why(void *context, struct call *call);
void get_samples(void *context, struct call *call);
void get_verdicts(void *context, struct call *call);

/* Measurements between the parts of a host, and the parts (routes_matrices.c). */
void routes_matrices_get(void *context, struct call *call);
void routes_parts_get(void *context, struct call *call);
/* A check of a host over time (routes_series.c). */
void routes_series_get(void *context, struct call *call);

/* The verdict over the last runs of a host; texts are in `pool`. Errors of the store. */
int routes_merge_runs(struct service *s, const char *node, struct pool *pool, struct verdict *ret,
		      struct err *err);

/* The fleet (routes_fleet.c). */
void get_incidents(void *context, struct call *call);
void get_incident(void *context, struct call *call);
void get_baselines(void *context, struct call *call);
void get_drift(void *context, struct call *call);
void post_backup(void *context, struct call *call);
void get_backup(void *context, struct call *call);

/* Data from hosts (routes_reports.c, routes_topology.c, routes_processes.c). */
void post_report(void *context, struct call *call);
void post_reports(void *context, struct call *call);
void put_topology(void *context, struct call *call);
void get_topology(void *context, struct call *call);
void routes_put_processes(void *context, struct call *call);

/* Ranks that stand still (routes_hang.c). */
void routes_put_hang(void *context, struct call *call);
void routes_post_burn(void *context, struct call *call);

/*
 * May the caller report `what` ("which ranks run") for the host in the path? Hosts report only on
 * themselves, and at a limited rate. If false, the call was refused.
 */
bool routes_may_speak(struct service *s, struct call *call, const char *what);

/* The status for an error of ingest_decode() and the like. */
unsigned status_of_content(int r);

/* Held calls (routes_orders.c). */
void get_orders(void *context, struct call *call);

/* Something about the host has changed: if it has new orders and holds a call, answer it. */
void orders_wake(struct service *s, const char *node);

/* Orders by people (routes_act.c), and their results (routes_acted.c, routes_replay.c). */
void post_cordon(void *context, struct call *call);
void post_uncordon(void *context, struct call *call);
void post_repair_done(void *context, struct call *call);
void post_override(void *context, struct call *call);
void post_silence(void *context, struct call *call);
void post_breaker_reset(void *context, struct call *call);
void get_actions(void *context, struct call *call);
/* Current silences and overrides (routes_orders_given.c). */
void routes_silences(void *context, struct call *call);
void routes_overrides(void *context, struct call *call);
void get_breaker(void *context, struct call *call);
/* The answer of get_breaker(). New reference. */
json_t *routes_breaker(const struct service *s);
void get_coverage(void *context, struct call *call);
void get_policy(void *context, struct call *call);
void routes_whoami(void *context, struct call *call);
void get_evidence(void *context, struct call *call);
void post_policy_replay(void *context, struct call *call);

/* Tests between hosts (routes_campaigns.c). */
void post_campaign(void *context, struct call *call);
void get_campaigns(void *context, struct call *call);
void get_campaign(void *context, struct call *call);

enum {
	PROCESSES_MAX = 65536,	    /* bytes of a host's processes */
	HANG_SAID_MAX = 1048576,    /* bytes of a host's report on hung ranks */
	ORDER_MAX = 4096,	    /* bytes of an order */
	BEAT_MAX = 4096,	    /* bytes of a job's heartbeat */
	CAMPAIGN_BODY_MAX = 131072, /* of one that names hosts: 256 of 253 bytes, and the rest */
};

/* The JSON of a person's order, new reference; -EBADMSG. */
int parse_order_body(struct call *call, json_t **ret_value, struct err *err);
/*
 * Decode the body of an order into `out` by `n` fields, including `*reason`; other members are
 * refused. -EBADMSG, -EINVAL.
 */
int routes_order_body(struct call *call, const struct jfield *fields, size_t n, void *out,
		      char *const *reason, struct err *err);
/* Who asks and why, from an order with only these members. Owned; NULL: missing. */
struct routes_asker {
	char *reason, *by;
};
int routes_asker_read(struct call *call, bool needs_reason, struct routes_asker *ret,
		      struct err *err);
void routes_asker_release(struct routes_asker *a);

/* Is the member "reason" valid, if present? -EINVAL. */
int check_reason(const struct jval *root, const char *reason, struct err *err);
/* The person for the records: from the token, else as given by themselves. New memory. */
char *operator_name(const struct identity *who, const char *by);

/* Type of a list's cursor. */
enum cursor_kind { CURSOR_NUMBER, CURSOR_NODE };

/*
 * An integer argument of the query; unchanged if missing. Returns false after refusing the call.
 * `unit`: for the message, "" or "seconds, ".
 */
bool routes_argument(struct call *call, const char *name, const char *unit, unsigned long least,
		     unsigned long most, unsigned long *value);

/* ?limit and ?cursor; returns false after refusing the call. */
bool routes_range_of(struct call *call, enum cursor_kind kind, struct store_range *ret);

/* Items of `all` from the cursor, a number, up to the limit. */
struct store_page cut_page(const json_t *all, const struct store_range *range);

/* {"items", "next"}; empties the page. */
void reply_page(struct call *call, struct store_page *page);

/* The number of a `what` in the path. -ENOENT: none. */
int routes_number(const struct call *call, const char *what, int64_t *ret, struct err *err);

/* -ENOENT with a sentence for a host that never reported; or errors of the store. */
int routes_need_node(struct service *s, const char *node, struct err *err);

/* 404 or 503 for an error of the store. */
void refuse_store(struct call *call, int r, const struct err *err);

/* A change that the store refused: 409 if there are too many (-EDQUOT), else as refuse_store(); any
 * error but -ENOENT is a failure of the store. */
void routes_refuse_change(struct service *s, struct call *call, int r, const struct err *err);
