/* SPDX-License-Identifier: Apache-2.0 */
/* Who is behind when an operation does not end; the model is in nccl.h. */
#pragma once

struct nccl_group;

/* Before the abort of an operation that is late: suspects and sentence of the result. */
void nccl_hang_look(struct nccl_group *g);

/* After it: what letting go tells. */
void nccl_hang_conclude(struct nccl_group *g);
