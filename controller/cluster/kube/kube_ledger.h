/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger (controller/cluster/ledger.h) as an annotation of the Lease "assay-budget" in our
 * namespace, changed by compare and swap of its resourceVersion; a Lease, because the
 * server takes no PUT of one that names no version. Other annotations and labels of the Lease stay.
 *
 * A write whose answer was lost is looked for: each has a mark of its own in a second
 * annotation, so that ours is told from a twin's of the same text. DONE and CONFLICT are sure;
 * AGAIN is "not as far as anybody can see": ask again with the same version.
 *
 * The kill switch is an annotation of the same Lease, thrown by any value but "" and "false":
 *
 *	kubectl -n assay annotate lease assay-budget PREFIX/stop="why"
 *	kubectl -n assay annotate lease assay-budget PREFIX/stop-
 *
 * It is read every two seconds, and with every read and write of the ledger. What cannot be read
 * for ten seconds stops, too.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_fence;
struct kube_ledger;
struct sd_event;

#define KUBE_LEDGER_NAME "assay-budget"

/* All borrowed for as long as it is open. `fence` NULL: anybody may write. */
int kube_ledger_open(struct sd_event *loop, struct kube *kube, const struct kube_fence *fence,
		     struct kube_ledger **ret_ledger, struct err *err);

/* Who still waits is answered CLUSTER_AGAIN. */
void kube_ledger_close(struct kube_ledger *ledger);
DEFINE_CLEANUP(struct kube_ledger *, kube_ledger_close, kube_ledger_closep);

/* As cluster_ops has them. */
void kube_ledger_read(struct kube_ledger *ledger, const struct cluster_call *call);
void kube_ledger_write(struct kube_ledger *ledger, const char *version, const char *text,
		       const struct cluster_call *call);

/* Why no node may be written now, one line; NULL: it may. Borrowed until the loop goes on. */
const char *kube_ledger_stopped(const struct kube_ledger *ledger);
