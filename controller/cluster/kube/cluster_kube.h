/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implementation of cluster_ops for Kubernetes.
 *
 * A change of a node takes two requests: the node is read, the change is decided on what was read
 * (kube_patch.h), and written on condition of that version. What is on the node counts, not what we
 * remember:
 *
 * - a node that differs in any relevant way from the one decided on is CLUSTER_CONFLICT; a
 *   heartbeat of its kubelet does not matter;
 * - if the answer to a write was lost, the node is checked for it before anything else is done or
 *   answered;
 * - the watcher never sees a state of a node older than our last write: otherwise our change would
 *   look as if somebody had undone it.
 *
 * Nothing is written while `stopped` gives a reason: another controller leads, or a person has set
 * the kill switch. Until we lead, the watcher is not told that the list is complete, so that a
 * standby knows everything but starts nothing.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_patch.h"
#include "lib/base/macro.h"

struct kube;
struct kube_job_table;
struct kube_ledger;
struct sd_event;

/* All borrowed while it is open. */
struct cluster_kube_options {
	struct sd_event *loop; /* NULL: cluster_kube_tick() drives the watch, too */
	struct kube *kube;
	struct kube_ledger *ledger;
	const char *selector;		   /* label selector of our nodes, or NULL: all */
	const struct kube_job_table *jobs; /* of the site; NULL: built-in ones */
	struct kube_taint taint;	   /* set in addition to the cordon; none without a key */
	uint64_t young_us;		   /* new nodes are left alone for this long; 0: not */
	uint64_t (*mono_us)(void), (*real_us)(void); /* lib/base/clock.h */
	bool (*leads)(void *context);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

enum {
	KUBE_OPS_MAX = 8192,   /* pending changes; beyond that callers have to retry */
	KUBE_OPS_AT_ONCE = 32, /* requests in flight */
};

struct cluster *cluster_kube_new(const struct cluster_kube_options *options);

/* Call it once a second. */
void cluster_kube_tick(struct cluster *c);
