/* SPDX-License-Identifier: Apache-2.0 */
/* One round of a drain: which pods are asked to go, what each answer means, and what is still there. */
#pragma once

#include <stdbool.h>

struct kube_drains;
struct kube_round;

/* Ask the pods of the round to go; ends it. */
void kube_evict(struct kube_round *round);

/* Forget what pods were told to wait for, of nodes that nobody drains any more, or of all. */
void kube_evict_forget(struct kube_drains *drains, bool all);
