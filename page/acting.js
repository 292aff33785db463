// SPDX-License-Identifier: Apache-2.0
/**
 * Acting on a host: the request is first rehearsed, so that a refusal and what would allow it are shown above the form; budgets
 * are shown before and after; a reason is required; the button names the action, which is then followed until it is done.
 *
 * The request says which life-cycle state was seen, so that nobody acts on what somebody else has changed meanwhile, and has a
 * key, so that a repeated request acts only once. To bypass budgets and breaker an admin types the host's name and enters the
 * token again.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { get, post, segment } from './api.js';
import { Track } from './fleet_side.js';
import { live } from './live.js';
import { clock, refusal, sentence, text } from './text.js';
import { Command, Glyph, Said } from './ui.js';

/** Longest reason that the controller accepts. */
const REASON_MAX = 500;
/** Interval and number of polls for the progress of an action. */
const ASK_MS = 1000, ASKS = 60;
/** Placeholder reason of a rehearsal. */
const REHEARSED = 'rehearsal';

/** Time of the life-cycle state that was seen; '' if unknown. */
const sinceOf = (why) => why.life?.since || '';

/** Distinguishes a repeated request from a new one. */
const newKey = () => crypto.randomUUID();

export const mayAct = (self) => Boolean(self) && (self.role === 'operate' || self.role === 'admin');

const DEEDS = {
	cordon: { verb: 'Cordon', leave: 'Leave it in service', say: 'No new job starts here. Running jobs continue.', next: (rule) => rule === 'budget.total' || rule === 'budget.rate.manual', by: 1 },
	uncordon: { verb: 'Uncordon', leave: 'Leave it out of service', say: 'Lifts Assay’s cordon and keeps the host in service: new jobs may start here.', next: (rule) => rule === 'budget.total', by: -1 },
	silence: { verb: 'Silence', leave: 'Leave it as it is', say: 'Findings on it are treated as known: until then nothing is done about them.', next: () => false, by: 0 },
};

const LENGTHS = { '1h': '1 hour', '8h': '8 hours', '24h': '1 day', '168h': '7 days' };

/** Refusals that also apply to breaking the glass: the state of the host or controller does not permit the action. */
const ANYWAY = ['already', 'not-ours', 'busy', 'changed', 'key', 'fenced', 'starting', 'stopped', 'unknown'];
const passes = (rule) => Boolean(rule) && !ANYWAY.includes(rule);

/** Bypass of budgets and breaker: the operator types the host's name and enters the token again. */
function Glass({ node, open, typed, onTyped, token, onToken }) {
	return html`<div class="glass-form"><h3><label for="glass-host">The host’s name, typed</label></h3><input id="glass-host" type="text" required autocomplete="off" autocapitalize="off" spellcheck=${false} value=${typed} aria-describedby="glass-say" onInput=${(e) => onTyped(e.target.value)} />
		${!open && html`<h3><label for="glass-token">Your token, again</label></h3><input id="glass-token" type="password" required autocomplete="off" value=${token} onInput=${(e) => onToken(e.target.value)} />`}
		<p id="glass-say" class="two">This bypasses budgets and breaker and is recorded as such; <${Said}>${node}<//> stays out until a person uncordons it.</p></div>`;
}

function Refused({ problem }) {
	const by = problem.rule ? html`<strong class="t-fail">Refused by ${text(problem.rule)}.</strong> ` : html`<strong class="t-fail">${problem.status ? 'Refused.' : 'No answer.'}</strong> `;
	return html`<div class="refused" role="alert"><p>${by}<${Said}>${sentence(refusal(problem))}<//></p>${problem.allows && html`<p><strong>What would allow it:</strong> <${Said}>${sentence(problem.allows)}<//></p>`}</div>`;
}

/** Budgets afterwards. */
function After({ budget, deed, refused }) {
	const rows = budget.filter((b) => b.limit !== null);
	return html`<div><h3>Budgets after this</h3>${rows.map((b) => {
		const by = deed.next(b.rule) ? deed.by : refused === b.rule ? 1 : 0, then = Math.max(0, b.used + by), no = refused === b.rule || by > 0 && then > b.limit;
		return html`<div key=${b.rule} class="plan"><${Glyph} name=${no ? 'fail' : 'pass'} label=${no ? 'refuses' : 'fits'} /><span class=${no ? 'strong' : ''}><${Said}>${b.rule}<//></span><${Track} used=${by < 0 ? then : b.used} limit=${b.limit} next=${Math.max(0, by)} />
			<span class=${`n ${no ? 'strong t-fail' : ''}`}>${by ? `${b.used} to ${then} of ${b.limit}` : `${b.used} of ${b.limit}, as it is`}</span></div>`;
	})}</div>`;
}

/** Progress of an action until it is done. */
function useFollow(node, id) {
	const [action, set] = useState(null);
	useEffect(() => {
		const end = new AbortController();
		let asks = 0, timer = 0;
		const ask = () => get(`/v1/actions?node=${segment(node)}&limit=20`, { signal: end.signal }).then((page) => {
			const found = page.items.find((a) => a.id === id);
			set(found || null);
			if ((!found || found.state === 'decided') && ++asks < ASKS)
				timer = setTimeout(ask, ASK_MS);
		}).catch(() => {
			if (!end.signal.aborted && ++asks < ASKS)
				timer = setTimeout(ask, ASK_MS);
		});
		if (id)
			ask();
		return () => {
			end.abort();
			clearTimeout(timer);
		};
	}, [id]);
	return action;
}

