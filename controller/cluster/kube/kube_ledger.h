/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger (controller/cluster/ledger.h) as an annotation of the Lease "assay-budget" in our
 * namespace, changed by compare and swap of its resourceVersion. It is a Lease because for those
 * the server refuses a PUT without a version. Other annotations and labels of the Lease are
 * preserved.
 *
 * If the answer to a write is lost, the Lease is checked for it: each write has an ID in a second
 * annotation, to tell ours from a twin's with the same text. DONE and CONFLICT are certain; AGAIN
 * means "not as far as can be seen": retry with the same version.
 *
 * The kill switch is an annotation of the same Lease; any value but "" and "false" sets it:
 *
 *         kubectl -n assay annotate lease assay-budget PREFIX/stop="why"
 *         kubectl -n assay annotate lease assay-budget PREFIX/stop-
 *
 * It is read every two seconds, and with every read and write of the ledger. If it cannot be read
 * for ten seconds, that stops writes, too.
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

/* All borrowed while it is open. `fence` NULL: no leader election. */
int kube_ledger_open(struct sd_event *loop, struct kube *kube, const struct kube_fence *fence,
		     struct kube_ledger **ret_ledger, struct err *err);

/* Answers pending calls with CLUSTER_AGAIN. */
void kube_ledger_close(struct kube_ledger *ledger);
DEFINE_CLEANUP(struct kube_ledger *, kube_ledger_close, kube_ledger_closep);

/* As in cluster_ops. */
void kube_ledger_read(struct kube_ledger *ledger, const struct cluster_call *call);
void kube_ledger_write(struct kube_ledger *ledger, const char *version, const char *text,
		       const struct cluster_call *call);

/* Why no node may be written now, one line; NULL: they may. Borrowed until control returns to the
 * loop. */
const char *kube_ledger_stopped(const struct kube_ledger *ledger);
