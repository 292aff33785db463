/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches for nodes. Pure: from the node as it was read, computes the body that changes exactly
 * what is ours, or why nothing may be changed.
 *
 * Every patch of the node itself is a JSON merge patch with the version it was decided on: the
 * server refuses it if anybody has changed the node since, so that even the list of taints, which
 * is replaced as a whole, is safe. The condition is a strategic merge patch of the status, which
 * merges by type.
 *
 * Whether a cordon is ours is known from our mark, and from who set it last according to the
 * server: if a person lifts our cordon and sets it again, it is theirs.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

enum {
	KUBE_MESSAGE_MAX = 1000, /* bytes of the sentence in a condition or event */
	KUBE_TIME_SIZE = 32,	 /* "2026-11-21T01:30:00Z" and a NUL, for any year */
};

/* A taint in addition to the cordon; none without a key. Borrowed. */
struct kube_taint {
	const char *key, *value, *effect;
};

/* Result of planning a change of a node. */
struct kube_plan {
	enum cluster_result result; /* CLUSTER_DONE: apply `patch`; else why not */
	const char *words;	    /* of a refusal; static, or from the names */
	json_t *patch;		    /* owned; NULL with CLUSTER_DONE: nothing to change */
};

/* A node, as received and as read. Borrowed. */
struct kube_subject {
	const json_t *raw;
	const struct cluster_node *node;
	const struct kube_taint *taint;
	const struct cluster_names *names;
};

/*
 * Out of service with our mark; sets `mark->pre` according to the node. A note under our name that
 * is not our mark is not overwritten.
 */
struct kube_plan kube_plan_cordon(const struct kube_subject *s, const struct cluster_mark *mark);

/* Remove our mark and taint, and the cordon if it is ours and not to be kept; `override_us` 0:
 * none. */
struct kube_plan kube_plan_uncordon(const struct kube_subject *s, uint64_t override_us,
				    bool keep_cordon);

/* Only override-until; 0 removes it. */
struct kube_plan kube_plan_override(const struct kube_subject *s, uint64_t override_us);

/* The taint that keeps it free for a test until then, for `by`; 0 removes ours. */
struct kube_plan kube_plan_hold(const struct kube_subject *s, uint64_t until_us, const char *by);

/* Remove the start-up taint, whatever its effect. */
struct kube_plan kube_plan_verified(const struct kube_subject *s);

/* Given our mark, may we lift spec.unschedulable? */
bool kube_cordon_is_ours(const struct kube_subject *s);

/* Our condition on the node as read; NULL: none. Borrowed. */
const json_t *kube_condition_of(const json_t *raw, const struct cluster_names *names);

/* The body for /status. `since_us`: since when the status is so. New reference. */
json_t *kube_patch_condition(const struct cluster_names *names,
			     const struct cluster_condition *condition, uint64_t now_us,
			     uint64_t since_us);

/* "True", "False", "Unknown" for 1, 0, -1. */
const char *kube_status_text(int healthy);

/* RFC 3339 in whole seconds, as metav1.Time has it. */
void kube_time(uint64_t real_us, char ret_text[static KUBE_TIME_SIZE]);

/* At most `max` bytes of `text`, cut at a character, on one line. New memory. */
char *kube_clip(const char *text, size_t max);
