/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes as the service has it: the connection, the Lease that says who acts, the ledger,
 * and the cluster on them. A build without libcurl has remediation_kube_none.c, which refuses.
 */
#pragma once

#include "controller/actions/remediation.h"

extern const struct remediation_cluster remediation_kube;
