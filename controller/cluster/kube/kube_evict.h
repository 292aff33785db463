/* SPDX-License-Identifier: Apache-2.0 */
/* One round of a drain: which pods are evicted, the meaning of the answers, and what is left. */
#pragma once

#include <stdbool.h>

struct kube_drains;
struct kube_round;

/* Evict the pods of the round, then end it. */
void kube_evict(struct kube_round *round);

/* Forget the requested waits for nodes no longer drained, or all. */
void kube_evict_forget(struct kube_drains *drains, bool all);
