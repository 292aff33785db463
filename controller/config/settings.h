/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of the controller: defaults < controller.yaml < options. The file has the names of the
 * options as keys and is strict.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/auth/authz.h"
#include "controller/config/settings_alerts.h"
#include "controller/config/settings_jobs.h"
#include "controller/config/settings_page.h"
#include "controller/store/retention.h"
#include "lib/base/macro.h"

struct err;

enum cluster_kind { CLUSTER_EMBEDDED, CLUSTER_KUBERNETES };

/* A taint in addition to a cordon; none without a key. */
struct settings_taint {
	char *key, *value;
	int effect; /* settings_taint_effect() */
};

/* Settings for `cluster: kubernetes`. */
struct settings_kube {
	char *namespace; /* for the Leases; NULL: that of the pod or kubeconfig */
	char *selector;	 /* label selector of our nodes; NULL: all */
	char *prefix;	 /* for our names on nodes; NULL: CLUSTER_PREFIX */
	struct settings_taint taint;
	uint64_t young_us;  /* new nodes are left alone for this long; 0: not */
	struct authz authz; /* users accepted from the API server */
	json_t *jobs;	    /* rows of the site (kube/kube_jobs.h), an array; NULL: none */
};

/* How hosts address each other in tests between hosts. */
enum { COLLECTIVES_BY_CLUSTER, COLLECTIVES_BY_NAME, COLLECTIVES_BY_FILE };

/* Tests between hosts (docs/collectives.md). */
struct settings_collectives {
	uint64_t port;	     /* where the first host of a group listens */
	int address;	     /* COLLECTIVES_BY_...: name of the host, or from the file */
	char *file;	     /* rail_map.h; NULL: none */
	char *label;	     /* node label with its leaf switch; NULL: well-known ones */
	uint64_t timeout_us; /* per order */
	uint64_t at_once;    /* hosts under test at a time */
	int memory;	     /* default enum campaign_memory of requests and checks */
};

struct settings {
	char *read_from; /* the file, for messages about it; NULL: none */
	char *listen;	 /* "ADDR:PORT" */
	char *db;
	int cluster; /* enum cluster_kind */
	char *kubeconfig;
	struct settings_kube kube;
	int mode;	/* enum policy_mode */
	json_t *labels; /* for hosts: [{nodes: GLOB, labels: {KEY: TEXT}}], or NULL */
	char *policy;
	char *tokens, *tls_cert, *tls_key, *client_ca; /* files, or NULL */
	char *ca; /* file with the CA of tls_cert, for joining hosts; NULL: not sent */
	bool insecure;
	bool metrics_nodes; /* is /metrics/nodes enabled? */
	uint64_t connections_max, connections_per_peer, nodes_max;
	uint64_t report_rate, report_burst; /* per node: per second, and burst */
	struct retention keep;
	struct settings_collectives collectives;
	struct settings_alerts alerts;
	struct settings_page page;
	struct settings_jobs jobs;
	char *external_url; /* of the controller, for links in alerts; or NULL */
	uint64_t db_max;    /* bytes of the store in use above which less is kept; 0: no limit */
};

/* Returns the defaults; the caller releases them. */
struct settings settings_init(void);
void settings_release(struct settings *s);

/* Read `path` on top of the current values. -EINVAL with "FILE: key: what"; -ENOENT. */
int settings_read(const char *path, struct settings *s, struct err *err);

/*
 * Take from `fresh` what can change at run time: report-rate, report-burst, nodes-max, keep,
 * db-max, jobs, collectives, metrics-nodes, and page except its proxy. Others are unchanged; the
 * names of those that differ in `fresh` are returned in new memory, "listen, tokens", or NULL if
 * there are none.
 */
char *settings_renew(struct settings *s, struct settings *fresh);

/*
 * Does the page of `fresh` need a restart, because the running controller lacks its TLS or tokens?
 */
bool settings_page_waits(const struct settings *s, const struct settings *fresh);

/* Names of values, NULL-terminated. */
extern const char *const cluster_names[];

const char *settings_taint_effect(const struct settings_taint *taint);

/* Are bearers of tokens identified by the cluster's API server? */
bool settings_token_review(const struct settings *s);

/* Is no authentication required? */
bool settings_open(const struct settings *s);

/* ... and can only this host connect? */
bool settings_open_to_host(const struct settings *s);

/* Are the settings consistent? -EINVAL with a sentence that says what to do. */
int settings_check(const struct settings *s, struct err *err);
