/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that join by themselves (store_joins.h): records of joins, and their unverified state. */
#pragma once

struct actor;

/* All borrowed. */
struct actor_joined {
	const char *node, *who,
		*reason; /* which join token, from where; or who reset it, and why */
};

/* A host has joined: record it in the open transaction, next to the actions on hosts. */
void actor_joined(struct actor *actor, const struct actor_joined *joined);

/* The token that it joined with was revoked; also in the open transaction. */
void actor_token_reset(struct actor *actor, const struct actor_joined *reset);

/*
 * A join token was created; `node` is "", `reason` begins with its number. In the open transaction.
 */
void actor_join_token_created(struct actor *actor, const struct actor_joined *created);

/* A join token was revoked. In the open transaction. */
void actor_join_token_revoked(struct actor *actor, const struct actor_joined *revoked);
