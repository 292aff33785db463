/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several controllers acts: the one that holds the Lease "assay-controller" in our
 * namespace (lease_state.h has the rules). Fail-stop: who could not renew it for ten
 * seconds writes nothing any more, and its program ends with status 1, to be started again.
 *
 *	kube_fence_open(&(struct kube_fence_options){ loop, kube, gained, lost, self }, &fence, &err);
 *	if (!kube_fence_holds(fence))         before every write; the write itself has 5 s:
 *		refuse;                       10 + 5 <= 15, when another may take over
 *
 * Two switches for tests, said loudly in the log, of the environment (secure_getenv(3)):
 * ASSAY_TEST_NO_ELECTION=1 holds without asking anybody, ASSAY_TEST_LEASE_SECONDS=N (1 to 15) has
 * the Lease last so long, and the other times in proportion.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_config;
struct kube_fence;
struct sd_event;

#define KUBE_LEASE_NAME "assay-controller"

/* All borrowed for as long as it is open. */
struct kube_fence_options {
	struct sd_event *loop;
	struct kube *kube;
	/* From the loop. We act from now on; `epoch`: how often the Lease has changed hands. */
	void (*gained)(void *context, uint64_t epoch);
	/* Nothing may be written any more; the loop ends with status 1 after it. Once. */
	void (*lost)(void *context, const char *why);
	void *context;
};

/* Begin to ask for it. */
int kube_fence_open(const struct kube_fence_options *options, struct kube_fence **ret_fence,
		    struct err *err);

/* Leaves the Lease as it is. */
void kube_fence_close(struct kube_fence *fence);
DEFINE_CLEANUP(struct kube_fence *, kube_fence_close, kube_fence_closep);

/*
 * After the last write, when the loop has ended: give the Lease back, so that the next one need
 * not wait for its end. Blocks for at most two seconds; nothing is lost when it cannot.
 */
void kube_fence_yield(struct kube_fence *fence, const struct kube_config *config);

/* May something be written now? */
bool kube_fence_holds(const struct kube_fence *fence);

/* How often the Lease has changed hands, as of when we gained it; 0 before. */
uint64_t kube_fence_epoch(const struct kube_fence *fence);

/* Who we are in the Lease. Borrowed. */
const char *kube_fence_identity(const struct kube_fence *fence);

/* Another that leads, as far as is known; NULL: nobody, or we. Borrowed until the loop goes on. */
const char *kube_fence_other(const struct kube_fence *fence);
