/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface to whatever keeps jobs off nodes: Kubernetes, or tables in the store if there is none.
 * A table of operations, so that deciding and acting depend on neither.
 *
 * Every operation is asynchronous: it returns at once, and `done` is called later from the event
 * loop, exactly once. Closing the cluster answers pending calls with CLUSTER_AGAIN. Callers must
 * not assume the change before `done` says CLUSTER_DONE; after a crash only the node itself shows
 * whether it happened.
 *
 * A change of a node carries the version of the node that the decision was based on. If somebody
 * else has changed the node meanwhile, nothing happens and the answer is CLUSTER_CONFLICT: read the
 * node and decide again. A change is never replayed as it was.
 *
 * The node is the truth about a cordon; the ledger is the lock (ledger.h).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster_names.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct cluster;
struct err;

/* Longest wait for the answer where ranks are. */
#define CLUSTER_PLACEMENT_US (10 * USEC_PER_SEC)

/* Result of an operation. */
enum cluster_result {
	CLUSTER_DONE,
	CLUSTER_CONFLICT, /* changed meanwhile: read and decide again */
	CLUSTER_NOT_OURS, /* somebody else's cordon, taint or hold: hands off */
	CLUSTER_GONE,	  /* no such node or object */
	CLUSTER_REFUSED,  /* not permitted: a person has to fix it; retry in minutes */
	CLUSTER_AGAIN,	  /* the cluster failed: retry after `retry_us` */
};
extern const char *const cluster_result_names[];

/* Our annotation on a node that we took out of service. */
struct cluster_mark {
	char *by;	/* "assay", or who requested it */
	char *incident; /* number as text, or NULL */
	char *reason;
	char *action; /* number of the action: a controller that finds it done does not repeat it */
	json_t *evidence; /* array, or NULL */
	uint64_t at_us;
	uint64_t epoch;
	bool pre;    /* cordoned before by somebody else: never lift it */
	bool sticky; /* only a person may lift it */
	bool born;   /* for a part that was always slow: counts for jobs.born */
};

/* A node as the cluster has it. */
struct cluster_node {
	char *name, *uid;
	char *version;	/* opaque */
	json_t *labels; /* object of strings */
	bool unschedulable;
	bool ready;	   /* according to the cluster; true if unknown */
	bool managed;	   /* not opted out */
	char *hands_off;   /* why it is never touched, a sentence without its name; or NULL */
	bool leaving;	   /* being taken out of service by somebody else: counts as out */
	bool outside;	   /* not for jobs (control plane): does not count */
	uint64_t since_us; /* when it joined the cluster; 0: unknown */
	struct cluster_mark *mark; /* ours, or NULL */
	uint64_t override_us;	   /* kept in service by a person until then; 0: no */
	uint64_t hold_us;	   /* end of our hold; 0: none */
	char *hold_by;		   /* purpose of the hold, or NULL */
	bool unverified;	   /* has the start-up taint: no jobs until it was tested */
	char *address;		   /* within the cluster, in the form used by orders; or NULL */
	char *boot;		   /* boot_id according to the cluster; NULL: unknown */
};

/* Ranks `first` to `first + n - 1` of a job are on a node, since `from_us` (real time). */
struct cluster_place {
	const char *node;
	int64_t first, n;
	uint64_t from_us;
};

/* Passed to `done`. All borrowed until it returns. */
struct cluster_answer {
	enum cluster_result result;
	const char *words;		 /* one line unless CLUSTER_DONE, else "" */
	uint64_t retry_us;		 /* CLUSTER_AGAIN: wait at least this long; 0: any time */
	const struct cluster_node *node; /* its current state, if the answer is about a node */
	const char *version, *text;	 /* of the ledger */
	const char *const *jobs;	 /* running on a node; names for people */
	size_t n_jobs;
	const struct cluster_place *places; /* by rank, without gaps from 0 */
	size_t n_places;
};
typedef void cluster_done(void *context, const struct cluster_answer *answer);

/* Who gets the answer. `done` NULL: nobody, best effort. */
struct cluster_call {
	cluster_done *done;
	void *context;
};

/* How jobs on a node are asked to leave. */
struct cluster_drain {
	bool only_ask;	    /* only notify by PREFIX/drain, evict nothing */
	bool bare_pods;	    /* also evict pods that nothing would recreate */
	bool empty_dir;	    /* data in an emptyDir may be lost */
	const char *reason; /* text for PREFIX/drain */
	uint64_t evict_us;  /* real time: when it is evicted if still there; 0: never */
};

/* A change of one node, decided on `version`; NULL: any version. */
struct cluster_change {
	const char *node, *version;
	bool dry_run;	  /* only validated by the cluster */
	bool keep_cordon; /* for uncordon(): it is somebody else's by now, only our mark goes */
	const struct cluster_drain *drain; /* for evict(); NULL: no bare pods, no emptyDir */
};

/* An Event of a job ("namespace/name") is for its owner; clusters without namespaces drop it. */
struct cluster_event {
	const char *node, *reason, *message;
	bool warning;
	const char *job; /* what it is about instead of the node; NULL: the node */
};

/* Our condition "Healthy". */
struct cluster_condition {
	const char *node;
	int healthy;		      /* 1 yes, 0 no, -1 unknown */
	const char *reason, *message; /* CamelCase; a sentence */
};

/*
 * Receives each node at first, then `synced`, then changes. `stale` with a line why: what was
 * reported may be out of date, and nothing may be decided on it; with NULL: it is current again. It
 * may come before the first node. The embedded cluster is never stale.
 */
struct cluster_watcher {
	void (*node)(void *context, const struct cluster_node *node);
	void (*gone)(void *context, const char *name);
	void (*synced)(void *context);
	void (*stale)(void *context, const char *words);
	void *context;
};

