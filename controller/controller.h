/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller put together: what the routes work on, and the batch of
 * reports whose senders wait for the next commit.
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
	BATCH_REPORTS_MAX = 4096, /* reports of them */
	COMMIT_READY = 32,	  /* reports that are worth a commit of their own */
	LAST_COMMITS = 6,	  /* of a stop: each may bring about something to write */
};

/* Work that goes into one batch: who comes when it is done is told to come again. */
#define BATCH_WORK_US (200 * USEC_PER_MSEC)

/* Commits of fewer than COMMIT_READY are at least this far apart, so that many share one. */
#define COMMIT_EVERY_US (50 * USEC_PER_MSEC)

/* A sender that waits, and what it is told once all is durable. */
struct waiting {
	struct call *call;
	unsigned status;
	json_t *answer;		       /* owned */
	unsigned accepted, duplicates; /* reports */
	json_t *nodes;		       /* hosts of those accepted, owned; NULL: none */
};

/*
 * What works on its own above the controller: acting on hosts, campaigns, jobs. What a part
 * has no use for is NULL. Parts are opened and told in the order of their table, and closed the
 * other way round; the controller knows no more of them.
 */
struct controller_part {
	int (*open)(struct service *s, struct err *err);
	void (*tick)(struct service *s); /* once a second */
	void (*committing)(struct service *s);
	void (*written)(struct service *s); /* a commit has kept something */
	/* Nothing is uncommitted: after `written`, or without it where there was nothing to commit. */
	void (*committed)(struct service *s);
	void (*failed)(struct service *s); /* all since the last commit was taken back */
	void (*forgotten)(struct service *s, const char *node);
	void (*stop)(struct service *s); /* only the last commits are still to come: LAST_COMMITS */
	void (*close)(struct service *s);
};

/* What stands above the controller, as main.c wires it. */
struct controller_wiring {
	const struct controller_part *const *parts; /* up to NULL */
	void (*set_routes)(struct api_options *options);
	/* Something of the host has changed: it may have other orders now. */
	void (*orders_changed)(struct service *s, const char *node);
	/* Somebody who started a job is advised something else; durable. */
	void (*advice_changed)(struct service *s);
};

struct service {
	const struct controller_wiring *wiring; /* borrowed; set before service_open() */
	struct settings *settings;		/* borrowed */
	struct rules rules;
	struct policy policy; /* of remediation_policy(): borrows from `rules` */
	struct cluster *cluster;
	const struct remediation_cluster *kubernetes; /* how to open one there; borrowed */
	void *outside;				      /* of it, or NULL */
	struct actor *act;
	sd_event_source *act_timer;
	struct tokens tokens;
	token_review_open *token_review_open;
	struct token_review *token_review;   /* or NULL */
	char joined_node[NODE_NAME_MAX + 1]; /* who the last token of a host that joined is */
	struct token_buckets join_refusals;  /* by address: joins that may still be refused */
	struct token_buckets buckets;
	struct baselines baselines;
	struct live live;
	struct hosts hosts;
	struct jmemo memo; /* of what reports have in common */
	struct opinions opinions;
	void *holds;			      /* of routes_orders.c: held calls by host */
	struct advice_hold *advice_holds;     /* of routes_advice.c: held calls */
	char *tls_cert, *tls_key, *client_ca; /* PEM texts, or NULL */
	char *ca;			      /* the same: who signed tls_cert */
	char ca_sum[SHA256_HEX_SIZE];	      /* pem_sum() of it */
	struct store *store;
	struct api *api;
	sd_event *loop;
	sd_event_source *commit_timer, *commit_ready;
	uint64_t last_commit_us; /* monotonic */
	struct waiting batch[BATCH_MAX];
	size_t n_batch, n_reports;
	uint64_t batch_work_us; /* spent since the batch began */
	struct load_shed shed;
	uint64_t nodes_most; /* hosts that may be known: never fewer than there are */
	bool closing;
	bool failing;	    /* the store could not be written not long ago, and the log says so */
	uint64_t failed_us; /* monotonic; the last time */
	sd_event_source *upkeep_timer; /* what nobody asks for: thinning, saving */
	struct store_upkeep upkeep;
	struct baseline_saver saver;
	struct baselines_told told_full;
	uint64_t save_us;      /* monotonic; when baselines are to be saved next */
	uint64_t told_damaged; /* pages that the log has told of */
	struct ingest_counts counts;
	char *metrics_text;	   /* as it was made last, or NULL */
	uint64_t metrics_until_us; /* monotonic; it serves until then */
	char *node_metrics_text;   /* the same of /metrics/nodes */
	uint64_t node_metrics_until_us;
	struct metrics_walk *metrics_walk; /* of metrics_walk.c, or NULL */
	struct fleet_watch *fleet_watch; /* of routes_changes.c; NULL: nobody looks at the fleet */
	struct rail_map rail_map;
	struct page_files page;	       /* empty while there is no page */
	struct burn_queue *burns;      /* of burns.c */
	struct campaigns *campaigns;   /* of campaigns.c */
	struct jobs *jobs;	       /* of jobs.c */
	struct beats *beats;	       /* of beats.c */
	struct hangs *hangs;	       /* of hangs.c */
	struct hang_board *hang_board; /* likewise: what is known of hangs, for who tells of them */
	struct job_restarts *restarts; /* of job_restarts.c */
	struct alerting *alerting;     /* of alerting.c */
	const struct alert_sender
		*alert_sender;	     /* how it posts; borrowed, set before service_open() */
	struct replaying *replaying; /* of routes_replay.c; NULL: none is under way */
	unsigned n_background_jobs;  /* answers that are worked out (background_job.h) */
};

/* Read all files that the settings name; they are borrowed. */
int service_read(struct service *s, struct settings *settings, struct err *err);

/*
 * Read them again: tokens, policy and SKU files, certificate, key and client
 * CA, and the web page. One bad file and nothing changes. Calls that are under way go on as whom
 * they began. -EINVAL and others with a sentence. Of the settings what can change
 * is taken from
 * `fresh_settings`; `ret_others` are those that cannot and would (settings_renew()).
 */
int service_reload(struct service *s, struct settings *fresh_settings, char **ret_others,
		   struct err *err);

/* Are the certificates that were read good? What api_open() refuses, and in `ret_soon` what it only
 * tells; both as api_check_tls(). */
int controller_check_tls(const struct service *s, struct err *ret_soon, struct err *err);

/* Open the store, listen. `ret_address` is new memory. */
int service_open(struct service *s, sd_event *loop, char **ret_address, struct err *err);

/* Commit, answer who waits, close, release what was read. */
void service_close(struct service *s);

/* Has the batch all it can take, so that one more would wait too long? */
bool service_full(const struct service *s);

/* Hold a sender until what it sent is durable. Takes the answer. */
void service_wait(struct service *s, const struct waiting *waiting);

/* Something was put into the store that nobody waits for: it goes with the next commit. */
void service_touch(struct service *s);

/* Nothing was written, and the parts are to be told so in so long, unless a commit comes before. */
void controller_wake_parts(struct service *s, uint64_t after_us);

/* Something of the host has changed: who holds a call for its orders looks again. */
void controller_wake_orders(struct service *s, const char *node);

/* There is other advice on jobs: who holds a call for it looks again. */
void controller_wake_advice(struct service *s);

/* Tell the parts: a second has passed. */
void controller_tick(struct service *s);

/* The store failed, and took everything since the last commit back: tell those who wait. */
void service_failed(struct service *s, const struct err *err);
