/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacements for libcuda.so.1, libcublasLt.so.N and libnvidia-ml.so.1: the
 * subset in probes/accel/cuda_abi.h, on host memory. Products are exact (up to
 * FAKE_EXACT_MAX multiplications) and computed when they are read back; their
 * duration is a model. With clock_fake.so preloaded, that time is simulated.
 *
 * The environment variable ASSAY_FAKE_GPUS has the settings, words NAME=NUMBER
 * separated by spaces; GPUs are numbered from 0:
 *
 *	count=4       GPUs (default 2)
 *	driver=12040  the CUDA version that the driver knows
 *	init=803      result of cuInit()
 *	mflops=N      rate of a GPU in MFLOP/s (default 250)
 *	copy=N        bytes that a GPU copies per microsecond (default 20000)
 *	copyns=N      additional nanoseconds per copy (default 0)
 *	copynsat=I    only on this GPU
 *	hbm=N         copies within a GPU are N times as fast (default 1; 26 for an H100 with
 *	              2.6 TB/s read and written compared with 50 GB/s of PCIe)
 *	slow=I        this GPU is 10 % slower, at a normal clock
 *	hot=I         this GPU is 10 % slower, by a lower clock (HW thermal)
 *	thirsty=I     the same (SW power cap)
 *	braked=I      the same (HW power brake)
 *	locked=I      the same (application clocks)
 *	crowded=I     during a collective this GPU loses 26 % instead of 8 %
 *	other=I       this GPU is another model, whose bf16 results differ in a bit
 *	clock=1       clock_fake.so prints the simulated run time of the process to stderr
 *	kernels=N     kernels of a product (default 1), which cuBLASLt reports as a split-K
 *	streamk=1     three kernels, and cuBLASLt reports no split-K, only a workspace
 *	tells=0       cuBLASLt reports only the number of an algorithm
 *	delay=US      the host sleeps this long in each launch
 *	launchns=N    each launch takes N ns of CPU time, times a lognormal spread of
 *	              launchsd=N percent; launchtail=N of 1,000 take five times as long
 *	launchparts=N from GPU 0 to 7 launches get slower, by N % in total
 *	launchfar=N   N % slower from a core of the other node: GPUs and cores alternate
 *	              between the nodes
 *	boost=N       a GPU is N % faster than mflops= for the first boostms=N (50) of work at
 *	              full power after it was idle for as long; only products of 1 MFLOP or more
 *	              draw full power, and it cools during smaller ones and copies
 *	clockerror=N  NVML's clock is an average over 200 ms with an error of up to N %, constant
 *	              per GPU in a run (seed=)
 *	wrong=I       this GPU has one wrong element in each product read back
 *	once=I        the same, only in the first of them
 *	odd=I         the same, only in bf16 results, which cannot be computed beforehand
 *	odd1=I        the same, only in the third of those
 *	loose=1       bf16 results of all GPUs differ from one to the next
 *	hang=I        work on this GPU never completes, after 40 products
 *	lost=I        this GPU falls off the bus after 40 products
 *	ecc=I         this GPU gets an uncorrectable error after 40 products
 *	broken=I error=N      this GPU gets driver error N after 40 products
 *	full=I        this GPU has no free memory
 *	piece=MIB     largest contiguous free piece of its 64 GiB (default 1024)
 *	slowcopy=I    copies from and to this GPU take a third longer
 *	slowin=I slowout=I    only those from the host to it, or from it to the host
 *	slowpair=IJ   only those from GPU I to J; one digit each
 *	nodmabuf=1    the driver cannot export memory as a dmabuf
 *	alone=I       this GPU cannot access the memory of others directly
 *	hangcopy=I    work on this GPU never completes, after 40 copies
 *	losecopy=I    this GPU falls off the bus after 40 copies
 *	ecccopy=I     this GPU gets an uncorrectable error after 40 copies
 *	rot=I         byte 4096 of this GPU's memory has a flipped bit when it is read or copied
 *	block=I       an allocation on this GPU never returns; with at=: that call instead
 *	taken=I       this GPU is in exclusive mode and used by another process
 *	busy=I pid=N  process N computes on this GPU
 *	many=N        with busy: N additional processes
 *	comes=I pid=N process N computes on this GPU once it has made 40 copies
 *	client=I      process N + 1 is an MPS client on this GPU
 *	oldmps=1      NVML cannot list those
 *	wide=1        the driver is 535.54.03, whose lists of processes have one more member
 *	foreign=1     NVML counts processes outside of the container
 *	nvml=N        result of nvmlInit_v2()
 *	stuck=1       NVML hangs, from the first call about a GPU on
 *	at=NAME       stuck, held, gone and block apply only to this call, whether it is
 *	              about a GPU or not; gone also to all later calls
 *	spread=N      GPUs vary by up to N % in all their rates
 *	seed=N        seed of the noise of their rates, which is 0.4 %
 *	mixed=1       every other GPU is another model
 *
 * Other results of NVML; counters start at 0 in each process, so that a second
 * run sees them grow:
 *
 *	lag=MS        duration of each call about a GPU
 *	lagat=I lagms=MS   duration of the call of at= about this GPU; only the first
 *	              lagtimes=N times (default: each)
 *	held=I        calls about this GPU hang
 *	gone=I        this GPU is lost, in all calls except for its address
 *	dead=I        NVML returns no handle of this GPU: lost
 *	absent=I      NVML does not know this GPU at all
 *	reset=I       this GPU must be reset
 *	recovery=I action=N   the driver asks for action N
 *	sbe=I dbe=I replay=I pciefatal=I linkcrc=I linkrecovery=I   amount=N of these
 *	dbeever=I     amount=N uncorrectable errors before the driver was loaded
 *	closed=1      the last program with the GPU open has closed it since: without persistence
 *	              mode its volatile ECC counters are 0 again
 *	thermal=I swthermal=I powercap=I   amount=N milliseconds of these
 *	hotaisle=1    the memory of all GPUs is near its limit: amount=N milliseconds of SW thermal
 *	warm=I        the memory of this GPU is, now
 *	rows=I        amount=N rows replaced for uncorrectable errors
 *	remappending=I remapfailed=I
 *	norows=I      amount=N of its banks have no spare row left
 *	sram=I        its SRAM exceeded the threshold of errors
 *	repair=I      a repair of its memory waits for a reset
 *	overheated=I  it is 3 C too hot
 *	refused=I     no permission for /dev/nvidia of this GPU
 *	memoryhot=I   its memory is at 95 C instead of 66; allhot=1: that of all GPUs
 *	memorylimit=C memory limit of all, reported by the driver (default: not reported)
 *	narrow=I slowbus=I    8 lanes; generation 1 under load
 *	idle=1        no GPU works; the PCIe links of cards (direct, unbridged, links=0) are slow
 *	              then, but not those of a baseboard with switches
 *	asleep=1      the same, although the last sample period still had work
 *	capped=I      its power limit is 500 W, not 700
 *	eccoff=I mig=I
 *	cc=1          confidential computing: host memory cannot be registered, GPU memory
 *	              cannot be exported
 *	vgpu=I        this GPU is a part of a shared one
 *	c2c=1         NVLink-C2C connects GPUs and CPUs (GH200, GB200), by c2clinks=N
 *	              links each (default 10)
 *	c2cdown=I     link=N of them (default 3; all=1: each) is inactive at this GPU
 *	c2cslow=I     the same: runs at half its speed
 *	links=N       NVLinks per GPU (default 18)
 *	linkdown=I    link=N of this GPU (default 3) is down; also the link of link counters
 *	unbridged=1   no NVLink is up
 *	slowlink=I    link=N of this GPU (default 3; all=1: each) runs at half its speed
 *	dozing=1      all links sleep, and report half their speed
 *	oddvbios=I    it has a different VBIOS
 *	vbios=N       last two digits of the VBIOS of all (default 74)
 *	badinforom=I  its InfoROM is corrupt
 *	computemode=N of all (NVML_COMPUTEMODE_...; default 0)
 *	gsp=0         the driver does not use firmware on the GPU
 *	bar1=MIB      of all (default 131072)
 *	direct=1      links go from GPU to GPU, not to switches
 *	fabric=I fabricstate=N   it is not part of the fabric
 *	unfabric=I    joining the fabric failed with an error
 *	degraded=I    its fabric has lost bandwidth
 *	swapped=IJ    the boards of GPUs I and J are exchanged; one digit each, I may be 0
 *	event=I xid=N this Xid occurs during a run
 *	old=1         the driver does not know the newer fields; the test removes the calls
 *	              it lacks from a copy of the library
 *
 * Heat over minutes, by the clock of the programs, which may be scaled (gpu_fake_heat.c):
 *
 *	heat=1        GPUs heat up under load, and throttle at 87 C, or memory at 95 C
 *	inlet=N       temperature of the cooling air, C (default 28)
 *	tau=N         time constant of heat sinks in seconds; all other time constants scale
 *	              with it (default 60)
 *	fan=I         a failed fan: the heat sink of this GPU gets 1.84 times as warm, so it
 *	              is throttled after 95 s of load
 *	paste=I       bad thermal paste under the chip of this GPU
 *	hotmemory=I   bad thermal contact of this GPU's memory: it reaches 95 C
 *
 * NCCL, whose data is exact and whose operations run at the rate of the links
 * of the slowest GPU (FAKE_LINK_BYTES_PER_US per direction); "after 40" counts
 * operations:
 *
 *	nccl=N        the version of NCCL (default 22809)
 *	linkdown=I    as above, and its share of the rate is lost
 *	thin=I        the links of this GPU are 10 % slower
 *	path=IJ       transfers from GPU I to J are half as fast; I and J one digit each
 *	damage=IJ     one element that GPU I sends to J arrives wrong
 *	damage1=IJ    the same, only in the first operation
 *	late=I        this GPU starts no operation after 40, and the others wait
 *	wrongsum=1    with several hosts: this one's sums have a wrong element
 *	leaves=N      ... its process exits at its operation N
 *	frozen=I      this GPU starts the next operation after 40, does not complete it, and
 *	              ignores an abort
 *	behind=I      this GPU does not complete the next operation after 40, but the others
 *	              do; none completes the one after it; an abort frees all
 *	mute=1        the next operation after 40 completes nowhere; an abort frees all
 *	abortstuck=I  the abort of this GPU's communicator does not return
 *	notready=I    the communicators do not become ready, because this GPU's does not
 *	keep=N        only the first N MiB of an allocation are real memory: copies beyond
 *	              take their time and move nothing
 *	lazy=1        a block that looks as if it had been sent already takes its time and
 *	              is not copied again
 *	async=I       the communicator of this GPU fails after 40: a CUDA error, and
 *	              a remote one in the others
 *
 * What things take, in milliseconds (default 0):
 *
 *	initms=N      the first cuInit() of a process
 *	ctxms=N       creating the context of a GPU
 *	ltms=N        cublasLtCreate()
 *	firstms=N     the first product on a GPU, which loads its module
 *	pinms=N       pinning host memory, per 32 MiB or part of it
 *	peerms=N      enabling peer access of a GPU to another
 *	closems=N     destroying the context of a GPU, by a call or by exit()
 *	firsttouch=N  NVML's first handle of a GPU, which initializes it. Not in persistence
 *	              mode, nor after cuInit(), which has initialized it
 *	persistence=0 persistence mode is off (default on; off with firsttouch=)
 *	slowstart=I startms=N   this GPU takes longer to start, wherever it is first
 *	              needed: in NVML's first handle, or else in creating its context
 *	serial=N      percent of each of these spent under the driver's one lock, so that
 *	              threads wait for each other (default 25); not of slowstart
 *
 * Tests use the times reported for HGX hosts, not measured here: 1,500, 400, 150, 100 and 250 for
 * initms to closems, 3,000 for firsttouch. The fraction that threads can do in parallel is not
 * published. The kernel module starts GPUs opened with O_NONBLOCK, as the libraries do, in parallel
 * (nv_open_q of nvidia.ko, unless NVreg_EnableNonblockingOpen=0); most of the time is waiting for
 * the firmware of that GPU, and the lock of its RM is taken to change shared state. A quarter is a
 * guess, and a test that depends on it tries more and less. A GPU that is slow to start waits for
 * its own firmware, without the lock. The kernel's clean-up after _exit() is not included.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/accel/cuda_abi.h"