function Outcome({ said, action }) {
	const words = { decided: 'decided, in progress', done: 'done', failed: 'failed', dropped: 'dropped', 'dry-run': 'would be done, but this mode does not act', refused: 'refused' };
	return html`<div class="outcome" role="status"><p><${Glyph} name=${!action || action.state === 'decided' ? 'wait' : action.state === 'failed' || action.state === 'refused' ? 'fail' : 'pass'} kind=${!action || action.state === 'decided' ? 'none' : undefined} />
		<${Said}>${sentence(said.sentence)}<//></p>${action && html`<p class="two">Action ${text(action.id)}: ${words[action.state] || action.state}${action.result ? html`; <${Said}>${action.result}<//>` : ''}.${action.undo && html` Undo: <${Said}>${action.undo}<//>.`}</p>`}</div>`;
}

export function Acting({ what, why, onClose }) {
	const deed = DEEDS[what], dialog = useRef(null), path = `/v1/nodes/${segment(why.node)}/${what}`;
	const [breaker, setBreaker] = useState(null), [refusal, setRefusal] = useState(null), [rehearsed, setRehearsed] = useState(null);
	const [reason, setReason] = useState(''), [length, setLength] = useState('8h'), [said, setSaid] = useState(null), [busy, setBusy] = useState(false);
	const [seen, setSeen] = useState(sinceOf(why)), [key, setKey] = useState(newKey), [glass, setGlass] = useState(false), [typed, setTyped] = useState(''), [token, setToken] = useState('');
	const action = useFollow(why.node, said && said.action), body = (words, since = seen) => ({ reason: words, if_since: since, ...(what === 'silence' ? { for: length } : {}) });
	const rehearse = (since) => post(path, { ...body(REHEARSED, since), dry_run: true }).then((r) => { setRehearsed(r); setRefusal(null); }, setRefusal);
	const budgets = () => get('/v1/breaker').then(setBreaker, () => {});
	const again = async () => {
		setGlass(false);
		setRefusal(null);
		setRehearsed(null);
		const now = await get(`/v1/nodes/${segment(why.node)}/why`).then(sinceOf, () => seen);
		setSeen(now);
		rehearse(now);
		budgets();
	};
	/* A different action from the one that may have succeeded without an answer. */
	const breakGlass = () => {
		setGlass(true);
		setKey(newKey());
	};
	useEffect(() => {
		dialog.current.showModal();
		rehearse();
		budgets();
	}, []);
	const self = live.self, missing = !reason.trim(), offered = refusal && what === 'cordon' && passes(refusal.rule) && self && self.role === 'admin';
	const proved = typed === why.node && (token.trim() || self && self.open), may = !missing && !busy && (glass ? proved : rehearsed && !refusal);
	const act = async (event) => {
		event.preventDefault();
		if (!may)
			return;
		setBusy(true);
		await post(path, { ...body(reason.trim()), key, ...(glass ? { break_glass: true } : {}) }, glass && token.trim() ? { token: token.trim() } : {}).then(setSaid, (problem) => {
			setRefusal(problem.status === 401 ? { ...problem, message: 'The controller does not know this token, or it has expired.' } : problem);
			if (problem.status)
				setKey(newKey());
		});
		setToken('');
		budgets();
		setBusy(false);
	};
	const id = `act-${what}`, waits = !rehearsed && !refusal;
	return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${onClose}><form onSubmit=${act}>
		<header><h2 id=${id}>${deed.verb} <${Said}>${why.node}<//></h2><p>${deed.say}</p></header>
		${refusal && !said && html`<${Refused} problem=${refusal} />`}
		${breaker && what !== 'silence' && !said && html`<${After} budget=${breaker.budget} deed=${deed} refused=${refusal && refusal.rule} />`}
		${said ? html`<${Outcome} said=${said} action=${action} />` : html`${what === 'silence' && html`<div><h3><label for="for">For how long</label></h3><select id="for" value=${length} onChange=${(e) => setLength(e.target.value)}>${Object.entries(LENGTHS).map(([v, w]) => html`<option key=${v} value=${v}>${w}</option>`)}</select></div>`}
		<div><h3><label for="why">Reason, recorded with your name</label></h3><textarea id="why" rows="2" required maxlength=${REASON_MAX} autofocus value=${reason} onInput=${(e) => setReason(e.target.value)}
			onKeyDown=${(e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) act(e); }}></textarea></div>
		${glass && html`<${Glass} node=${why.node} open=${self && self.open} typed=${typed} onTyped=${setTyped} token=${token} onToken=${setToken} />`}`}
		<footer><span class="why">${breaker ? `mode ${breaker.mode}, breaker ${breaker.open ? `open since ${clock(breaker.opened)}` : 'closed'}.` : ''} ${waits ? 'Rehearsing.' : said ? '' : glass ? missing ? 'A reason is required.' : proved ? 'Recorded under your name.' : 'The name and the token are required.' : refusal ? html`Nothing is done.` : missing ? 'A reason is required.' : text(rehearsed.sentence)}</span>
		${said ? html`<button class="btn go" type="button" onClick=${() => dialog.current.close()}>Close</button>`
			: html`${refusal && html`<button class="btn" type="button" onClick=${again}>Ask again</button>`}
			<button class="btn" type="button" onClick=${() => dialog.current.close()}>${deed.leave}</button><button class="btn go" type="submit" aria-disabled=${String(!may)}>${glass ? 'Break glass: cordon' : deed.verb} <${Said}>${why.node}<//></button>`}</footer></form>
		${offered && !glass && !said && html`<p class="glass">To bypass budgets and breaker, under your name: <button class="btn" type="button" onClick=${breakGlass}>Break glass…</button></p>`}
		${refusal && passes(refusal.rule) && !offered && what === 'cordon' && html`<p class="glass">Only the role admin may bypass budgets and breaker, with <${Command} words=${['cordon', why.node, '--break-glass', '--reason', reason.trim() || '…']} /></p>`}</dialog>`;
}
