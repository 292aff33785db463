// SPDX-License-Identifier: Apache-2.0
/**
 * What the page knows now, and since when. One tab (which holds the lock) makes the held request GET /v1/changes and passes its
 * answers to the others, because a browser has six connections per origin. State not confirmed for STALE_MS is stale, and no
 * map of it may look healthy.
 */
import { useEffect, useState } from 'preact/hooks';
import { get, patient, Problem } from './api.js';
import { early } from './early.js';
import { Fleet } from './fleet_data.js';

/**
 * Milliseconds without an answer after which the state is stale. Ten seconds after the last one no map may look healthy, so
 * this is shorter by the check interval LOOK_MS.
 */
export const STALE_MS = 9400;
const LOOK_MS = 250;
/** How long a request for changes is held, seconds: STALE_MS is longer than one of them and LATE_MS. */
const HELD_S = 5;
/** Tolerance for a late answer, and delay after a failure, milliseconds. */
const LATE_MS = 4000, PAUSE_MS = 1500;
/** Name of the lock and of the channel. */
const NAME = 'assay-changes';

/** @type {{self: object|null, fleet: Fleet, heard: number, stale: boolean, problem: string|null, rev: Record<string, number>}} */
export const live = {
	self: null, fleet: new Fleet(), heard: 0, stale: false, problem: null,
	/** Incremented with each change of the fleet and of the lists, so that views fetch again. */
	rev: { fleet: 0, incidents: 0, actions: 0, campaigns: 0, jobs: 0, investigations: 0 },
};

const watchers = new Set();

export function tell() {
	for (const f of watchers)
		f();
}

/** Rerender whenever the state changes. */
export function useLive() {
	const [, set] = useState(0);
	useEffect(() => {
		const f = () => set((n) => n + 1);
		watchers.add(f);
		return () => watchers.delete(f);
	}, []);
	return live;
}

function take(answer) {
	if (!live.fleet.take(answer))
		return false;
	live.heard = Date.now();
	live.stale = false;
	live.problem = null;
	live.rev.fleet += answer.whole || answer.nodes.names.length > 0;
	for (const [key, numbers] of Object.entries(answer.changed || {}))
		if (key in live.rev && (numbers === null || numbers.length))
			live.rev[key]++;
	tell();
	return true;
}

async function whole(signal) {
	take(await get('/v1/fleet', { signal }));
}

/** The request started before this file was loaded (early.js). */
let first = early('/v1/fleet').then((said) => said && take(said)).finally(() => { first = null; });

/** Fetch the whole fleet, once for all tabs without data. */
async function beginning(signal) {
	await first;
	if (live.fleet.version)
		return;
	first = first || whole(signal).finally(() => { first = null; });
	await first;
}

function pause(ms, signal) {
	return new Promise((done) => {
		const t = setTimeout(done, ms);
		signal.addEventListener('abort', () => { clearTimeout(t); done(); }, { once: true });
	});
}

/** Poll for changes, and pass them to the other tabs. */
async function hold(channel, signal) {
	while (!signal.aborted) {
		try {
			const since = live.fleet.version;
			if (!since) {
				await beginning(signal);
				continue;
			}
			const answer = await get(`/v1/changes?since=${encodeURIComponent(since)}&wait=${HELD_S}`, { signal, timeout: HELD_S * 1000 + LATE_MS });
			if (!take(answer))
				await whole(signal);
			channel.postMessage({ since, answer });
		} catch (error) {
			if (signal.aborted)
				return;
			live.problem = error instanceof Problem ? error.message : String(error);
			if (error.status === 401)
				return;
			tell();
			await pause(PAUSE_MS, signal);
		}
	}
}

/** A message of another tab: applied if it continues our state, else everything is fetched. */
async function heard({ data }, signal) {
	try {
		if (data.answer.reset || !data.answer.whole && data.since !== live.fleet.version)
			await whole(signal);
		else
			take(data.answer);
	} catch {
		/* Unknown state becomes stale by itself. */
	}
}

/** Start listening; returns a function that stops it. */
export function listen() {
	const end = new AbortController(), channel = new BroadcastChannel(NAME);
	const look = () => {
		const stale = live.heard > 0 && Date.now() - live.heard > STALE_MS;
		if (stale !== live.stale) {
			live.stale = stale;
			tell();
		}
	};
	const watch = setInterval(look, LOOK_MS);
	document.addEventListener('visibilitychange', look); /* timers of hidden tabs are late */
	channel.onmessage = (message) => heard(message, end.signal);
	if (!live.fleet.version)
		beginning(end.signal).catch((error) => { live.problem = error.message; tell(); });
	if (navigator.locks)
		navigator.locks.request(NAME, { signal: end.signal }, () => hold(channel, end.signal)).catch(() => {});
	else
		hold(channel, end.signal);
	return () => {
		end.abort();
		clearInterval(watch);
		document.removeEventListener('visibilitychange', look);
		channel.close();
	};
}

/** Drop the state: somebody else may sign in. */
export function forget() {
	Object.assign(live, { self: null, fleet: new Fleet(), heard: 0, stale: false, problem: null });
	tell();
}

/**
 * The answer of a request, repeated whenever `path` or `rev` changes; the old answer stays until the new one arrives.
 * @returns {{value: any, problem: Problem|null, waiting: boolean}}
 */
export function useCall(path, rev = 0, ask = get) {
	const [state, set] = useState({ path: null, value: null, problem: null, waiting: true });
	useEffect(() => {
		const end = new AbortController();
		if (path)
			patient(() => ask(path, { signal: end.signal }), end.signal).then(
				(value) => set({ path, value, problem: null, waiting: false }),
				(problem) => end.signal.aborted || set((old) => ({ path, value: old.path === path ? old.value : null, problem, waiting: false })));
		return () => end.abort();
	}, [path, rev]);
	return state.path === path ? state : { value: null, problem: null, waiting: true };
}

/** A counter incremented every `ms` milliseconds while the page is visible, for data that changes without a change of verdict. */
export function useTurn(ms) {
	const [turn, set] = useState(0);
	useEffect(() => {
		const t = setInterval(() => document.hidden || set((n) => n + 1), ms);
		return () => clearInterval(t);
	}, [ms]);
	return turn;
}