#include "probes/accel/nvml_abi.h"

enum {
	FAKE_GPUS_MAX = 16,
	FAKE_NO_GPU = -1,
	FAKE_SM_COUNT = 8,
	FAKE_CLOCK_MHZ = 1500,
	FAKE_HEALTHY = 40, /* products or copies before hang, lost and ecc begin */
	FAKE_EXACT_MAX = 256 * 256 * 256,
	FAKE_QUEUE = 1024, /* kernels, copies and events queued per stream; the next one blocks */
	FAKE_HEALTHY_OPERATIONS = 40, /* of NCCL, before late, frozen and async begin */
	FAKE_LINK_BYTES_PER_US = 500,
};

/* Declares all loaded functions, so that a fake with another type does not compile. */
#define FAKE_DECLARE(needed, result, member, symbol, parameters) result symbol parameters;
CUDA_DRIVER_FUNCTIONS(FAKE_DECLARE)
CUDA_LT_FUNCTIONS(FAKE_DECLARE)
CUDA_NVML_FUNCTIONS(FAKE_DECLARE)
NVML_HEALTH_FUNCTIONS(FAKE_DECLARE)

/* D = op(A) B, column-major as in cuBLASLt. */
struct fake_matrix {
	unsigned type; /* LT_R_* */
	uint64_t rows, columns;
	int64_t leading;
};

