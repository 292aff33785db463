/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which ranks are behind if an operation does not end; nccl.h describes how. */
#pragma once

struct nccl_group;

/* Before the abort of a late operation: set the suspects and the reason of the result. */
void nccl_hang_look(struct nccl_group *g);

/* After the abort: conclude from which GPUs were released. */
void nccl_hang_conclude(struct nccl_group *g);
