/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `assayd --check`: checks beyond the configuration itself. Asks the controller whether it
 * accepts reports from this host under its name and token. That changes nothing: the request is
 * for orders with a wait of "none", which hands none out (204). Older controllers refuse it
 * (400), but only after they have authorized this host.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct err;

/* Log a line each if others can read the token: on this host, or on the network. */
void assayd_warn(const struct assayd_config *config);

#define ASSAYD_CHECK_TIMEOUT_US UINT64_C(10000000) /* for the whole check */

/*
 * For --check: print on stderr which settings come from the environment. In a shell set up for
 * assayctl, the token and the controller may be a person's.
 */
void assayd_check_environment(const struct assayd_config *config);

/*
 * 0: the reports are accepted, or that could not be determined; `ret_said` (never NULL) is the
 * sentence for the user. -EACCES: our identity or name is refused. -EKEYREJECTED, -EINVAL: our
 * files or the controller's certificate are bad.
 */
int assayd_check(const struct assayd_config *config, struct err *ret_said, struct err *err);
