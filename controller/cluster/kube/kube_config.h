/* SPDX-License-Identifier: Apache-2.0 */
/* Where the server is, and who we are: from a kubeconfig, or of the pod that we run in. */
#pragma once

#include "lib/base/macro.h"

struct err;

/* Where the server is and who we are. All owned. */
struct kube_config {
	char *server;	   /* "https://10.0.0.1:443", without a slash at the end */
	char *server_name; /* what its certificate has to say when it is not the host; or NULL */
	char *ca_file, *ca_pem;				 /* at most one; neither: the system's */
	char *cert_file, *key_file, *cert_pem, *key_pem; /* a client certificate, or NULL */
	char *token_file, *token;			 /* at most one */
	char *namespace; /* ours; "assay" when nothing says another */
	char *prefix;	 /* of our names on nodes and Leases; NULL: CLUSTER_PREFIX */
	bool insecure;	 /* the certificate is not looked at: only where a kubeconfig says so */
};

/*
 * Of `kubeconfig`, or with NULL of the pod we run in (KUBERNETES_SERVICE_HOST and the service
 * account's files). -EINVAL with "FILE: users[0].user.exec: what to do instead".
 */
int kube_config_load(const char *kubeconfig, struct kube_config *ret, struct err *err);
void kube_config_release(struct kube_config *config);

/*
 * Of the pod whose environment has `host` and `port` (NULL: it is none) and whose service account's
 * files are in `dir`.
 */
int kube_config_of_pod(const char *host, const char *port, const char *dir, struct kube_config *ret,
		       struct err *err);
