/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared objects in the place of libcuda.so.1, libcublasLt.so.N and
 * libnvidia-ml.so.1: the subset of probes/accel/cuda_abi.h, on memory of the
 * host. Products are exact (up to FAKE_EXACT_MAX multiplications) and computed
 * when they are read back; how long they take is a model. With
 * clock_fake.so before them that time passes without anybody waiting.
 *
 * The environment variable ASSAY_FAKE_GPUS says what there is, as words
 * NAME=NUMBER with spaces between; GPUs count from 0:
 *
 *	count=4       GPUs (default 2)
 *	driver=12040  the CUDA version that the driver knows
 *	init=803      what cuInit() answers
 *	mflops=N      what a GPU does, million FLOP a second (default 250)
 *	copy=N        bytes that a GPU copies in a microsecond (default 20000)
 *	copyns=N      what a copy takes besides, nanoseconds (default 0)
 *	copynsat=I    of this GPU alone
 *	hbm=N         those from its memory to its own N times as fast (default 1; of an H100,
 *	              2.6 TB/s read and written beside 50 GB/s of PCIe, it is 26)
 *	slow=I        this GPU does 10 % less, at a normal clock
 *	hot=I         this GPU does 10 % less, by a lower clock (HW thermal)
 *	thirsty=I     the same (SW power cap)
 *	braked=I      the same (HW power brake)
 *	locked=I      the same (application clocks)
 *	crowded=I     beside a collective this GPU loses 26 % and not 8 %
 *	other=I       this GPU is of another model, whose bf16 results differ in a bit
 *	clock=1       clock_fake.so tells on stderr how long the process was there
 *	kernels=N     a product is so many kernels (default 1), which cuBLASLt tells as a split-K
 *	streamk=1     it is three and cuBLASLt tells of no split-K, only of a workspace
 *	tells=0       cuBLASLt tells of an algorithm only its number
 *	delay=US      each launch takes the host so long, asleep
 *	launchns=N    each launch takes a core of the host so many nanoseconds, times a lognormal
 *	              spread of launchsd=N percent; launchtail=N of 1,000 take five times that
 *	launchparts=N from GPU 0 to 7 launches take N % more
 *	launchfar=N   N % more from a core of the other node: GPUs and cores are on nodes in turn
 *	boost=N       a GPU is N % faster than mflops= for the first boostms=N (50) that it works at
 *	              full power after it was idle for so long: products of 1 MFLOP or more do that,
 *	              smaller ones and copies do not, and it cools beside them
 *	clockerror=N  NVML's clock is an average over 200 ms, and wrong by up to N %, for each GPU
 *	              by as much in all of a run (seed=)
 *	wrong=I       this GPU has one wrong element in each product read back
 *	once=I        the same in the first of them only
 *	odd=I         the same in bf16 results only, which nobody can know beforehand
 *	odd1=I        the same in the third of those only
 *	loose=1       no bf16 result of any GPU is as the one before
 *	hang=I        what is put on this GPU never ends, after 40 products
 *	lost=I        this GPU falls off the bus after 40 products
 *	ecc=I         this GPU meets an uncorrectable error after 40 products
 *	broken=I error=N      this GPU meets error N of the driver after 40 products
 *	full=I        this GPU has no memory left
 *	piece=MIB     no more of its 64 GiB is free in one piece (default 1024)
 *	slowcopy=I    copies from and to this GPU take a third longer
 *	slowin=I slowout=I    only those into it, or out of it, to or from the host
 *	slowpair=IJ   only those from GPU I to J; one digit each
 *	nodmabuf=1    the driver exports no memory as a dmabuf
 *	alone=I       this GPU reaches no other's memory directly
 *	hangcopy=I    after 40 copies what is put on this GPU never ends
 *	losecopy=I    this GPU falls off the bus after 40 copies
 *	ecccopy=I     this GPU meets an uncorrectable error after 40 copies
 *	rot=I         what is read, or copied on, from the memory of this GPU has a flipped bit in
 *	              byte 4096 of it
 *	block=I       asked for memory this GPU never answers; at=: asked for that instead
 *	taken=I       this GPU is in exclusive mode and another has it
 *	busy=I pid=N  process N computes on this GPU
 *	many=N        of busy: N more besides
 *	comes=I pid=N process N computes on this GPU once that has made 40 copies
 *	client=I      process N + 1 is a client of MPS on this GPU
 *	oldmps=1      NVML cannot tell of those
 *	wide=1        the driver is 535.54.03, whose lists of processes have a member more
 *	foreign=1     NVML counts processes from outside of a container
 *	nvml=N        what nvmlInit_v2() answers
 *	stuck=1       NVML does not come back, from the first look at a GPU on
 *	at=NAME       of stuck, held, gone and block only in this call, whether it is
 *	              about a GPU or not; of gone, in all after it too
 *	spread=N      GPUs differ by up to N % in all their rates
 *	seed=N        of the noise of their rates, which is 0.4 %
 *	mixed=1       every other GPU is of another model
 *
 * What NVML tells besides, and counts from 0 in each process, so that a second
 * run sees it grow:
 *
 *	lag=MS        each question about a GPU takes the driver so long
 *	lagat=I lagms=MS   the call of at= about this GPU takes so long; only the first lagtimes=N
 *	              times (default: each)
 *	held=I        it does not come back from a look at this GPU
 *	gone=I        this GPU is lost, and says so to any question but its address
 *	dead=I        NVML gives no handle of this GPU: lost
 *	absent=I      NVML does not know this GPU at all
 *	reset=I       this GPU must be reset
 *	recovery=I action=N   the driver asks for action N
 *	sbe=I dbe=I replay=I pciefatal=I linkcrc=I linkrecovery=I   amount=N of these
 *	dbeever=I     amount=N uncorrectable errors before the driver was loaded
 *	closed=1      the last program that had a GPU open has left it since: without persistence
 *	              mode its ECC counters of "since the driver was loaded" are 0 again
 *	thermal=I swthermal=I powercap=I   amount=N milliseconds of these
 *	hotaisle=1    the memory of all is near its limit: amount=N milliseconds of SW thermal
 *	warm=I        that of this GPU is, now
 *	rows=I        amount=N rows replaced for uncorrectable errors
 *	remappending=I remapfailed=I
 *	norows=I      amount=N of its banks have no row left to replace one with
 *	sram=I        its on-chip memory passed the threshold of errors
 *	repair=I      a repair of its memory waits for a reset
 *	overheated=I  it is 3 C too hot
 *	refused=I     no permission for /dev/nvidia of this GPU
 *	memoryhot=I   its memory is at 95 C, and not 66; allhot=1: that of all
 *	memorylimit=C of all, as the driver names it (default: it names none)
 *	narrow=I slowbus=I    8 lanes; generation 1 under load
 *	idle=1        no GPU works; the buses of cards (direct, unbridged, links=0) are slow then,
 *	              but those of a baseboard with switches are not
 *	asleep=1      likewise, though the last sample period still had work
 *	capped=I      its power limit is 500 W, not 700
 *	eccoff=I mig=I
 *	cc=1          confidential computing: memory of the host is not registered, none of a
 *	              GPU exported
 *	vgpu=I        this GPU is a part of one that others share
 *	c2c=1         NVLink-C2C joins GPUs and processors (GH200, GB200), by c2clinks=N
 *	              links each (default 10)
 *	c2cdown=I     link=N of them (default 3), with all=1 each, is not active at this GPU
 *	c2cslow=I     likewise: runs at half its speed
 *	links=N       NVLinks a GPU has (default 18)
 *	linkdown=I    link=N of this GPU (default 3) is down; also for what is counted
 *	unbridged=1   no NVLink is up
 *	slowlink=I    link=N of this GPU (default 3), with all=1 each, runs at half its speed
 *	dozing=1      all links sleep, and say half their speed
 *	oddvbios=I    it has another VBIOS than the others
 *	vbios=N       the last two digits of the VBIOS of all (default 74)
 *	badinforom=I  its InfoROM is corrupt
 *	computemode=N of all (NVML_COMPUTEMODE_...; default 0)
 *	gsp=0         the driver does not use firmware on the GPU
 *	bar1=MIB      of all (default 131072)
 *	direct=1      links go from GPU to GPU, not to switches
 *	fabric=I fabricstate=N   it is not part of the fabric
 *	unfabric=I    becoming part of it ended with an error
 *	degraded=I    its fabric has lost bandwidth
 *	swapped=IJ    the boards of GPUs I and J changed places; one digit each, I may be 0
 *	event=I xid=N this Xid comes while NVML is looked at
 *	old=1         the driver does not know the newer fields; what calls it has not
 *	              is for the test to take out of a copy of the library
 *
 * Heat over minutes, by the clock that the programs see, which may be scaled (gpu_fake_heat.c):
 *
 *	heat=1        GPUs warm up under load, and slow down at 87 C, or at 95 C of their memory
 *	inlet=N       the air that cools them, C (default 28)
 *	tau=N         seconds in which heat sinks go two thirds of the way to another
 *	              temperature; all else is as much faster or slower (default 60)
 *	fan=I         a fan failed: the heat sink of this GPU gets 1.84 times as warm, so that
 *	              it is throttled after 95 s of load
 *	paste=I       bad paste under the chip of this GPU
 *	hotmemory=I   bad contact of the memory of this GPU: it comes to 95 C
 *
 * Of NCCL, whose data is exact and whose operations take as long as the links
 * of the slowest GPU in them (FAKE_LINK_BYTES_PER_US each way); "after 40":
 * operations.
 *
 *	nccl=N        the version of NCCL (default 22809)
 *	linkdown=I    as above, and its part of the rate is gone
 *	thin=I        the links of this GPU carry 10 % less
 *	path=IJ       what GPU I sends to J goes half as fast; I and J one digit each
 *	damage=IJ     one element that GPU I sends to J arrives wrong
 *	damage1=IJ    the same in the first operation only
 *	late=I        this GPU takes no further work after 40, and the others wait
 *	wrongsum=1    of several hosts: this one's sums have a wrong element
 *	leaves=N      ... its process is gone at its operation N
 *	frozen=I      this GPU begins the next operation after 40, does not end it, and does
 *	              not look at an abort either
 *	behind=I      this GPU does not end the next operation after 40, which the others do;
 *	              nobody ends the one after it; an abort frees all
 *	mute=1        the next operation after 40 ends nowhere; an abort frees all
 *	abortstuck=I  the abort of this GPU's communicator does not come back
 *	notready=I    the communicators do not get ready, because this GPU's does not
 *	keep=N        only the first N MiB of an allocation are memory: what is copied beyond
 *	              takes its time and moves nothing
 *	lazy=1        a block that looks as if it had been sent already takes its time and
 *	              is not copied again
 *	async=I       the communicator of this GPU fails after 40: a CUDA error, and
 *	              a remote one in the others
 *
 * What things take, in milliseconds; nothing unless it is said here:
 *
 *	initms=N      the first cuInit() of a process
 *	ctxms=N       making the context of a GPU
 *	ltms=N        cublasLtCreate()
 *	firstms=N     the first product on a GPU: its module is loaded
 *	pinms=N       pinning memory of the host, each 32 MiB begun
 *	peerms=N      letting a GPU reach the memory of another
 *	closems=N     ending the context of a GPU, by a call or when the process ends by exit()
 *	firsttouch=N  NVML's first handle of a GPU: the driver starts it. Not in persistence
 *	              mode, nor after cuInit(), which started it
 *	persistence=0 persistence mode is off (default on, and off where firsttouch= is given)
 *	slowstart=I startms=N   this GPU takes so much longer to start, wherever it is first
 *	              needed: in NVML's first handle, else in making its context
 *	serial=N      percent of each of these that are spent under the one lock of the driver,
 *	              so that threads wait for each other (default 25); not of slowstart
 *
 * The times asked for are those of HGX hosts as they are told, not measured here: 1,500, 400, 150,
 * 100 and 250 for initms to closems, 3,000 for firsttouch. How much of it threads can do beside
 * each other is not published. The kernel module starts GPUs that are opened with O_NONBLOCK, as
 * the libraries do, side by side (nv_open_q of nvidia.ko, unless NVreg_EnableNonblockingOpen=0),
 * most of it is waiting for the firmware of that GPU, and the lock of its RM is taken for what
 * changes shared state: a quarter is a guess, and a test that depends on it tries more and less. A
 * GPU that is slow to start waits for its own firmware, without the lock. What the kernel takes to
 * clean up after a process that ended by _exit() is not in it.
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
	FAKE_QUEUE = 1024, /* kernels, copies and events of a stream: the next one blocks */
	FAKE_HEALTHY_OPERATIONS = 40, /* of NCCL, before late, frozen and async begin */
	FAKE_LINK_BYTES_PER_US = 500,
};

