/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 1123 names, as Kubernetes accepts them. */
#pragma once

#include <stdbool.h>

enum { SUBDOMAIN_MAX = 253 }; /* bytes */

/*
 * True for one or more labels of [a-z0-9-] joined by dots, each with [a-z0-9] at both ends, at most
 * SUBDOMAIN_MAX bytes. As in the API server (IsDNS1123Subdomain of k8s.io/apimachinery), a label
 * may be longer than 63 bytes. False for NULL.
 */
bool is_subdomain(const char *text);
