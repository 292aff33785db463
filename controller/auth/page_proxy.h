/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proxy that has authenticated people (OIDC, such as oauth2-proxy) and passes their identity in
 * two header fields. Part of the settings:
 *
 *         page:
 *           role: operate
 *           proxy:
 *             certificate: assay-page          # CN of its client certificate
 *             user: X-Forwarded-Email
 *             groups: X-Forwarded-Groups       # comma-separated list
 *             roles: {sre: operate, everyone: read}
 *
 * The fields are accepted only from the peer with that certificate, never by address: from others
 * they are refused, and so is a repeated field. Hosts cannot have certificates then, as whoever
 * signs theirs could sign that one.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum { PAGE_PROXY_ROLES_MAX = 64, PAGE_PROXY_GROUP_MAX = 256 };

struct page_proxy_role {
	char *group;
	int role; /* enum role */
};

struct page_proxy {
	char *certificate; /* NULL: no proxy */
	char *user, *groups;
	struct page_proxy_role *roles;
	size_t n;
};

/* For J_CUSTOM, the member is the struct page_proxy. */
int page_proxy_decode(const struct jval *v, void *member, struct err *err);

void page_proxy_release(struct page_proxy *proxy);
bool page_proxy_same(const struct page_proxy *a, const struct page_proxy *b);

/* The highest role of a list "a,b, c" of groups (NULL: none); ROLE_ANYBODY if none has one. */
int page_proxy_role(const struct page_proxy *proxy, const char *groups);
