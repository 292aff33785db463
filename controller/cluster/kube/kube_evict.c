/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_evict.h"

#include <stdlib.h>

#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_round.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define ROUND_US (2 * USEC_PER_SEC) /* something is leaving: check again */
#define KEPT_US USEC_PER_MIN	    /* something a person has to change */
#define HELD_US (5 * USEC_PER_SEC)  /* as kubectl; doubled up to HELD_MOST_US */
#define HELD_MOST_US (60 * USEC_PER_SEC)
#define FORGET_US (10 * USEC_PER_MIN) /* after nodes are no longer drained */

/* --- memory --- */

static void kept_free(struct kube_round_kept *kept)
{
	while (kept->n > 0)
		free(kept->held[--kept->n].uid);
	free(kept->held);
	free(kept->node);
	free(kept);
}

void kube_evict_forget(struct kube_drains *drains, bool all)
{
	uint64_t now_us = drains->options.mono_us();
	struct kube_round_kept **at = &drains->kept;

	while (*at) {
		struct kube_round_kept *kept = *at;

		if (!all && now_us - kept->used_us < FORGET_US) {
			at = &kept->next;
			continue;
		}
		*at = kept->next;
		kept_free(kept);
	}
}

static struct kube_round_kept *kept_of(struct kube_round *round)
{
	struct kube_drains *drains = round->drains;
	struct kube_round_kept *kept;

	for (kept = drains->kept; kept; kept = kept->next) {
		if (streq(kept->node, round->node))
			break;
	}
	if (!kept) {
		kept = xcalloc(1, sizeof(*kept));
		kept->node = xstrdup(round->node);
		kept->next = drains->kept;
		drains->kept = kept;
	}
	kept->used_us = drains->options.mono_us();
	return kept;
}

static struct kube_round_held *held_of(struct kube_round *round, const char *uid, bool make)
{
	struct kube_round_kept *kept = kept_of(round);
	size_t i;

	for (i = 0; i < kept->n; i++) {
		if (streq(kept->held[i].uid, uid))
			return &kept->held[i];
	}
	if (!make)
		return NULL;
	if (kept->n == KUBE_PODS_MAX)
		free(kept->held[--kept->n].uid);
	kept->held = xrealloc(kept->held, kept->n + 1, sizeof(*kept->held));
	kept->held[kept->n] = (struct kube_round_held){ .uid = xstrdup(uid) };
	return &kept->held[kept->n++];
}

/* --- meaning of answers --- */

static const char *message_of(const struct kube_answer *answer)
{
	const char *message = json_string_value(json_object_get(answer->body, "message"));

	return message ? message : answer->words;
}

static bool says(const struct kube_answer *answer, const char *part)
{
	return strstr(message_of(answer), part) != NULL;
}

/* The first that may not go is named. */
static void remember_words(struct kube_round *round, const struct kube_pod *pod, const char *why)
{
	char name[KUBE_POD_NAME_SIZE];

	if (!round->words)
		round->words = xasprintf("%s: %.300s", kube_pod_name(pod, name), why);
}

/* Not before `base_us`, doubled each time; or what the server asks for if that is longer. */
static struct kube_round_held *hold_back(struct kube_round *round, const struct kube_pod *pod,
					 uint64_t base_us, const struct kube_answer *answer)
{
	struct kube_round_held *held = held_of(round, pod->uid, true);
	const unsigned doubled = MIN(held->failures, 4U);
	uint64_t wait_us = MIN(base_us << doubled, HELD_MOST_US);

	held->failures++;
	held->again_us = round->drains->options.mono_us() + MAX(wait_us, answer->retry_us);
	remember_words(round, pod, message_of(answer));
	return held;
}

