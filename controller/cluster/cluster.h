/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps jobs off nodes: Kubernetes, or tables in the store when there is
 * none. One table of operations, so that what decides and what acts know
 * neither.
 *
 * Every operation is asynchronous: it returns at once, and its `done` is called
 * later from the event loop, exactly once; closing the cluster answers what still waits
 * with CLUSTER_AGAIN.
 * Whoever calls must not assume the change before `done` says CLUSTER_DONE;
 * after a crash only the node itself says whether it happened.
 *
 * A change of a node carries the version of the node that it was decided on.
 * When somebody else changed the node meanwhile nothing happens and the answer
 * is CLUSTER_CONFLICT: look at the node again, and decide again. It is never
 * replayed as it was.
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

/* So long at most whoever asks where ranks are waits for the answer. */
#define CLUSTER_PLACEMENT_US (10 * USEC_PER_SEC)

/* How an operation went. */
enum cluster_result {
	CLUSTER_DONE,
	CLUSTER_CONFLICT, /* changed meanwhile: read and decide again */
	CLUSTER_NOT_OURS, /* another's cordon, taint or hold: hands off */
	CLUSTER_GONE,	  /* there is no such node or object */
	CLUSTER_REFUSED,  /* we may not: a person has to mend it; try again in minutes */
	CLUSTER_AGAIN,	  /* the cluster could not: try again, not before `retry_us` */
};
extern const char *const cluster_result_names[];

/* Our annotation on a node that is out of service because of us. */
struct cluster_mark {
	char *by;	/* "assay", or who asked for it */
	char *incident; /* its number as text, or NULL */
	char *reason;
	char *action;	  /* the number of the action: who finds it done does not do it again */
	json_t *evidence; /* an array, or NULL */
	uint64_t at_us;
	uint64_t epoch;
	bool pre;    /* somebody else had cordoned it before: never lift it */
	bool sticky; /* only a person gives it back */
	bool born;   /* for a part that always was slow: it counts for jobs.born */
};

/* A node as the cluster has it. */
struct cluster_node {
	char *name, *uid;
	char *version;	/* opaque */
	json_t *labels; /* an object of texts */
	bool unschedulable;
	bool ready;	   /* as the cluster says; what it cannot say is true */
	bool managed;	   /* not opted out */
	char *hands_off;   /* why it is never touched, a sentence without its name; or NULL */
	bool leaving;	   /* another takes it out of service: it counts as out */
	bool outside;	   /* it is none for jobs (control plane): it counts for nothing */
	uint64_t since_us; /* it joined the cluster then; 0: nobody knows */
	struct cluster_mark *mark; /* ours, or NULL */
	uint64_t override_us;	   /* a person said: in service until then; 0: nobody did */
	uint64_t hold_us;	   /* our hold ends then; 0: there is none */
	char *hold_by;		   /* what the hold is for, or NULL */
	bool unverified;	   /* the start-up taint is on it: no jobs until it was tested */
	char *address;		   /* of it within the cluster, as an order has it; or NULL */
	char *boot;		   /* its boot_id as the cluster has it; NULL: it does not say */
};

/* Ranks `first` to `first + n - 1` of a job are on a node, since `from_us` (real time). */
struct cluster_place {
	const char *node;
	int64_t first, n;
	uint64_t from_us;
};

/* What `done` is told. All borrowed until it returns. */
struct cluster_answer {
	enum cluster_result result;
	const char *words;		 /* one line when it is not CLUSTER_DONE, else "" */
	uint64_t retry_us;		 /* of CLUSTER_AGAIN: not before so long; 0: as you like */
	const struct cluster_node *node; /* as it is now, when the answer is about one */
	const char *version, *text;	 /* of the ledger */
	const char *const *jobs; /* what runs on a node, by names that are good for people */
	size_t n_jobs;
	const struct cluster_place *places; /* by rank, without a gap from 0 */
	size_t n_places;
};
typedef void cluster_done(void *context, const struct cluster_answer *answer);

/* Who waits for an answer. `done` NULL: nobody, best effort. */
struct cluster_call {
	cluster_done *done;
	void *context;
};

/* How what runs on a node is asked to leave. */
struct cluster_drain {
	bool only_ask;	    /* tell it by PREFIX/drain, and evict nothing */
	bool bare_pods;	    /* what nothing would start again is evicted too */
	bool empty_dir;	    /* what is in an emptyDir may be lost */
	const char *reason; /* for who reads PREFIX/drain */
	uint64_t evict_us;  /* real time: when it is evicted if it is still there; 0: never */
};

/* A change of one node, decided on `version`; NULL: of whatever it is now. */
struct cluster_change {
	const char *node, *version;
	bool dry_run;	  /* checked by the cluster, and not done */
	bool keep_cordon; /* of uncordon(): by now it is another's, our mark alone goes */
	const struct cluster_drain *drain; /* of evict(); NULL: nothing bare, no emptyDir */
};

/* Of a job ("namespace/name") it is for its owner; a cluster that has no such namespaces keeps none. */
struct cluster_event {
	const char *node, *reason, *message;
	bool warning;
	const char *job; /* what it is about in place of the node; NULL: the node */
};

/* Our condition "Healthy". */
struct cluster_condition {
	const char *node;
	int healthy;		      /* 1 yes, 0 no, -1 unknown */
	const char *reason, *message; /* CamelCase; a sentence */
};

