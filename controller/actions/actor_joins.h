/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that join by themselves (store_joins.h): the record of it, and that they are unverified. */
#pragma once

struct actor;

/* All borrowed. */
struct actor_joined {
	const char *node, *who,
		*reason; /* whose join token, from where; or who reset it, and why */
};

/* It has joined, in the open transaction: recorded beside what was done to hosts. */
void actor_joined(struct actor *actor, const struct actor_joined *joined);

/* The token by which it joined is void; likewise. */
void actor_token_reset(struct actor *actor, const struct actor_joined *reset);

/* A join token was created; `node` is "", `reason` begins with its number; likewise. */
void actor_join_token_created(struct actor *actor, const struct actor_joined *created);

/* It was revoked; likewise. */
void actor_join_token_revoked(struct actor *actor, const struct actor_joined *revoked);
