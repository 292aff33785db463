/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries of requests, percent-encoded. */
#pragma once

struct err;

/*
 * "/api/v1/nodes/%s/status" with each %s percent-encoded, into `ret` of KUBE_PATH_MAX bytes.
 * -EINVAL for an invalid name (RFC 1123 subdomain: at most 253 of [a-z0-9.-]) or a path that is too
 * long.
 */
int kube_path(char *ret, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Percent-encode a text for a query. New memory. */
char *kube_encode(const char *text);
