/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roles of cluster users here: agents act for the node that their pod is on, others have roles.
 * Part of the settings:
 *
 *         kubernetes:
 *           agents: [assay:assay-agent]
 *           identities:
 *             - {user: "system:serviceaccount:ops:robot", role: operate, name: robot}
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct jval;

enum { AUTHZ_MAX = 256, AUTHZ_USER_MAX = 512 };

/* Default validity of a positive answer by the API server. */
#define AUTHZ_FOR_US (5 * USEC_PER_MIN)

struct trusted {
	char *user; /* "system:serviceaccount:NAMESPACE:NAME", or any user name */
	int role;   /* enum role; ROLE_NODE: an agent */
	char *name; /* for the records, or NULL */
};

struct authz {
	struct trusted *users;
	size_t n;
	bool agents_told; /* else the default agent applies */
	uint64_t for_us;  /* validity of a positive answer */
};

/* "agents" and "identities": for J_CUSTOM, the member is the struct authz. */
int authz_decode_agents(const struct jval *v, void *member, struct err *err);
int authz_decode_identities(const struct jval *v, void *member, struct err *err);

/* Add the default agent: service account "assay-agent" in `namespace`. */
void authz_usual(struct authz *authz, const char *namespace);

struct authz authz_copy(const struct authz *authz);
bool authz_same(const struct authz *a, const struct authz *b);
void authz_release(struct authz *authz);

/* NULL: unknown user. */
const struct trusted *authz_find(const struct authz *authz, const char *user);

/* Split "system:serviceaccount:NAMESPACE:NAME", into new memory; false: not of that form. */
bool authz_account(const char *user, char **ret_namespace, char **ret_name);