static int wait_for(struct kube_round *round, const struct kube_pod *pod,
		    const struct kube_answer *answer)
{
	char name[KUBE_POD_NAME_SIZE];

	if (!says(answer, "more than one PodDisruptionBudget")) {
		(void)hold_back(round, pod, HELD_US, answer);
	} else if (hold_back(round, pod, HELD_MOST_US, answer)->failures == 1) {
		log_error(
			"a pod can never be evicted: it matches more than one PodDisruptionBudget "
			"pod=%s node=%s",
			kube_pod_name(pod, name), round->node);
	}
	return KUBE_TOLD_WAITS;
}

/* The pod we named is gone; its name belongs to another one now. */
static bool is_another(const struct kube_answer *answer)
{
	return answer->status == 409 && says(answer, "recondition");
}

/* The API is unknown, not the pod: another server answers now, or a proxy. */
static bool is_unknown(const struct kube_answer *answer)
{
	return answer->status == 404 || (answer->status == 400 && says(answer, "is registered"));
}

static int told_of(struct kube_round *round, const struct kube_pod *pod,
		   const struct kube_answer *answer)
{
	if (answer->result == CLUSTER_DONE)
		return KUBE_TOLD_GOES;
	if (answer->result == CLUSTER_GONE || is_another(answer))
		return KUBE_TOLD_GONE;
	if (is_unknown(answer)) {
		round->lapsed = true;
		remember_words(round, pod, message_of(answer));
		return KUBE_TOLD_WAITS;
	}
	if (answer->status == 403 && !says(answer, "is being terminated")) {
		round->refused = true;
		remember_words(round, pod, answer->words);
		return KUBE_TOLD_WAITS;
	}
	return wait_for(round, pod, answer);
}

/* --- the round --- */

static void go_on(struct kube_round *round);

static void on_evicted(void *context, const struct kube_answer *answer)
{
	struct kube_round_pod *asked = context;
	struct kube_round *round = asked->round;
	const struct kube_pod *pod = &round->pods.items[asked->index];

	asked->request = NULL;
	asked->told = told_of(round, pod, answer);
	round->out--;
	go_on(round);
}

static int send_eviction(struct kube_round *round, struct kube_round_pod *asked, struct err *err)
{
	const struct kube_pod *pod = &round->pods.items[asked->index];
	CLEANUP(json_freep)
	json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}}", "apiVersion",
				 round->drains->version, "kind", "Eviction", "metadata", "name",
				 pod->name, "namespace", pod->namespace, "deleteOptions",
				 "preconditions", "uid", pod->uid);
	char path[KUBE_PATH_MAX];
	int r = kube_path(path, err, "/api/v1/namespaces/%s/pods/%s/eviction", pod->namespace,
			  pod->name);

	if (r < 0)
		return r;
	return kube_send(round->drains->options.kube,
			 &(struct kube_call){ .method = "POST",
					      .path = path,
					      .content = KUBE_JSON,
					      .body = body,
					      .dry_run = round->dry_run,
					      .timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC,
					      .done = on_evicted,
					      .context = asked },
			 &asked->request, err);
}

static bool is_due(struct kube_round *round, const struct kube_pod *pod)
{
	const struct kube_round_held *held = held_of(round, pod->uid, false);

	return !held || held->again_us <= round->drains->options.mono_us();
}

static void evict_one(struct kube_round *round, struct kube_round_pod *asked)
{
	const struct kube_pod *pod = &round->pods.items[asked->index];
	struct err err = ERR_INIT;

	if (asked->fate != KUBE_GOES)
		return;
	if (!is_due(round, pod)) {
		asked->told = KUBE_TOLD_WAITS;
		remember_words(round, pod, "it may not be evicted yet");
		return;
	}
	if (send_eviction(round, asked, &err) < 0) {
		asked->told = KUBE_TOLD_WAITS;
		remember_words(round, pod, err.msg);
		return;
	}
	round->out++;
}

