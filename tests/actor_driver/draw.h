/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that do not depend on earlier draws: each is a hash of its purpose. The finalizer
 * is that of SplitMix64 (Steele, Lea, Flood 2014).
 */
#pragma once

#include <stdint.h>

static inline uint64_t draw_mix(uint64_t z)
{
	z = (z + 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 64-bit FNV-1a: for the name of what is drawn, and for the trace. */
static inline uint64_t draw_text(uint64_t h, const char *text)
{
	while (*text)
		h = (h ^ (unsigned char)*text++) * UINT64_C(1099511628211);
	return h;
}

#define DRAW_BASIS UINT64_C(14695981039346656037)

/* Draws the number named by `what`, `a` and `b`. */
static inline uint64_t draw(uint64_t seed, const char *what, uint64_t a, uint64_t b)
{
	return draw_mix(draw_text(DRAW_BASIS, what) ^ draw_mix(seed ^ draw_mix(a ^ draw_mix(b))));
}

static inline uint64_t draw_below(uint64_t n, uint64_t drawn)
{
	return drawn % n;
}
