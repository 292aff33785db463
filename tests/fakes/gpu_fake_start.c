/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of initialization and teardown: see "What things take" in gpu_fake.h. Part of it is
 * spent under the driver's one lock, the rest in parallel with other threads.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/gpu_fake.h"

enum { SERIAL_PERCENT = 25, PERCENT = 100, MS_NS = 1000000, SEC_NS = 1000000000 };

static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;

/* Sleeps to the end despite signals; also advances the simulated clock. */
void fake_wait_until(double end_ns)
{
	double left_ns = end_ns - fake_now_ns();

	while (isinf(left_ns))
		(void)pause();
	while (left_ns > 0) {
		struct timespec time = { .tv_sec = (time_t)(left_ns / SEC_NS),
					 .tv_nsec = (long)fmod(left_ns, SEC_NS) };

		(void)ppoll(NULL, 0, &time, NULL);
		left_ns = end_ns - fake_now_ns();
	}
}

static void pass(double ms)
{
	fake_wait_until(fake_now_ns() + ms * MS_NS);
}

void fake_wait_for_driver(void)
{
	(void)pthread_mutex_lock(&driver);
	(void)pthread_mutex_unlock(&driver);
}

void fake_take(const char *name)
{
	const double ms = (double)fake_setting(name, 0);
	const double held = ms * (double)fake_setting("serial", SERIAL_PERCENT) / PERCENT;

	if (!(ms > 0))
		return;
	(void)pthread_mutex_lock(&driver);
	pass(held);
	(void)pthread_mutex_unlock(&driver);
	pass(ms - held);
}

/* One thread at a time starts a GPU; others wait for it. */
static struct start {
	pthread_mutex_t lock;
	bool touched, launched, is_slow_over;
} starts[FAKE_GPUS_MAX] = { [0 ... FAKE_GPUS_MAX - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static void pass_slow_start(struct start *s, unsigned gpu)
{
	if (fake_is("slowstart", gpu) && !s->is_slow_over)
		pass((double)fake_setting("startms", 0));
	s->is_slow_over = true;
}

void fake_take_touch(unsigned gpu)
{
	const bool persistent = fake_setting("persistence", !fake_setting("firsttouch", 0)) != 0;
	struct start *s = &starts[gpu];

	(void)pthread_mutex_lock(&s->lock);
	if (!s->touched && !persistent && !fake_has_begun())
		fake_take("firsttouch");
	if (!s->touched && !fake_has_begun())
		pass_slow_start(s, gpu);
	s->touched = true;
	(void)pthread_mutex_unlock(&s->lock);
}

void fake_take_context(unsigned gpu)
{
	struct start *s = &starts[gpu];

	(void)pthread_mutex_lock(&s->lock);
	fake_take("ctxms");
	pass_slow_start(s, gpu);
	(void)pthread_mutex_unlock(&s->lock);
}

void fake_take_launch(unsigned gpu)
{
	struct start *s = &starts[gpu];

	(void)pthread_mutex_lock(&s->lock);
	if (!s->launched)
		fake_take("firstms");
	s->launched = true;
	(void)pthread_mutex_unlock(&s->lock);
}
