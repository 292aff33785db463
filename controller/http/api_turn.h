/* SPDX-License-Identifier: Apache-2.0 */
/* The library's turns on the loop. */
#pragma once

struct api;

/* Let the library go on, and be woken when it wants. */
void api_run(struct api *api);
