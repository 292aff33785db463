/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files below actor.c work on: the store, the cluster, the known state. It only wires
 * things up: each struct it points to is written only by the functions of its own header.
 *
 *   actor -> reports, decider -> action_step -> effect -> node_life -> {node_views, node_record}
 *            (fleet -> decisions)  (phases)      (cluster)                   (leaves)
 *
 * Calls only go down this list. Results come back up as events (actor_queue.h) or return values.
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
	STAGE_LEDGER,  /* nodes are known; taking over the ledger */
	STAGE_ACTING,
	STAGE_FENCED, /* another controller has taken over: nothing is touched any more */
};

struct actor_env {
	const struct actor_options *options;
	struct store *store;
	struct cluster *cluster;
	struct fleet *fleet;
	struct node_views *views;     /* nodes as the cluster has them */
	struct node_records *records; /* per host: what survives a restart */
	struct reservation *places;   /* the ledger, here and at the cluster */
	struct actions *actions;      /* in progress */
	struct actor_queue *queue;    /* answers arrive here */
	struct actor_counts *counts;  /* each file increments its own counters */
	bool *news;		      /* env_news() */
	enum actor_stage stage;
	bool blames_told; /* what jobs blame hosts for is known: actor_blames_told() */
};

static inline uint64_t env_real_us(const struct actor_env *env)
{
	return env->options->real_us(env->options->context);
}

static inline uint64_t env_mono_us(const struct actor_env *env)
{
	return env->options->mono_us(env->options->context);
}

/* With the effective mode. Borrowed until control returns to the loop. */
static inline const struct policy *env_policy(const struct actor_env *env)
{
	return env->options->policy(env->options->context);
}

/* Something was written to the store and waits for the next commit. */
static inline void env_commit_wanted(const struct actor_env *env)
{
	env->options->commit_wanted(env->options->context);
}

/* Nothing was written to the store; run a step after `after_us`. */
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

/* Something new is known since the last decision: decide again soon. */
static inline void env_news(const struct actor_env *env)
{
	*env->news = true;
}
