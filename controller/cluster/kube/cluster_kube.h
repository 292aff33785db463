/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster that is Kubernetes: cluster_ops on its nodes.
 *
 * A change of a node is two requests: the node is read, the change is decided on what was read
 * (kube_patch.h), and written bound to that version. What is on the node
 * counts, not what we remember:
 *
 *  - a node that differs from the one that was decided on in anything that matters is
 *    CLUSTER_CONFLICT; a heartbeat of its kubelet in between is none;
 *  - a writing whose answer was lost is looked for on the node before anything
 *    else is said or done;
 *  - whoever watches never hears of a node an older state than that of our last writing: what we
 *    did is not taken for something that somebody undid.
 *
 * Nothing is written while `stopped` says why not: another controller leads, or a person
 * has thrown the switch. Until we lead, whoever watches is not told that the list is whole, so
 * that a standby knows all and begins nothing.
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

/* All borrowed for as long as it is open. */
struct cluster_kube_options {
	struct sd_event *loop; /* NULL: cluster_kube_tick() drives the watch too */
	struct kube *kube;
	struct kube_ledger *ledger;
	const char *selector; /* labels of the nodes that are ours to look at, or NULL: all */
	const struct kube_job_table *jobs; /* of the site; NULL: what is built in */
	struct kube_taint taint;	   /* besides the cordon; without a key none */
	uint64_t young_us; /* a node is left alone for so long after it joined; 0: not */
	uint64_t (*mono_us)(void), (*real_us)(void); /* lib/base/clock.h */
	bool (*leads)(void *context);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

enum {
	KUBE_OPS_MAX = 8192,   /* changes that wait; who gets no place asks again */
	KUBE_OPS_AT_ONCE = 32, /* under way */
};

struct cluster *cluster_kube_new(const struct cluster_kube_options *options);

/* Time has passed. Once a second. */
void cluster_kube_tick(struct cluster *c);
