/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written to a node, as patches. Pure: from the node as it was read comes
 * the body that changes exactly what is ours on it, or why nothing may be changed.
 *
 * Every patch of the node itself is a JSON merge patch that carries the version it
 * was decided on: the server refuses it when anybody changed the node since, so that
 * even the list of taints, which is replaced as a whole, can be given in full. The condition is a
 * strategic merge patch of the status, which merges by type.
 *
 * Whose a cordon is, is known from our mark, and from who the server says set it last: a
 * person who lifts our cordon and sets it again is the one to lift it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

enum {
	KUBE_MESSAGE_MAX = 1000, /* bytes of a condition's or event's sentence */
	KUBE_TIME_SIZE = 32,	 /* "2026-11-21T01:30:00Z" and its NUL, of any year */
};

/* A taint besides the cordon; without a key there is none. Borrowed. */
struct kube_taint {
	const char *key, *value, *effect;
};

/* What a change comes to on a node as it is. */
struct kube_plan {
	enum cluster_result result; /* CLUSTER_DONE: `patch` does it; else why not */
	const char *words;	    /* of a refusal; static, or of the names */
	json_t *patch;		    /* owned; NULL with CLUSTER_DONE: it is so already */
};

/* A node, as the server has it and as we read it. Borrowed. */
struct kube_subject {
	const json_t *raw;
	const struct cluster_node *node;
	const struct kube_taint *taint;
	const struct cluster_names *names;
};

/*
 * Out of service, with our mark; `mark->pre` is set by what is found. Nothing is written over a
 * note under our name that is no mark of ours.
 */
struct kube_plan kube_plan_cordon(const struct kube_subject *s, const struct cluster_mark *mark);

/* Our mark and taint off, the cordon too when it is ours and not to be kept; `override_us` 0: none. */
struct kube_plan kube_plan_uncordon(const struct kube_subject *s, uint64_t override_us,
				    bool keep_cordon);

/* override-until alone; 0 takes it off. */
struct kube_plan kube_plan_override(const struct kube_subject *s, uint64_t override_us);

/* The taint that keeps it free for a test until then, for `by`; 0 takes ours off. */
struct kube_plan kube_plan_hold(const struct kube_subject *s, uint64_t until_us, const char *by);

/* The start-up taint off, whatever its effect. */
struct kube_plan kube_plan_verified(const struct kube_subject *s);

/* Is spec.unschedulable ours to lift, given our mark on it? */
bool kube_cordon_is_ours(const struct kube_subject *s);

/* Our condition on the node as it was read; NULL: there is none. Borrowed. */
const json_t *kube_condition_of(const json_t *raw, const struct cluster_names *names);

/* The body for /status. `since_us`: the status is so since then. New reference. */
json_t *kube_patch_condition(const struct cluster_names *names,
			     const struct cluster_condition *condition, uint64_t now_us,
			     uint64_t since_us);

/* "True", "False", "Unknown" of 1, 0, -1. */
const char *kube_status_text(int healthy);

/* RFC 3339 in whole seconds, as metav1.Time has it. */
void kube_time(uint64_t real_us, char ret_text[static KUBE_TIME_SIZE]);

/* At most `max` bytes of `text`, whole characters, one line. New memory. */
char *kube_clip(const char *text, size_t max);
