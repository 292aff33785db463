/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes as the service has it: the connection, the Lease that says who acts, the ledger,
 * and the cluster on them. A build without libcurl has acting_kube_none.c, which refuses.
 */
#pragma once

#include "controller/acting.h"
#include "lib/macro.h"

struct kube;
struct service;

extern const struct acting_cluster acting_kube;

/* The connection, or NULL: there is none. Borrowed until the service is closed. */
struct kube *acting_kube_connection(const struct service *s);
