// SPDX-License-Identifier: Apache-2.0
/**
 * Requests to the controller. A session is a cookie that scripts cannot read; changes carry `Assay-Request: 1`, which other
 * sites cannot send without a CORS preflight. A 401 is reported to `onSignedOut`.
 */

/** Timeout of requests that are not held, milliseconds. */
export const ANSWER_MS = 10000;

/** How often to retry when the controller is busy, and the longest delay in seconds. */
const AGAIN = 4, PAUSE_S = 10;

/** An answer that is a problem (problem+json), or no answer: `status` 0. `after`: delay for a retry in seconds, or 0. */
export class Problem extends Error {
	/** @param {number} status @param {{title?: string, detail?: string, rule?: string, allows?: string}} body @param {number} [after] */
	constructor(status, body, after = 0) {
		super(body.detail || body.title || `The controller answered ${status}.`);
		this.status = status;
		this.rule = body.rule || null;
		this.allows = body.allows || null;
		this.after = after;
	}
}

let signedOut = () => {};

/** @param {() => void} f called for each answer that says that there is no session (any more) */
export function onSignedOut(f) {
	signedOut = f;
}

async function body(answer) {
	const type = answer.headers.get('Content-Type') || '';
	if (answer.status === 204)
		return null;
	return type.includes('json') ? answer.json() : { detail: (await answer.text()).slice(0, 500) };
}

/**
 * Send a request. Returns the JSON, null for 204; throws Problem.
 * @param {string} path from /v1 on; options.text is a body of YAML
 * @param {{method?: string, body?: object, text?: string, token?: string, timeout?: number, signal?: AbortSignal}} [options]
 */
export async function call(path, options = {}) {
	const headers = { Accept: 'application/json' };
	const limit = AbortSignal.timeout(options.timeout || ANSWER_MS);
	let answer;
	if (options.body)
		headers['Content-Type'] = 'application/json';
	else if (options.text)
		headers['Content-Type'] = 'application/yaml';
	if (options.method && options.method !== 'GET')
		headers['Assay-Request'] = '1';
	if (options.token)
		headers.Authorization = `Bearer ${options.token}`;
	try {
		answer = await fetch(path, {
			method: options.method || 'GET', headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error',
			body: options.body ? JSON.stringify(options.body) : options.text,
			signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
		});
	} catch (error) {
		if (options.signal && options.signal.aborted)
			throw error;
		throw new Problem(0, { detail: 'The controller does not answer.' });
	}
	const said = await body(answer).catch(() => ({}));
	if (answer.ok)
		return said;
	if (answer.status === 401 && !options.token)
		signedOut();
	throw new Problem(answer.status, said || {}, Number(answer.headers.get('Retry-After')) || 0);
}

/** The result of `ask()`, retried while the controller is busy. Throws what `ask()` throws. */
export async function patient(ask, signal) {
	for (let left = AGAIN; ; left--) {
		try {
			return await ask();
		} catch (problem) {
			if (!left || !problem.after || signal.aborted)
				throw problem;
			await new Promise((done) => {
				const t = setTimeout(done, Math.min(problem.after, PAUSE_S) * 1000);
				signal.addEventListener('abort', () => { clearTimeout(t); done(); }, { once: true });
			});
		}
	}
}

/** Limits concurrent calls of a function to `most`: the others are queued. */
export function fewAtOnce(most, f) {
	const waiting = [];
	let under = 0;
	return async (...words) => {
		if (under >= most)
			await new Promise((turn) => { waiting.push(turn); });
		else
			under++;
		try {
			return await f(...words);
		} finally {
			if (waiting.length)
				waiting.shift()();
			else
				under--;
		}
	};
}

export const get = (path, options) => call(path, options);
export const post = (path, body, options) => call(path, { ...options, method: 'POST', body });

/** Escape a name as a path segment. */
export const segment = (name) => encodeURIComponent(name);

/** Default limit of pages fetched by all(). */
const PAGES_MAX = 20;

/**
 * All items of a list, page by page: the last page with {items, more}; `more`: there are further items. `options`: limit of
 * pages; list: the member with the list.
 */
export async function all(path, options = {}) {
	const items = [], name = options.list || 'items';
	let cursor = null, page = null;
	for (let i = 0; i < (options.pages || PAGES_MAX); i++) {
		const sep = path.includes('?') ? '&' : '?';
		page = await get(`${path}${sep}limit=1000${cursor ? `&cursor=${segment(cursor)}` : ''}`, options);
		items.push(...page[name]);
		cursor = page.next;
		if (!cursor)
			break;
	}
	return { ...page, [name]: items, more: cursor !== null };
}