struct fake_product {
	struct fake_matrix a, b, d;
	bool a_transposed;
	const void *a_at, *b_at;
	void *d_at;
};

/* Returns the number after NAME= in ASSAY_FAKE_GPUS, or `otherwise`. */
long fake_setting(const char *name, long otherwise);

/* Does at=NAME name this call? `_may`: also true without at=. */
bool fake_named(const char *call);
bool fake_may(const char *call);

/* Returns the relative speed of this GPU by spread=N: between 1 and 1 - N %. */
double fake_share(unsigned gpu);

/* Puts a product on a stream. */
unsigned fake_put_product(struct CUstream_st *stream, const struct fake_product *p);

/* Computes it. */
void fake_multiply(const struct fake_product *p);

/* Called first in any call: returns the error of the current context's GPU; `_as`: of that GPU. */
unsigned fake_enter_from(unsigned *ret_gpu, const char *call);
unsigned fake_enter_as_from(unsigned gpu, const char *call);
#define fake_enter(ret_gpu) fake_enter_from(ret_gpu, __func__)
#define fake_enter_as(gpu) fake_enter_as_from(gpu, __func__)

/* Never returns if block= and at= say so; `gpu` is FAKE_NO_GPU for a call about no GPU. */
void fake_block(const char *call, long gpu);