/* All that is loaded is declared: a fake of another type does not compile. */
#define FAKE_DECLARE(needed, result, member, symbol, parameters) result symbol parameters;
CUDA_DRIVER_FUNCTIONS(FAKE_DECLARE)
CUDA_LT_FUNCTIONS(FAKE_DECLARE)
CUDA_NVML_FUNCTIONS(FAKE_DECLARE)
NVML_HEALTH_FUNCTIONS(FAKE_DECLARE)

/* D = op(A) B by columns, as cuBLASLt has it. */
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

/* The number after NAME= in ASSAY_FAKE_GPUS, or `otherwise`. */
long fake_setting(const char *name, long otherwise);

/* True when at=NAME names this call; `_may`: or when there is no at=. */
bool fake_named(const char *call);
bool fake_may(const char *call);

/* What this GPU does of what others do, by spread=N: between 1 and 1 - N %. */
double fake_share(unsigned gpu);

/* Put a product on a stream. */
unsigned fake_put_product(struct CUstream_st *stream, const struct fake_product *p);

/* Compute it. */
void fake_multiply(const struct fake_product *p);

/* What any call in the current context answers first; `_as`: of an object of that GPU. */
unsigned fake_enter_from(unsigned *ret_gpu, const char *call);
unsigned fake_enter_as_from(unsigned gpu, const char *call);
#define fake_enter(ret_gpu) fake_enter_from(ret_gpu, __func__)
#define fake_enter_as(gpu) fake_enter_as_from(gpu, __func__)

