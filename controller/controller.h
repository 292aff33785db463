/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller as a whole: the state that the routes work on, and the batch of reports whose
 * senders wait for the next commit.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "controller/auth/token_review.h"
#include "controller/auth/tokens.h"
#include "controller/config/rail_map.h"
#include "controller/config/settings.h"
#include "controller/fleet/baseline.h"
#include "controller/fleet/baseline_store.h"
#include "controller/fleet/hosts.h"
#include "controller/fleet/live.h"
#include "controller/fleet/opinion.h"
#include "controller/fleet/rules.h"
#include "controller/http/load_shed.h"
#include "controller/http/page_files.h"
#include "controller/http/token_buckets.h"
#include "controller/ingest/ingest_counts.h"
#include "controller/store/store_upkeep.h"
#include "lib/base/sha256.h"
#include "lib/json/jmemo.h"
#include "lib/report/node_name.h"

struct actor;
struct advice_hold;
struct alert_sender;
struct alerting;
struct remediation_cluster;
struct api;
struct api_options;
struct beats;
struct burn_queue;
struct call;
struct campaigns;
struct cluster;
struct err;
struct fleet_watch;
struct hang_board;
struct hangs;
struct job_restarts;
struct metrics_walk;
struct replaying;
struct service;
struct store;

enum {
	BATCH_MAX = 1024,	  /* calls that wait for one commit */
	BATCH_REPORTS_MAX = 4096, /* reports in those calls */
	COMMIT_READY = 32,	  /* this many reports are committed without delay */
	LAST_COMMITS = 6,	  /* when stopping: each commit may cause further writes */
};

/* Time spent on one batch; calls that arrive once it is used up are asked to retry. */
#define BATCH_WORK_US (200 * USEC_PER_MSEC)

/* Minimum time between commits of fewer than COMMIT_READY reports, so that many share one. */
#define COMMIT_EVERY_US (50 * USEC_PER_MSEC)

/* A sender that waits, and the answer it gets once everything is durable. */
struct waiting {
	struct call *call;
	unsigned status;
	json_t *answer;		       /* owned */
	unsigned accepted, duplicates; /* reports */
	json_t *nodes;		       /* hosts of the accepted reports, owned; NULL: none */
};

/*
 * A subsystem on top of the controller: remediation, campaigns, jobs. Unused callbacks are NULL.
 * Parts are opened and called in table order and closed in reverse; the controller knows nothing
 * else about them.
 */
struct controller_part {
	int (*open)(struct service *s, struct err *err);
	void (*tick)(struct service *s); /* once a second */
	void (*committing)(struct service *s);
	void (*written)(struct service *s); /* a commit has stored something */
	/*
	 * Nothing is uncommitted: called after `written`, or alone if there was nothing to commit.
	 */
	void (*committed)(struct service *s);
	void (*failed)(struct service *s); /* everything since the last commit was rolled back */
	void (*forgotten)(struct service *s, const char *node);
	void (*stop)(struct service *s); /* only the last commits follow: LAST_COMMITS */
	void (*close)(struct service *s);
};

/* What main.c plugs into the controller. */
struct controller_wiring {
	const struct controller_part *const *parts; /* NULL-terminated */
	void (*set_routes)(struct api_options *options);
	/* Something about the host has changed: its orders may have, too. */
	void (*orders_changed)(struct service *s, const char *node);
	/* The advice to whoever started a job has changed, and is durable. */
	void (*advice_changed)(struct service *s);
};