/* The thermal state of a GPU now; see heat=1. */
struct fake_heat {
	double clock; /* fraction of the maximum */
	double power_w, gpu_c, memory_c;
	bool slowed; /* throttled by heat */
};
struct fake_heat fake_heat_of(unsigned gpu);

/* The GPU computes from now until then. */
void fake_heat_busy(unsigned gpu, double until_ns);

/* Does the setting name this GPU? */
bool fake_is(const char *fault, unsigned gpu);

/* Spends the host time of a launch on this GPU. */
void fake_launch(unsigned gpu);
void fake_launch_cost(unsigned gpu);

/* Returns NVML's reading of a clock at this fraction of the maximum; see clockerror=N. */
double fake_clock_read(unsigned gpu, double part);

/* Advances the clock of clock_fake.so, if that is loaded. */
void clock_fake_pass(int64_t ns) __attribute__((weak));

/* Returns the duration of a product that begins then; `sustained_ns` is that at the sustained clock. */
double fake_product_ns(unsigned gpu, double begin_ns, double flop, double sustained_ns);

/* Puts a copy on a stream that takes as long as one of `bytes`. */
unsigned fake_put_copy(struct CUstream_st *stream, double bytes);

/* Adds work that takes `ns` to the end of the stream. */
unsigned fake_stream_busy(struct CUstream_st *stream, double ns);

/* Its GPU; when it is free at the earliest (INFINITY: never); sets when it will be. */
unsigned fake_stream_gpu(const struct CUstream_st *stream);
double fake_stream_begin_ns(const struct CUstream_st *stream);
void fake_stream_set_end_ns(struct CUstream_st *stream, double ns);

/* The stream hangs once its current work is done. */
void fake_stream_hang_next(struct CUstream_st *stream);

/* The monotonic clock; waits until this time (INFINITY: for ever). */
double fake_now_ns(void);
void fake_wait_until(double end_ns);

/* Returns the number of kernels of a product. */
unsigned fake_kernels(void);

/* Spends the milliseconds of this setting; see serial=N. */
void fake_take(const char *name);

/* Spend the time of NVML's first handle of a GPU, of its context, and of its first product. */
void fake_take_touch(unsigned gpu);
void fake_take_context(unsigned gpu);
void fake_take_launch(unsigned gpu);

/* Waits for the driver's lock. */
void fake_wait_for_driver(void);

/* Has cuInit() started all GPUs in this process? */
bool fake_has_begun(void);

/* Is this range of an allocation real memory? See keep=N. */
bool fake_memory_keeps(const void *at, size_t size);

/* Registers a product that will be computed when its memory is read. */
unsigned fake_memory_expect(const struct fake_product *p);

extern _Atomic int fake_alive; /* streams, events, allocations and contexts */

bool fake_gpu_is_lost(unsigned gpu);
bool fake_gpu_is_held_back(unsigned gpu); /* by a lower clock */
bool fake_gpu_is_boosted(unsigned gpu);	  /* by boost=N, now */
bool fake_gpu_has_context(unsigned gpu);
bool fake_gpu_has_worn(const char *fault, unsigned gpu); /* that fault has begun, after 40 copies */