/* Does not come back when block= and at= say so; `gpu` is FAKE_NO_GPU for a call about none. */
void fake_block(const char *call, long gpu);

/* What it is like on a GPU now; see heat=1. */
struct fake_heat {
	double clock; /* part of its highest */
	double power_w, gpu_c, memory_c;
	bool slowed; /* by heat */
};
struct fake_heat fake_heat_of(unsigned gpu);

/* From now until then it computes. */
void fake_heat_busy(unsigned gpu, double until_ns);

/* True when the setting names this GPU. */
bool fake_is(const char *fault, unsigned gpu);

/* What launching on this GPU costs the host. */
void fake_launch(unsigned gpu);
void fake_launch_cost(unsigned gpu);

/* What NVML says of a clock that is this part of the highest; see clockerror=N. */
double fake_clock_read(unsigned gpu, double part);

/* Of clock_fake.so, when that is there: the time goes on. */
void clock_fake_pass(int64_t ns) __attribute__((weak));

/* What a product takes that begins then, and takes `sustained_ns` at the clock that lasts. */
double fake_product_ns(unsigned gpu, double begin_ns, double flop, double sustained_ns);

/* A copy on a stream, which takes as long as one of so many bytes. */
unsigned fake_put_copy(struct CUstream_st *stream, double bytes);

