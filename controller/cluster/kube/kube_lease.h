/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election: the controller that holds the Lease "assay-controller" in our namespace acts
 * (lease_state.h has the rules). Fail-stop: a leader that could not renew it for ten seconds stops
 * writing, and the program exits with status 1, to be restarted.
 *
 *         kube_fence_open(&(struct kube_fence_options){ loop, kube, gained, lost, self }, &fence,
 * &err); if (!kube_fence_holds(fence))         before every write; the write itself has 5 s:
 * refuse; 10 + 5 <= 15, when another may take over
 *
 * Two environment variables for tests, logged prominently (secure_getenv(3)): with
 * ASSAY_TEST_NO_ELECTION=1 it leads without asking, and ASSAY_TEST_LEASE_SECONDS=N (1 to 15) sets
 * the duration of the Lease, and the other times in proportion.
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

/* All borrowed while it is open. */
struct kube_fence_options {
	struct sd_event *loop;
	struct kube *kube;
	/* From the loop: we are the leader. `epoch`: how often the Lease has changed hands. */
	void (*gained)(void *context, uint64_t epoch);
	/* Called once: nothing may be written any more; the loop then ends with status 1. */
	void (*lost)(void *context, const char *why);
	void *context;
};

/* Start to contend for it. */
int kube_fence_open(const struct kube_fence_options *options, struct kube_fence **ret_fence,
		    struct err *err);

/* Leaves the Lease as it is. */
void kube_fence_close(struct kube_fence *fence);
DEFINE_CLEANUP(struct kube_fence *, kube_fence_close, kube_fence_closep);

/*
 * After the last write and the end of the loop: release the Lease, so that the next leader need not
 * wait for it to expire. Blocks for at most two seconds; failure is harmless.
 */
void kube_fence_yield(struct kube_fence *fence, const struct kube_config *config);

/* May we write now? */
bool kube_fence_holds(const struct kube_fence *fence);

/* Lease transitions when we gained it; 0 before. */
uint64_t kube_fence_epoch(const struct kube_fence *fence);

/* Our identity in the Lease. Borrowed. */
const char *kube_fence_identity(const struct kube_fence *fence);

/* The leader, if it is another as far as is known; else NULL. Borrowed until control returns to the
 * loop. */
const char *kube_fence_other(const struct kube_fence *fence);
