/* SPDX-License-Identifier: Apache-2.0 */
/* What tests with other hosts say of a host becomes a finding like any other. */
#pragma once

struct actor_env;
struct actor_paired;
struct err;

/* actor_paired() */
int paired_note(const struct actor_env *env, const struct actor_paired *paired, struct err *err);
