/* SPDX-License-Identifier: Apache-2.0 */
#include <search.h>
#include <stdlib.h>

#include "controller/auth/kube_identity_inside.h"
#include "lib/base/xalloc.h"

static const size_t most[] = {
	[BEARER_ASKING] = KUBE_IDENTITY_UNDER_WAY_MAX,
	[BEARER_KNOWN] = KUBE_IDENTITY_KNOWN_MAX,
	[BEARER_REFUSED] = KUBE_IDENTITY_REFUSED_MAX,
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_SIZE);
}

void bearer_free(struct bearer *b)
{
	struct kube_identity *k = b->owner;

	(void)tdelete(b, &k->tree, compare);
	TAILQ_REMOVE(&k->lists[b->state], b, bearers);
	k->n[b->state]--;
	free(b->pod_uid);
	free(b->pod_node);
	free(b->node);
	free(b->name);
	free(b->words);
	free(b);
}

struct bearer *bearer_find(struct kube_identity *k, const unsigned char sum[static SHA256_SIZE])
{
	struct bearer **found = tfind(sum, &k->tree, compare);

	return found ? *found : NULL;
}

struct bearer *bearer_new(struct kube_identity *k, const unsigned char sum[static SHA256_SIZE])
{
	struct bearer *b = xcalloc(1, sizeof(*b));

	memcpy(b->sum, sum, sizeof(b->sum));
	b->owner = k;
	STAILQ_INIT(&b->waiters);
	if (!tsearch(b, &k->tree, compare))
		abort(); /* out of memory */
	TAILQ_INSERT_HEAD(&k->lists[BEARER_ASKING], b, bearers);
	k->n[BEARER_ASKING]++;
	return b;
}

void bearer_move(struct bearer *b, enum bearer_state state)
{
	struct kube_identity *k = b->owner;

	TAILQ_REMOVE(&k->lists[b->state], b, bearers);
	k->n[b->state]--;
	if (k->n[state] >= most[state])
		bearer_free(TAILQ_LAST(&k->lists[state], bearer_list));
	b->state = state;
	TAILQ_INSERT_HEAD(&k->lists[state], b, bearers);
	k->n[state]++;
}

void bearer_wait(struct bearer *b, const struct vouch_question *q)
{
	struct waiter *w = xcalloc(1, sizeof(*w));

	*w = (struct waiter){ .done = q->done, .context = q->context };
	STAILQ_INSERT_TAIL(&b->waiters, w, waiters);
	b->owner->n_waiting++;
}

void bearer_give(struct bearer *b, const struct vouch_answer *answer)
{
	struct kube_identity *k = b->owner;
	struct waiter *w;

	while ((w = STAILQ_FIRST(&b->waiters))) {
		STAILQ_REMOVE_HEAD(&b->waiters, waiters);
		k->n_waiting--;
		w->done(w->context, answer);
		free(w);
	}
}

struct vouch_answer bearer_answer(const struct bearer *b)
{
	return (struct vouch_answer){ .status = b->status,
				      .words = b->words ? b->words : "",
				      .who = b->who };
}
