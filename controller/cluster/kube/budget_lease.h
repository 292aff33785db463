/* SPDX-License-Identifier: Apache-2.0 */
/* The Lease that carries the ledger, as the server has it and as it is sent. Pure. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct cluster_names;
struct err;

struct budget_lease {
	char *version;		 /* NULL: there is none */
	char *text;		 /* of the ledger; NULL: it has none yet */
	char *writer;		 /* the mark of who wrote it last, or NULL */
	char *stop;		 /* the kill switch's words; NULL: it is not thrown */
	json_t *metadata, *spec; /* what a PUT gives back */
};

void budget_lease_release(struct budget_lease *lease);

/* -EINVAL for what is no object of the server. */
int budget_lease_read(const json_t *object, const struct cluster_names *names,
		      struct budget_lease *ret, struct err *err);

/*
 * The object to send: `lease` with another ledger, or with version NULL a new one. New
 * reference.
 */
json_t *budget_lease_write(const struct budget_lease *lease, const struct cluster_names *names,
			   const char *namespace, const char *text, const char *writer);
