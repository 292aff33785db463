# SPDX-License-Identifier: Apache-2.0
# tests/fakes: devices, clocks and disks that programs load in place of real ones. Included by Makefile.am.
RDMA_SIM = tests/fakes/rdma_sim.c tests/fakes/rdma_sim.h tests/fakes/rdma_sim_inside.h \
	tests/fakes/rdma_sim_links.c

# LD_PRELOAD libraries that record writes and shift clocks; they cannot be
# loaded before those of the sanitizers. Never installed.
FAKES = tests/fakes/clock_shift.so tests/fakes/clock_leap.so tests/fakes/disk_log.so tests/fakes/random_late.so
if !SANITIZERS
check_DATA += $(FAKES)
endif
FAKE_LINK = $(AM_V_CCLD)$(MKDIR_P) tests/fakes && $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN_CFLAGS) $(CFLAGS) -shared -fPIC -o $@

tests/fakes/clock_shift.so: tests/fakes/clock_shift.c tests/fakes/clock_calls.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/clock_shift.c $(srcdir)/tests/fakes/clock_calls.c

tests/fakes/clock_leap.so: tests/fakes/clock_leap.c tests/fakes/clock_calls.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/clock_leap.c $(srcdir)/tests/fakes/clock_calls.c

tests/fakes/disk_log.so: tests/fakes/disk_log.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/disk_log.c

tests/fakes/random_late.so: tests/fakes/random_late.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/random_late.c

EXTRA_DIST += $(GPU_FAKE_CUDA) $(GPU_FAKE_NVML) tests/fakes/clock_calls.c tests/fakes/clock_fake.c \
	tests/fakes/clock_leap.c tests/fakes/clock_scale.c tests/fakes/clock_shift.c tests/fakes/disk_log.c \
	tests/fakes/gpu_fake.h tests/fakes/gpu_fake_hosts.c tests/fakes/gpu_fake_hosts.h tests/fakes/gpu_fake_lt.c tests/fakes/gpu_fake_nccl.c tests/fakes/gpu_fake_nvml.h \
	tests/fakes/random_late.c
CLEANFILES += $(FAKES)

# Fake GPUs and their libraries, which programs load through
# LD_LIBRARY_PATH=tests/fakes/gpu. Never installed.
GPU_FAKES = tests/fakes/gpu/libcuda.so.1 tests/fakes/gpu/libcublasLt.so.13 tests/fakes/gpu/libnvidia-ml.so.1 \
	tests/fakes/gpu/libnccl.so.2
GPU_FAKE_CUDA = tests/fakes/gpu_fake_clock.c tests/fakes/gpu_fake_cuda.c tests/fakes/gpu_fake_heat.c tests/fakes/gpu_fake_memory.c tests/fakes/gpu_fake_product.c \
	tests/fakes/gpu_fake_setting.c tests/fakes/gpu_fake_start.c tests/fakes/gpu_fake_words.c
GPU_FAKE_NVML = tests/fakes/gpu_fake_firmware.c tests/fakes/gpu_fake_health.c tests/fakes/gpu_fake_nvml.c
GPU_FAKE_H = tests/fakes/gpu_fake.h tests/fakes/gpu_fake_nvml.h probes/accel/cuda_abi.h probes/accel/nvml_abi.h tests/unit/random.h
check_DATA += $(GPU_FAKES) tests/fakes/clock_fake.so tests/fakes/clock_scale.so
GPU_FAKE_LINK = $(AM_V_CCLD)$(MKDIR_P) tests/fakes/gpu && $(CC) -std=gnu11 -D_GNU_SOURCE -I$(srcdir) $(WARN_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ -Wl,-soname,$(@F)

tests/fakes/gpu/libcuda.so.1: $(GPU_FAKE_CUDA) $(GPU_FAKE_H)
	$(GPU_FAKE_LINK) $(srcdir)/tests/fakes/gpu_fake_clock.c $(srcdir)/tests/fakes/gpu_fake_cuda.c $(srcdir)/tests/fakes/gpu_fake_heat.c $(srcdir)/tests/fakes/gpu_fake_memory.c $(srcdir)/tests/fakes/gpu_fake_product.c \
		$(srcdir)/tests/fakes/gpu_fake_setting.c $(srcdir)/tests/fakes/gpu_fake_start.c $(srcdir)/tests/fakes/gpu_fake_words.c -lm

tests/fakes/gpu/libcublasLt.so.13: tests/fakes/gpu_fake_lt.c tests/fakes/gpu/libcuda.so.1
	$(GPU_FAKE_LINK) $(srcdir)/tests/fakes/gpu_fake_lt.c tests/fakes/gpu/libcuda.so.1

tests/fakes/gpu/libnvidia-ml.so.1: $(GPU_FAKE_NVML) $(GPU_FAKE_H) tests/fakes/gpu/libcuda.so.1
	$(GPU_FAKE_LINK) $(srcdir)/tests/fakes/gpu_fake_firmware.c $(srcdir)/tests/fakes/gpu_fake_health.c $(srcdir)/tests/fakes/gpu_fake_nvml.c \
	tests/fakes/gpu/libcuda.so.1 -lm

tests/fakes/gpu/libnccl.so.2: tests/fakes/gpu_fake_nccl.c tests/fakes/gpu_fake_hosts.c tests/fakes/gpu_fake_hosts.h probes/coll/nccl_abi.h \
		$(GPU_FAKE_H) tests/fakes/gpu/libcuda.so.1
	$(GPU_FAKE_LINK) $(srcdir)/tests/fakes/gpu_fake_nccl.c $(srcdir)/tests/fakes/gpu_fake_hosts.c tests/fakes/gpu/libcuda.so.1 -lm

# RDMA devices of types that no guest emulates, loaded through LD_LIBRARY_PATH=tests/fakes/verbs.
EXTRA_DIST += tests/fakes/verbs_fake.c
if HAVE_VERBS
check_DATA += tests/fakes/verbs/libibverbs.so.1
CLEANFILES += tests/fakes/verbs/libibverbs.so.1
endif

tests/fakes/verbs/libibverbs.so.1: tests/fakes/verbs_fake.c
	$(AM_V_CCLD)$(MKDIR_P) tests/fakes/verbs && $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ \
		-Wl,-soname,$(@F) $(srcdir)/tests/fakes/verbs_fake.c

tests/fakes/clock_fake.so: tests/fakes/clock_fake.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/clock_fake.c

tests/fakes/clock_scale.so: tests/fakes/clock_scale.c
	$(FAKE_LINK) $(srcdir)/tests/fakes/clock_scale.c

CLEANFILES += $(GPU_FAKES) tests/fakes/clock_fake.so tests/fakes/clock_scale.so

# Tools that assayd runs on a hung job: scripts.
EXTRA_DIST += tests/fakes/py-spy tests/fakes/ras_server.py
