/* SPDX-License-Identifier: Apache-2.0 */
/* Address of the server and our credentials: from a kubeconfig, or from the pod that we run in. */
#pragma once

#include "lib/base/macro.h"

struct err;

/* All owned. */
struct kube_config {
	char *server;		/* "https://10.0.0.1:443", without trailing slash */
	char *server_name;	/* name in its certificate if it is not the host; or NULL */
	char *ca_file, *ca_pem; /* at most one; neither: the system's CAs */
	char *cert_file, *key_file, *cert_pem, *key_pem; /* a client certificate, or NULL */
	char *token_file, *token;			 /* at most one */
	char *namespace;				 /* our own; default "assay" */
	char *prefix;  /* for our names on nodes and Leases; NULL: CLUSTER_PREFIX */
	bool insecure; /* do not verify the certificate: only from a kubeconfig */
};

/*
 * From `kubeconfig`, or with NULL from the pod we run in (KUBERNETES_SERVICE_HOST and the service
 * account's files). Returns -EINVAL with "FILE: users[0].user.exec: what to do instead".
 */
int kube_config_load(const char *kubeconfig, struct kube_config *ret, struct err *err);
void kube_config_release(struct kube_config *config);

/*
 * For a pod with `host` and `port` in its environment (NULL: not in a pod), and its service
 * account's files in `dir`.
 */
int kube_config_of_pod(const char *host, const char *port, const char *dir, struct kube_config *ret,
		       struct err *err);
