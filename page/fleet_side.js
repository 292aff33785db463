// SPDX-License-Identifier: Apache-2.0
/** The panel beside the map: the worst hosts, what may still be taken out of service, and whether Assay acts. */
import { html } from './html.js';
import { brief, clock, count, text } from './text.js';
import { Glyph, hostLink, kindOf, Said } from './ui.js';

/** Length of each of the two lists. */
const LISTED = 6;
/** Marks in the track of a budget; a larger budget is scaled down to these. */
const MARKS = 12;

/** A sentence on what prevents Assay from acting, or ''. */
export function problemsOf(fleet) {
	const b = fleet.said.breaker;
	if (b.fenced)
		return 'Another controller has taken over: this one only watches.';
	if (b.stopped)
		return `The kill switch is on: ${text(b.stopped)}.`;
	if (b.open)
		return `The breaker is open, and nothing is cordoned: ${text(b.reason || b.cause)}.`;
	return b.stale ? `The state of the cluster may be out of date: ${text(b.stale)}.` : '';
}

/** Marks of a budget: used, to be used by `next`, and free. */
export function Track({ used, limit, next = 0 }) {
	const most = Math.max(limit, used + next), by = most > MARKS ? MARKS / most : 1, marks = [];
	const full = used >= limit, n = Math.min(most, MARKS);
	for (let k = 0; k < n; k++)
		marks.push(k < Math.round(used * by) ? (full ? 'full' : 'on') : k < Math.round((used + next) * by) ? (used + next > limit ? 'over' : 'next') : '');
	return html`<span class="track" aria-hidden="true">${marks.map((m, k) => html`<i key=${k} class=${m}></i>`)}</span>`;
}

/** Use of a budget as text: "6 of 12"; a null limit means none. */
export function shareOf(b) {
	return b.limit === null ? `${count(b.used)}, no limit` : `${count(b.used)} of ${count(b.limit)}`;
}

function Worst({ w, host }) {
	const life = host && host.life && host.life !== 'healthy' ? host.life : w.in_service === null ? 'not in the cluster' : w.in_service ? 'in service' : 'out of service';
	return html`<li><${Glyph} name=${host && host.stale ? 'none' : kindOf(w.verdict)} /><a href=${hostLink(w.node)}><b><${Said}>${w.node}<//></b></a><span class="life">${host && host.stale ? 'no answer' : life}</span>
		<span class="what"><${Said}>${host && host.stale ? 'No report for 16 minutes.' : brief(w.sentence, w.node) || 'no sentence'}<//></span></li>`;
}

function WorstFirst({ fleet }) {
	const worst = fleet.said.worst, here = worst.filter((w) => w.in_service !== false).slice(0, LISTED), out = worst.filter((w) => w.in_service === false).slice(0, LISTED);
	const list = (head, ws) => ws.length > 0 && html`<h3 class="group">${head}</h3><ul class="worst">${ws.map((w) => html`<${Worst} key=${w.node} w=${w} host=${fleet.host(w.node)} />`)}</ul>`;
	return html`<section class="sec"><h2 class="h">Worst first</h2>${worst.length ? html`${list('still in service', here)}${list('out of service', out)}` : html`<p class="empty">Every host that has reported passes.</p>`}</section>`;
}

export function Budgets({ budget }) {
	return html`<div>${budget.map((b) => html`<div key=${b.rule} class="bud"><span>${b.rule}</span>${b.limit === null ? html`<span></span>` : html`<${Track} used=${b.used} limit=${b.limit} />`}<span class=${`n ${b.limit !== null && b.used >= b.limit ? 't-fail' : ''}`}>${shareOf(b)}</span></div>`)}</div>`;
}

export function Acts({ said }) {
	const b = said.breaker;
	return html`<dl class="state"><dt>mode</dt><dd>${said.policy.mode}, policy ${text(said.policy.version).slice(0, 8)}</dd>
		<dt>breaker</dt><dd class=${b.open ? 't-fail' : ''}>${b.open ? html`open since ${clock(b.opened)}: <${Said}>${b.reason || b.cause}<//>` : b.reset ? `closed; reset ${clock(b.reset)}${b.reset_by ? ` by ${text(b.reset_by)}` : ''}` : 'closed'}</dd>
		<dt>cluster</dt><dd class=${b.stale || b.stopped || b.fenced ? 't-fail' : ''}>${b.fenced ? 'another controller acts' : b.stale ? html`<${Said}>${b.stale}<//>` : 'known'}, ${b.stopped ? html`kill switch: <${Said}>${b.stopped}<//>` : 'no kill switch'}</dd></dl>`;
}

/** Empty until `shown`, but keeps its space. */
export function FleetSide({ live, shown }) {
	const { said } = live.fleet;
	return html`<aside class="side" aria-label="The worst hosts, and what may be done">${shown && html`<${WorstFirst} fleet=${live.fleet} />
		<section class="sec"><h2 class="h">How many more may be taken out</h2><${Budgets} budget=${said.breaker.budget} /></section>
		<section class="sec"><h2 class="h">Does Assay act?</h2><${Acts} said=${said} /></section>`}</aside>`;
}
