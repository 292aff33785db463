/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the controller was told to run: defaults < controller.yaml < options.
 * The file has the names of the options as keys and is strict.
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

/* A taint besides the cordon; without a key there is none. */
struct settings_taint {
	char *key, *value;
	int effect; /* settings_taint_effect() */
};

/* What `cluster: kubernetes` wants to know besides. */
struct settings_kube {
	char *namespace; /* of the Leases; NULL: the pod's or the kubeconfig's */
	char *selector;	 /* labels of the nodes that are ours to look at; NULL: all */
	char *prefix;	 /* of our names on nodes; NULL: CLUSTER_PREFIX */
	struct settings_taint taint;
	uint64_t young_us;  /* a node is left alone for so long after it joined; 0: not */
	struct authz authz; /* whom the API server may vouch for */
	json_t *jobs;	    /* a site's own rows (kube/kube_jobs.h), an array; NULL: none */
};

/* By what hosts find each other for a test with others. */
enum { COLLECTIVES_BY_CLUSTER, COLLECTIVES_BY_NAME, COLLECTIVES_BY_FILE };

/* Tests of hosts with each other (docs/collectives.md). */
struct settings_collectives {
	uint64_t port;	     /* at which the first of a group listens */
	int address;	     /* as above: the name of the host, or what the file says */
	char *file;	     /* rail_map.h; NULL: none */
	char *label;	     /* of a node: its leaf switch; NULL: those that are well known */
	uint64_t timeout_us; /* of one order */
	uint64_t at_once;    /* hosts under test at a time */
	int memory;	     /* enum campaign_memory, where a request or a check does not say */
};

struct settings {
	char *read_from; /* the file, for words about what it says; NULL: none */
	char *listen;	 /* "ADDR:PORT" */
	char *db;
	int cluster; /* enum cluster_kind */
	char *kubeconfig;
	struct settings_kube kube;
	int mode;	/* enum policy_mode */
	json_t *labels; /* of hosts: [{nodes: GLOB, labels: {KEY: TEXT}}], or NULL */
	char *policy;
	char *tokens, *tls_cert, *tls_key, *client_ca; /* files, or NULL */
	char *ca; /* a file: who signed tls_cert, for hosts that join; NULL: they are not told */
	bool insecure;
	bool metrics_nodes; /* is /metrics/nodes open? */
	uint64_t connections_max, connections_per_peer, nodes_max;
	uint64_t report_rate, report_burst; /* per node: a second, and at once */
	struct retention keep;
	struct settings_collectives collectives;
	struct settings_alerts alerts;
	struct settings_page page;
	struct settings_jobs jobs;
	char *external_url; /* of the controller, for links in alerts; or NULL */
	uint64_t db_max;    /* bytes in use of the store above which less is kept; 0: no limit */
};

/* The defaults; release it. */
struct settings settings_init(void);
void settings_release(struct settings *s);

/* Read `path` over what is there. -EINVAL with "FILE: key: what"; -ENOENT. */
int settings_read(const char *path, struct settings *s, struct err *err);

/*
 * Take what can change while it runs from `fresh`: report-rate, report-burst, nodes-max,
 * keep, db-max, jobs, collectives, metrics-nodes, page but for its proxy. The others stay as they
 * are; the names of those that `fresh` has otherwise come back as new memory, "listen, tokens", or
 * NULL when there is none.
 */
char *settings_renew(struct settings *s, struct settings *fresh);

/*
 * Does the page of `fresh` wait for a restart, since what runs lacks the TLS or the tokens that
 * `fresh` has for it?
 */
bool settings_page_waits(const struct settings *s, const struct settings *fresh);

/* Names of values, NULL-terminated. */
extern const char *const cluster_names[];

const char *settings_taint_effect(const struct settings_taint *taint);

/* Does the API server of the cluster vouch for bearers of tokens? */
bool settings_token_review(const struct settings *s);

/* Does nobody have to say who he is? */
bool settings_open(const struct settings *s);

/* The same, and only who is on this host can ask. */
bool settings_open_to_host(const struct settings *s);

/* May it run so? -EINVAL with a sentence that says what to do. */
int settings_check(const struct settings *s, struct err *err);