struct service {
	const struct controller_wiring *wiring; /* borrowed; set before service_open() */
	struct settings *settings;		/* borrowed */
	struct rules rules;
	struct policy policy; /* remediation_policy(); borrows from `rules` */
	struct cluster *cluster;
	const struct remediation_cluster *kubernetes; /* how to open a Kubernetes cluster; borrowed */
	void *outside;				      /* its state, or NULL */
	struct actor *act;
	sd_event_source *act_timer;
	struct tokens tokens;
	token_review_open *token_review_open;
	struct token_review *token_review;   /* or NULL */
	char joined_node[NODE_NAME_MAX + 1]; /* node of the last join token looked up */
	struct token_buckets join_refusals; /* by address: refusals of joins left before throttling */
	struct token_buckets buckets;
	struct baselines baselines;
	struct live live;
	struct hosts hosts;
	struct jmemo memo; /* content that reports have in common */
	struct opinions opinions;
	void *holds;			      /* held calls by host (routes_orders.c) */
	struct advice_hold *advice_holds;     /* held calls (routes_advice.c) */
	char *tls_cert, *tls_key, *client_ca; /* PEM texts, or NULL */
	char *ca;			      /* PEM, or NULL: the CA that signed tls_cert */
	char ca_sum[SHA256_HEX_SIZE];	      /* pem_sum() of `ca` */
	struct store *store;
	struct api *api;
	sd_event *loop;
	sd_event_source *commit_timer, *commit_ready;
	uint64_t last_commit_us; /* monotonic */
	struct waiting batch[BATCH_MAX];
	size_t n_batch, n_reports;
	uint64_t batch_work_us; /* spent since the batch began */
	struct load_shed shed;
	uint64_t nodes_most; /* upper bound of the number of known hosts */
	bool closing;
	bool failing;	    /* the store could not be written recently, and that was logged */
	uint64_t failed_us; /* monotonic; the last failure */
	sd_event_source *upkeep_timer; /* background work: retention, saving baselines */
	struct store_upkeep upkeep;
	struct baseline_saver saver;
	struct baselines_told told_full;
	uint64_t save_us;      /* monotonic; when to save the baselines next */
	uint64_t told_damaged; /* damaged pages already logged */
	struct ingest_counts counts;
	char *metrics_text;	   /* cached answer of /metrics, or NULL */
	uint64_t metrics_until_us; /* monotonic; valid until then */
	char *node_metrics_text;   /* the same for /metrics/nodes */
	uint64_t node_metrics_until_us;
	struct metrics_walk *metrics_walk; /* metrics_walk.c; or NULL */
	struct fleet_watch *fleet_watch;   /* routes_changes.c; NULL: nobody watches the fleet */
	struct rail_map rail_map;
	struct page_files page;	       /* empty if there is no page */
	struct burn_queue *burns;      /* burns.c */
	struct campaigns *campaigns;   /* campaigns.c */
	struct jobs *jobs;	       /* jobs.c */
	struct beats *beats;	       /* beats.c */
	struct hangs *hangs;	       /* hangs.c */
	struct hang_board *hang_board; /* hangs.c: known hangs, for other modules to read */
	struct job_restarts *restarts; /* job_restarts.c */
	struct alerting *alerting;     /* alerting.c */
	const struct alert_sender
		*alert_sender;	     /* how to post; borrowed, set before service_open() */
	struct replaying *replaying; /* routes_replay.c; NULL: no replay is running */
	unsigned n_background_jobs;  /* answers being computed (background_job.h) */
};

/* Read all files that the settings name. Borrows the settings. */
int service_read(struct service *s, struct settings *settings, struct err *err);

/*
 * Reload tokens, policy and SKU files, certificate, key and client CA, and the web page. If any
 * file is bad, nothing changes. Calls in progress keep the identity they began with. Returns
 * -EINVAL or another error with a sentence in `err`. Of the settings, those that can change at run
 * time are taken from `fresh_settings`; `ret_others` lists those that differ but need a restart
 * (settings_renew()).
 */
int service_reload(struct service *s, struct settings *fresh_settings, char **ret_others,
		   struct err *err);

/* Check the certificates that were read, as api_check_tls() does: errors that api_open() would
 * refuse in `err`, warnings in `ret_soon`. */
int controller_check_tls(const struct service *s, struct err *ret_soon, struct err *err);

/* Open the store and listen. The caller frees `ret_address`. */
int service_open(struct service *s, sd_event *loop, char **ret_address, struct err *err);

/* Commit, answer waiting callers, close, and release what was read. */
void service_close(struct service *s);

/* Is the batch full, so that one more call would wait too long? */
bool service_full(const struct service *s);

/* Hold a sender until its data is durable. Takes ownership of the answer. */
void service_wait(struct service *s, const struct waiting *waiting);

/* Something was written to the store that no caller waits for: it goes into the next commit. */
void service_touch(struct service *s);

/*
 * Nothing was written: call the parts' `committed` after `after_us`, unless a commit comes first.
 */
void controller_wake_parts(struct service *s, uint64_t after_us);

/* Something about the host has changed: held calls for its orders are re-evaluated. */
void controller_wake_orders(struct service *s, const char *node);

/* Advice on jobs has changed: held calls for it are re-evaluated. */
void controller_wake_advice(struct service *s);

/* Call the parts' `tick`, once a second. */
void controller_tick(struct service *s);

/* The store failed and rolled back to the last commit: report the failure to waiting callers. */
void service_failed(struct service *s, const struct err *err);