/* Keep the stream busy for so long after what it has to do already. */
unsigned fake_stream_busy(struct CUstream_st *stream, double ns);

/* Of which GPU, when it is free at the earliest (INFINITY: never), and when it will be from now on. */
unsigned fake_stream_gpu(const struct CUstream_st *stream);
double fake_stream_begin_ns(const struct CUstream_st *stream);
void fake_stream_set_end_ns(struct CUstream_st *stream, double ns);

/* It will never do what is put on it once it has done what was. */
void fake_stream_hang_next(struct CUstream_st *stream);

/* The monotonic clock; come back at that time of it (INFINITY: never). */
double fake_now_ns(void);
void fake_wait_until(double end_ns);

/* Kernels of a product. */
unsigned fake_kernels(void);

/* Spend the milliseconds of this setting; see serial=N. */
void fake_take(const char *name);

/* What NVML's first handle of a GPU takes, its context, and the first product on it. */
void fake_take_touch(unsigned gpu);
void fake_take_context(unsigned gpu);
void fake_take_launch(unsigned gpu);

/* What is asked of the driver waits for what holds its lock. */
void fake_wait_for_driver(void);

/* cuInit() has started all GPUs in this process. */
bool fake_has_begun(void);

/* Is it memory that so many bytes are copied to? See keep=N. */
bool fake_memory_keeps(const void *at, size_t size);

/* A product that will be computed when its memory is read. */
unsigned fake_memory_expect(const struct fake_product *p);

extern _Atomic int fake_alive; /* streams, events, allocations and contexts */

bool fake_gpu_is_lost(unsigned gpu);
bool fake_gpu_is_held_back(unsigned gpu); /* by a lower clock */
bool fake_gpu_is_boosted(unsigned gpu);	  /* by boost=N, now */
bool fake_gpu_has_context(unsigned gpu);
bool fake_gpu_has_worn(const char *fault, unsigned gpu); /* of that name, after 40 copies */
