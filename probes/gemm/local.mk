# SPDX-License-Identifier: Apache-2.0
# probes/gemm: assay-probe-gemm. Included by Makefile.am.
if HAVE_CBLAS
GEMM_ENGINES = probes/gemm/gemm_engines.c
else
GEMM_ENGINES = probes/gemm/gemm_engines_gpu.c
endif
probes_PROGRAMS += assay-probe-gemm
assay_probe_gemm_SOURCES = $(GEMM_ENGINES) probes/gemm/gemm_engines.h probes/gemm/gemm_main.c
assay_probe_gemm_LDADD = libgemm.a libcollnccl.a libcoll.a libmemory.a $(JUDGE_LIBS) $(ACCEL_LIBS)
EXTRA_DIST += probes/gemm/gemm_engines.c probes/gemm/gemm_engines_gpu.c

# The core of the probe is independent of engines: built and tested without a BLAS too.
noinst_LIBRARIES += libgemm.a
libgemm_a_SOURCES = probes/gemm/gemm.c probes/gemm/gemm.h probes/gemm/gemm_ballot.c probes/gemm/gemm_ballot.h probes/gemm/gemm_burn.c \
	probes/gemm/gemm_burn.h probes/gemm/gemm_burn_cause.c probes/gemm/gemm_burn_cause.h probes/gemm/gemm_burn_tell.c probes/gemm/gemm_burn_tell.h \
	probes/gemm/gemm_busy.c probes/gemm/gemm_busy.h probes/gemm/gemm_cause.c probes/gemm/gemm_cause.h probes/gemm/gemm_chain.c \
	probes/gemm/gemm_chain.h probes/gemm/gemm_check.c probes/gemm/gemm_check.h \
	probes/gemm/gemm_clock.c probes/gemm/gemm_clock.h probes/gemm/gemm_data.c probes/gemm/gemm_data.h probes/gemm/gemm_device.c \
	probes/gemm/gemm_device.h \
	probes/gemm/gemm_launch.c probes/gemm/gemm_launch.h probes/gemm/gemm_overlap.c \
	probes/gemm/gemm_overlap.h probes/gemm/gemm_place.c probes/gemm/gemm_place.h \
	probes/gemm/gemm_rate.c probes/gemm/gemm_rate.h probes/gemm/gemm_verify.c probes/gemm/gemm_verify.h probes/gemm/gemm_vote.c \
	probes/gemm/gemm_vote.h probes/gemm/gemm_vote_words.c probes/gemm/gemm_vote_words.h \
	probes/gemm/gemm_window.c probes/gemm/gemm_window.h
GEMM_LIBS = libgemm.a libcollnccl.a libcoll.a libmemory.a libaccelcuda.a libaccel.a $(JUDGE_LIBS)
