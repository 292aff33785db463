/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes for the service: the connection, the Lease for leader election, the ledger, and the
 * cluster on top of them. A build without libcurl has remediation_kube_none.c, which refuses.
 */
#pragma once

#include "controller/actions/remediation.h"

extern const struct remediation_cluster remediation_kube;