/*
 * Whoever watches: each node at first, then `synced`, then what changes. `stale`, one line why:
 * what was told may no longer be so, and nothing may be decided on it; NULL: it is so again. It may
 * come before the first node. A cluster that is part of this program never is.
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
	/* What a cordon does not do here, for who orders one; NULL: the scheduler keeps jobs away. */
	const char *cordon_only;
	bool conditions; /* somebody reads them: every node's is told, whether anything was done */
	void (*close)(struct cluster *c);

	/* Call `node` for every node there is now, without a cache; `done` comes after the last. */
	void (*list)(struct cluster *c, void (*node)(void *context, const struct cluster_node *node),
		     const struct cluster_call *call);
	/* One watcher; it is borrowed until close(). A break is mended by a new list: `synced` again. */
	int (*watch)(struct cluster *c, const struct cluster_watcher *watcher, struct err *err);

	/*
	 * Ask, without a cache, which nodes are out of service, and tell whoever watches of those
	 * that he does not know to be; then `done`: by now he counts no fewer than there were when
	 * it was asked. CLUSTER_AGAIN: he cannot be told yet. NULL: what was told is never behind.
	 */
	void (*confirm)(struct cluster *c, const struct cluster_call *call);

	/*
	 * Out of service with our mark. On a node that is out of service without a mark of ours
	 * the mark says `pre` and the cordon is theirs. With our mark already: CLUSTER_NOT_OURS
	 * when it is of another action, CLUSTER_DONE when it is of this one.
	 */
	void (*cordon)(struct cluster *c, const struct cluster_change *change,
		       const struct cluster_mark *mark, const struct cluster_call *call);
	/*
	 * Take our mark off, and the cordon with it unless it was `pre` or is to be kept;
	 * `override_us` (0: none) becomes override-until. Without our mark: CLUSTER_NOT_OURS when
	 * it is out of service, else CLUSTER_DONE.
	 */
	void (*uncordon)(struct cluster *c, const struct cluster_change *change,
			 uint64_t override_us, const struct cluster_call *call);
	/* Set override-until (0: take it off). */
	void (*annotate)(struct cluster *c, const struct cluster_change *change,
			 uint64_t override_us, const struct cluster_call *call);
	void (*condition)(struct cluster *c, const struct cluster_condition *condition,
			  const struct cluster_call *call);
	/* Best effort: never wait for one. */
	void (*event)(struct cluster *c, const struct cluster_event *event);
	/*
	 * A hold until `until_us` (real time) for `by`, or none of ours with 0. Another's hold:
	 * CLUSTER_NOT_OURS. Who asked sees to it that it ends: the cluster need not know the time.
	 */
	void (*hold)(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
		     const char *by, const struct cluster_call *call);
	/* Take the start-up taint off. NULL: the cluster has none. */
	void (*verified)(struct cluster *c, const struct cluster_change *change,
			 const struct cluster_call *call);
	/*
	 * Ask what runs there to go: one round of it. CLUSTER_AGAIN, with words, as long as something
	 * is still there: it is leaving, or may not go yet. Who asks decides for how long.
	 */
	void (*evict)(struct cluster *c, const struct cluster_change *change,
		      const struct cluster_call *call);

	/* The names of the jobs that run on it, in the answer. NULL: the cluster knows of no jobs. */
	void (*jobs)(struct cluster *c, const char *node, const struct cluster_call *call);

	/*
	 * Where all ranks of the job are now ("namespace/name"), in the answer, within
	 * CLUSTER_PLACEMENT_US; no places: that is not known for sure. It may be answered before it
	 * returns. NULL: the cluster does not know of ranks.
	 */
	void (*placement)(struct cluster *c, const char *job, const struct cluster_call *call);

	/* The ledger: its version and text; CLUSTER_GONE while there is none. */
	void (*ledger_read)(struct cluster *c, const struct cluster_call *call);
	/* Compare and swap; `version` NULL makes it. The answer has the new version. */
	void (*ledger_write)(struct cluster *c, const char *version, const char *text,
			     const struct cluster_call *call);
	/*
	 * Why no node may be touched now, one line, borrowed until the loop goes on; NULL: it may.
	 * An implementation that can always be touched has none.
	 */
	const char *(*stopped)(struct cluster *c);
};

/* Begins every implementation's own struct. */
struct cluster {
	const struct cluster_ops *ops;
	const struct cluster_names *names; /* borrowed for as long as it is open */
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

/* Answer a call, if anybody waits. */
void cluster_answer(const struct cluster_call *call, const struct cluster_answer *answer);

/* {"v","by","incident","reason","evidence","at","epoch","pre","action"}; new reference. */
json_t *cluster_mark_encode(const struct cluster_mark *mark);

/* NULL for what is none of ours: a person's note under our name is another's mark. */
struct cluster_mark *cluster_mark_decode(const json_t *value);
struct cluster_mark *cluster_mark_copy(const struct cluster_mark *mark);
void cluster_mark_free(struct cluster_mark *mark);
DEFINE_CLEANUP(struct cluster_mark *, cluster_mark_free, cluster_mark_freep);

void cluster_node_release(struct cluster_node *node);

/* A copy that is yours. */
struct cluster_node cluster_node_copy(const struct cluster_node *node);

/* Are both the same but for `version`? A heartbeat of a node makes a version and no news. */
bool cluster_node_same(const struct cluster_node *a, const struct cluster_node *b);

/* The label, or NULL. Borrowed. */
const char *cluster_node_label(const struct cluster_node *node, const char *label);
