/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files below actor.c work on: where to write, whom to ask, what is known. It is wiring:
 * each struct that it points to is written by the functions of its own header alone.
 *
 *	actor -> reports, decider -> action_step -> effect -> node_life -> {node_views, node_record}
 *	         (fleet -> decisions)  (phases)      (cluster)                   (leaves)
 *
 * Calls go down this list only. What comes back up comes as an event (actor_queue.h) or as what a
 * function returns.
 */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "lib/base/macro.h"

struct actions;
struct actor_queue;
struct fleet;
struct node_records;
struct node_views;
struct policy;
struct reservation;

enum actor_stage {
	STAGE_LISTING, /* the nodes are not known yet */
	STAGE_LEDGER,  /* they are; the ledger is being taken over */
	STAGE_ACTING,
	STAGE_FENCED, /* another controller has taken over: nothing is touched any more */
};

struct actor_env {
	const struct actor_options *options;
	struct store *store;
	struct cluster *cluster;
	struct fleet *fleet;
	struct node_views *views;     /* nodes as the cluster has them */
	struct node_records *records; /* what survives a restart of each */
	struct reservation *places;   /* the ledger, here and in the cluster */
	struct actions *actions;      /* those under way */
	struct actor_queue *queue;    /* answers come back through it */
	struct actor_counts *counts;  /* whoever does what is counted adds to it */
	bool *news;		      /* env_news() */
	enum actor_stage stage;
	bool blames_told; /* what jobs say of hosts is known: actor_blames_told() */
};

static inline uint64_t env_real_us(const struct actor_env *env)
{
	return env->options->real_us(env->options->context);
}

static inline uint64_t env_mono_us(const struct actor_env *env)
{
	return env->options->mono_us(env->options->context);
}

/* With the effective mode; borrowed until the loop goes on. */
static inline const struct policy *env_policy(const struct actor_env *env)
{
	return env->options->policy(env->options->context);
}

/* Something was put into the store, and waits for the next commit. */
static inline void env_commit_wanted(const struct actor_env *env)
{
	env->options->commit_wanted(env->options->context);
}

/* Nothing was put into the store; a step is wanted in so long. */
static inline void env_wake(const struct actor_env *env, uint64_t after_us)
{
	if (env->options->wake)
		env->options->wake(env->options->context, after_us);
}

/* The host may have new orders. */
static inline void env_orders_changed(const struct actor_env *env, const char *node)
{
	env->options->orders_changed(env->options->context, node);
}

/* Something is known that was not when it was last decided: decide again soon. */
static inline void env_news(const struct actor_env *env)
{
	*env->news = true;
}