/* Number of pods still there, and in `ret_wait` of those that may not go. */
static size_t count_left(const struct kube_round *round, size_t *ret_wait)
{
	size_t left = 0, i;

	*ret_wait = 0;
	for (i = 0; i < round->pods.n; i++) {
		const struct kube_round_pod *a = &round->asked[i];

		*ret_wait += a->told == KUBE_TOLD_WAITS;
		left += a->fate == KUBE_LEAVING || a->told == KUBE_TOLD_GOES ||
			a->told == KUBE_TOLD_WAITS ||
			(a->fate == KUBE_GOES && a->told == KUBE_TOLD_NOT);
	}
	return left;
}

/* When the first of those that wait may be retried. */
static uint64_t wait_of(struct kube_round *round)
{
	uint64_t now_us = round->drains->options.mono_us(), wait_us = HELD_MOST_US;
	const struct kube_round_kept *kept = kept_of(round);
	size_t i;

	for (i = 0; i < kept->n; i++) {
		uint64_t again_us = kept->held[i].again_us;

		/* Otherwise it is of a pod that is gone. */
		if (again_us > now_us)
			wait_us = MIN(wait_us, again_us - now_us);
	}
	return wait_us;
}

static void conclude(struct kube_round *round)
{
	size_t wait, left = count_left(round, &wait);
	CLEANUP(freep) char *words = NULL;
	const char *first = round->words ? round->words : "";

	if (round->lapsed)
		free(TAKE(round->drains->version));
	if (left == 0 || (round->dry_run && wait == 0)) {
		kube_round_fail(round, CLUSTER_DONE, "", 0);
		return;
	}
	words = wait ? xasprintf("%zu of its pods are terminating, %zu may not be evicted yet: %s",
				 left - wait, wait, first)
		     : xasprintf("%zu of its pods are terminating", left);
	kube_round_fail(round, round->refused ? CLUSTER_REFUSED : CLUSTER_AGAIN, words,
			left > wait || round->lapsed ? ROUND_US : wait_of(round));
}

/* The round ends early. */
static void hold_rest(struct kube_round *round, const char *why)
{
	for (; round->at < round->pods.n; round->at++) {
		struct kube_round_pod *asked = &round->asked[round->at];

		if (asked->fate != KUBE_GOES)
			continue;
		asked->told = KUBE_TOLD_WAITS;
		remember_words(round, &round->pods.items[round->at],
			       why ? why : "it was not evicted");
	}
}

static void go_on(struct kube_round *round)
{
	const struct kube_drains_options *o = &round->drains->options;

	while (round->out < KUBE_EVICTIONS_AT_ONCE && round->at < round->pods.n) {
		const char *stopped = o->stopped(o->context);

		if (round->refused || round->lapsed || stopped) {
			hold_rest(round, stopped);
			break;
		}
		evict_one(round, &round->asked[round->at++]);
	}
	if (round->out == 0 && round->at == round->pods.n)
		conclude(round);
}

/* The blocking pod is named with what would unblock it; others are counted. */
static void keep_all(struct kube_round *round, size_t n)
{
	CLEANUP(freep)
	char *words =
		xasprintf("%zu of its pods may not be evicted, so none is: %s", n, round->words);

	kube_round_fail(round, CLUSTER_AGAIN, words, KEPT_US);
}

void kube_evict(struct kube_round *round)
{
	size_t keeps = 0, i;

	round->asked = xcalloc(MAX(round->pods.n, (size_t)1), sizeof(*round->asked));
	for (i = 0; i < round->pods.n; i++) {
		const struct kube_pod *pod = &round->pods.items[i];
		const char *why;

		round->asked[i] = (struct kube_round_pod){ .round = round, .index = i };
		round->asked[i].fate = kube_pod_fate(pod, &round->leave, &why);
		if (round->asked[i].fate != KUBE_KEEPS)
			continue;
		keeps++;
		remember_words(round, pod, why);
	}
	if (keeps > 0)
		keep_all(round, keeps);
	else
		go_on(round);
}
