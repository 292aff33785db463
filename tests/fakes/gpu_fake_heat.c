/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thermal model of the fake GPUs: air cools a heat sink, on which chip and memory sit. The sink
 * follows the load slowly (tau=N), the chip at once, the memory within seconds; the temperature
 * drop across each is proportional to the power. At its limit a GPU lowers its clock until it
 * stays there, and a warm GPU needs a little more power for the same clock.
 *
 * The constants are chosen, not measured: they give 74 C (chip) and 79 C (memory) in air of 28 C at
 * full power, which operators call usual for air-cooled HGX H100 (65 to 80, memory 75 to 85). The
 * limits are those of NVIDIA's product briefs (87 C software slowdown, memory 95 C).
 */
#include <math.h>
#include <pthread.h>

#include "tests/fakes/gpu_fake.h"

enum {
	INLET_C = 28,
	TAU_S = 60,
	GPU_LIMIT_C = 87,
	MEMORY_LIMIT_C = 95,
	COLD_C = 40, /* above it a clock costs more power */
	STEP_NS = 100000000,
	STEPS_MAX = 6000, /* after a longer gap it is at equilibrium */
};

static const double idle_w = 110, full_w = 690, sec_ns = 1e9;
/* Degrees per watt: sink above air, chip and memory above sink. */
static const double sink_c = 0.045, chip_c = 0.02, memory_c = 0.028;
static const double chip_tau_s = 2, memory_tau_s = 15;
/* The faults multiply these; `spread` is the variation among healthy GPUs. */
static const double of_fan = 1.84, of_paste = 2.2, of_contact = 1.9, spread = 0.02;
/* Exponent: power falls faster than the clock because the voltage falls too. */
static const double power_of_clock = 2.5;
/* The clock falls by this fraction per second and degree above the limit, and recovers slower. */
static const double clock_down = 0.01, clock_up = 0.004, clock_least = 0.5, warm_cost = 0.0005;

static struct heat {
	double at_ns; /* of the last update; 0: none */
	double busy_until_ns;
	double sink_c, gpu_c, memory_c;
	double clock, cap; /* cap: the thermal limit of the clock */
	double power_w;
} heats[FAKE_GPUS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns a factor between 1 - spread and 1 + spread, constant per GPU. */
static double place_of(unsigned gpu)
{
	const unsigned mixed = (gpu * 7 + (unsigned)fake_setting("seed", 0) * 13) % 11;

	return 1 + spread * ((double)mixed / 5 - 1);
}

static void begin(struct heat *h)
{
	const double inlet = (double)fake_setting("inlet", INLET_C);

	*h = (struct heat){ .at_ns = fake_now_ns(), .clock = 1, .cap = 1, .power_w = idle_w };
	h->sink_c = inlet + idle_w * sink_c;
	h->gpu_c = h->sink_c + idle_w * chip_c;
	h->memory_c = h->sink_c + idle_w * memory_c;
}

static void approach(double *value, double goal, double seconds, double tau_s)
{
	*value += (goal - *value) * (1 - exp(-seconds / tau_s));
}

static void step(struct heat *h, unsigned gpu, double real_s, bool busy)
{
	/* tau= scales all time constants, not only that of the sink. */
	const double seconds = real_s * TAU_S / (double)fake_setting("tau", TAU_S);
	const double inlet = (double)fake_setting("inlet", INLET_C);
	const double sink = sink_c * (fake_is("fan", gpu) ? of_fan : place_of(gpu));
	const double chip = chip_c * (fake_is("paste", gpu) ? of_paste : 1);
	const double memory = memory_c * (fake_is("hotmemory", gpu) ? of_contact : 1);
	double over;

	h->power_w = busy ? idle_w + (full_w - idle_w) * pow(h->cap, power_of_clock) : idle_w;
	approach(&h->sink_c, inlet + h->power_w * sink, seconds, TAU_S);
	approach(&h->gpu_c, h->sink_c + h->power_w * chip, seconds, chip_tau_s);
	approach(&h->memory_c, h->sink_c + h->power_w * memory, seconds, memory_tau_s);
	over = fmax(h->gpu_c - GPU_LIMIT_C, h->memory_c - MEMORY_LIMIT_C);
	if (over > 0)
		h->cap = fmax(h->cap - clock_down * seconds * fmin(over, 3), clock_least);
	else if (over < -1)
		h->cap = fmin(h->cap + clock_up * seconds, 1);
	h->clock = h->cap * (1 - warm_cost * fmax(h->gpu_c - COLD_C, 0));
}

static void go_on(struct heat *h, unsigned gpu)
{
	const double now = fake_now_ns();
	unsigned n;

	for (n = 0; h->at_ns < now && n < STEPS_MAX; n++) {
		const double ns = fmin(now - h->at_ns, STEP_NS);

		step(h, gpu, ns / sec_ns, h->busy_until_ns > h->at_ns);
		h->at_ns += ns;
	}
	h->at_ns = now;
}

struct fake_heat fake_heat_of(unsigned gpu)
{
	struct heat *h = &heats[gpu];
	struct fake_heat ret = { 1, 650, fake_is("hot", gpu) ? 88 : 61, 66, false };

	if (!fake_setting("heat", 0))
		return ret;
	(void)pthread_mutex_lock(&lock);
	if (h->at_ns <= 0)
		begin(h);
	go_on(h, gpu);
	ret = (struct fake_heat){ h->clock, h->power_w, h->gpu_c, h->memory_c, h->cap < 0.995 };
	(void)pthread_mutex_unlock(&lock);
	return ret;
}

void fake_heat_busy(unsigned gpu, double until_ns)
{
	if (!fake_setting("heat", 0))
		return;
	(void)pthread_mutex_lock(&lock);
	heats[gpu].busy_until_ns = fmax(heats[gpu].busy_until_ns, until_ns);
	(void)pthread_mutex_unlock(&lock);
}
