/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/stop.h"

#include <signal.h>

/* All that a signal handler can reach. */
static volatile sig_atomic_t stop_number;

static void on_signal(int number)
{
	stop_number = number;
}

void stop_init(void)
{
	const struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = (int)SA_RESETHAND,
	};

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

int stop_signal(void)
{
	return stop_number;
}

void stop_die(void)
{
	(void)signal(stop_number, SIG_DFL);
	(void)raise(stop_number);
}
