/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_options.h"

struct rdma_engine *all_to_all_rdma(void)
{
	return rdma_verbs();
}
