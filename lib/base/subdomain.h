/* SPDX-License-Identifier: Apache-2.0 */
/* Names of RFC 1123 as Kubernetes takes them. */
#pragma once

#include <stdbool.h>

enum { SUBDOMAIN_MAX = 253 }; /* bytes */

/*
 * One or more labels of [a-z0-9-] between dots, with [a-z0-9] at both ends of each, at most
 * SUBDOMAIN_MAX bytes. A label is not held to 63 bytes: the API server does not either
 * (IsDNS1123Subdomain of k8s.io/apimachinery). NULL is none.
 */
bool is_subdomain(const char *text);