struct cluster_ops {
	const char *name;
	/* Limits of a cordon here, for whoever orders one; NULL: the scheduler keeps jobs away. */
	const char *cordon_only;
	bool conditions; /* they have readers: publish those of all nodes */
	void (*close)(struct cluster *c);

	/* Call `node` for every node, without a cache; `done` comes after the last. */
	void (*list)(struct cluster *c, void (*node)(void *context, const struct cluster_node *node),
		     const struct cluster_call *call);
	/* Only one watcher, borrowed until close(). After an interruption there is a new list, and
	 * `synced`. */
	int (*watch)(struct cluster *c, const struct cluster_watcher *watcher, struct err *err);

	/*
	 * Ask, without a cache, which nodes are out of service, and report those the watcher does
	 * not know to be; then `done`: by now the watcher counts at least those that were out when
	 * asked. CLUSTER_AGAIN: cannot be reported yet. NULL: reports are never late.
	 */
	void (*confirm)(struct cluster *c, const struct cluster_call *call);

	/*
	 * Take out of service with our mark. If the node is out of service without our mark, the
	 * mark says `pre` and the cordon stays theirs. If it has our mark already: CLUSTER_NOT_OURS
	 * if from another action, CLUSTER_DONE if from this one.
	 */
	void (*cordon)(struct cluster *c, const struct cluster_change *change,
		       const struct cluster_mark *mark, const struct cluster_call *call);
	/*
	 * Remove our mark, and the cordon too unless it was `pre` or is to be kept; `override_us`
	 * (0: none) becomes override-until. Without our mark: CLUSTER_NOT_OURS if it is out of
	 * service, else CLUSTER_DONE.
	 */
	void (*uncordon)(struct cluster *c, const struct cluster_change *change,
			 uint64_t override_us, const struct cluster_call *call);
	/* Set override-until (0: remove it). */
	void (*annotate)(struct cluster *c, const struct cluster_change *change,
			 uint64_t override_us, const struct cluster_call *call);
	void (*condition)(struct cluster *c, const struct cluster_condition *condition,
			  const struct cluster_call *call);
	/* Best effort: no answer. */
	void (*event)(struct cluster *c, const struct cluster_event *event);
	/*
	 * Set a hold until `until_us` (real time) for `by`, or with 0 remove ours. Somebody else's
	 * hold: CLUSTER_NOT_OURS. The caller has to end it: the cluster need not know the time.
	 */
	void (*hold)(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
		     const char *by, const struct cluster_call *call);
	/* Remove the start-up taint. NULL: the cluster has none. */
	void (*verified)(struct cluster *c, const struct cluster_change *change,
			 const struct cluster_call *call);
	/*
	 * Ask what runs there to leave: one round. CLUSTER_AGAIN, with a message, as long as
	 * something is left, leaving or not allowed to go yet. The caller decides for how long.
	 */
	void (*evict)(struct cluster *c, const struct cluster_change *change,
		      const struct cluster_call *call);

	/* Names of the jobs that run there. NULL: the cluster does not know jobs. */
	void (*jobs)(struct cluster *c, const char *node, const struct cluster_call *call);

	/*
	 * Where all ranks of the job ("namespace/name") are now, within CLUSTER_PLACEMENT_US; no
	 * places: not known for sure. May answer before it returns. NULL: the cluster does not know
	 * ranks.
	 */
	void (*placement)(struct cluster *c, const char *job, const struct cluster_call *call);

	/* Version and text of the ledger; CLUSTER_GONE if there is none. */
	void (*ledger_read)(struct cluster *c, const struct cluster_call *call);
	/* Compare and swap; `version` NULL creates it. The answer has the new version. */
	void (*ledger_write)(struct cluster *c, const char *version, const char *text,
			     const struct cluster_call *call);
	/*
	 * Why no node may be touched now, one line, borrowed until control returns to the loop;
	 * NULL: they may. NULL operation: they always may.
	 */
	const char *(*stopped)(struct cluster *c);
};

/* First member of every implementation's struct. */
struct cluster {
	const struct cluster_ops *ops;
	const struct cluster_names *names; /* borrowed while it is open */
};

static inline void cluster_close(struct cluster *c)
{
	if (c)
		c->ops->close(c);
}
DEFINE_CLEANUP(struct cluster *, cluster_close, cluster_closep);

static inline const char *cluster_stopped(struct cluster *c)
{
	return c->ops->stopped ? c->ops->stopped(c) : NULL;
}

/* Answer a call, unless nobody waits. */
void cluster_answer(const struct cluster_call *call, const struct cluster_answer *answer);

/* {"v","by","incident","reason","evidence","at","epoch","pre","action"}. New reference. */
json_t *cluster_mark_encode(const struct cluster_mark *mark);

/* NULL if it is not ours: a person's note under our name counts as somebody else's mark. */
struct cluster_mark *cluster_mark_decode(const json_t *value);
struct cluster_mark *cluster_mark_copy(const struct cluster_mark *mark);
void cluster_mark_free(struct cluster_mark *mark);
DEFINE_CLEANUP(struct cluster_mark *, cluster_mark_free, cluster_mark_freep);

void cluster_node_release(struct cluster_node *node);

/* A deep copy, owned by the caller. */
struct cluster_node cluster_node_copy(const struct cluster_node *node);

/* Equal except for `version`? A node's heartbeat changes the version only. */
bool cluster_node_same(const struct cluster_node *a, const struct cluster_node *b);

/* The label, or NULL. Borrowed. */
const char *cluster_node_label(const struct cluster_node *node, const char *label);
