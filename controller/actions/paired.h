/* SPDX-License-Identifier: Apache-2.0 */
/* Turns results of tests with other hosts into findings. */
#pragma once

struct actor_env;
struct actor_paired;
struct err;

/* actor_paired() */
int paired_note(const struct actor_env *env, const struct actor_paired *paired, struct err *err);
