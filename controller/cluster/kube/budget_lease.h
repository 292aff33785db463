/* SPDX-License-Identifier: Apache-2.0 */
/* The Lease that carries the ledger, as read and as sent. Pure. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct cluster_names;
struct err;

struct budget_lease {
	char *version;		 /* NULL: it does not exist */
	char *text;		 /* the ledger; NULL: none yet */
	char *writer;		 /* ID of the last write, or NULL */
	char *stop;		 /* message of the kill switch; NULL: not set */
	json_t *metadata, *spec; /* returned unchanged in a PUT */
};

void budget_lease_release(struct budget_lease *lease);

/* Returns -EINVAL for an invalid object. */
int budget_lease_read(const json_t *object, const struct cluster_names *names,
		      struct budget_lease *ret, struct err *err);

/*
 * The object to send: `lease` with another ledger or, with version NULL, a new one. New reference.
 */
json_t *budget_lease_write(const struct budget_lease *lease, const struct cluster_names *names,
			   const char *namespace, const char *text, const char *writer);
