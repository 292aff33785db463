/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank prints about a rail: only what it saw itself, and which link rank 0 found slow. */
#pragma once

struct reduce_message;
struct reduce_session;

/* Emit the results of the rail; errors of emit(). */
int reduce_emit(struct reduce_session *s, const struct reduce_message *result);

/* Emit the rails not emitted yet as not measured, because of `why`. */
int reduce_emit_rest(struct reduce_session *s, int state, const char *why);
