// SPDX-License-Identifier: Apache-2.0
/**
 * The page: sign-in, the current view, and the frame around it. Views are addressed by what follows "#", so each can be linked
 * to. All except the fleet are loaded on demand.
 */
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { call, get, onSignedOut } from './api.js';
import { early } from './early.js';
import { forget, listen, live, tell, useLive } from './live.js';
import { matches } from './fleet_data.js';
import { clock, count, text } from './text.js';
import { Keys } from './keys.js';
import { Login } from './login.js';
import { hostLink, Lead, Said } from './ui.js';
import { FleetView } from './fleet.js';

/**
 * Views by the first word of the address: how to load them, and their place in the bar. A module's default export is its view,
 * which gets {id, query, rest}. "job/hang" is #/job/ID/hang.
 */
const VIEWS = {
	fleet: { word: 'Fleet', view: FleetView },
	incidents: { word: 'Incidents', load: () => import('./incidents.js'), count: () => live.fleet.counts().incidents },
	actions: { word: 'Actions', load: () => import('./actions.js') },
	jobs: { word: 'Jobs', load: () => import('./jobs.js') },
	budgets: { word: 'Budgets', load: () => import('./budgets.js') },
	drift: { word: 'Drift', load: () => import('./lists.js').then((m) => ({ default: m.Drift })) },
	baselines: { word: 'Baselines', load: () => import('./lists.js').then((m) => ({ default: m.Baselines })) },
	coverage: { word: 'Coverage', load: () => import('./lists.js').then((m) => ({ default: m.Coverage })) },
	campaigns: { word: 'Campaigns', load: () => import('./campaigns.js') },
	replay: { under: 'budgets', load: () => import('./replay.js') },
	host: { under: 'fleet', load: () => import('./host.js') },
	job: { under: 'jobs', load: () => import('./job.js') },
	'job/hang': { under: 'jobs', load: () => import('./hang.js') },
};

/** "#/host/gpu-11?form=table" -> {view: 'host', id: 'gpu-11', rest: [], query} */
export function parse(hash) {
	const [path, query] = hash.replace(/^#\/?/, '').split('?');
	const words = path.split('/').filter(Boolean).map((w) => { try { return decodeURIComponent(w); } catch { return w; } });
	const within = `${words[0]}/${words[2]}`, name = Object.hasOwn(VIEWS, within) ? within : words[0] || 'fleet', view = Object.hasOwn(VIEWS, name) ? name : null;
	return { view, id: words[1] || null, rest: words.slice(2), query: new URLSearchParams(query || '') };
}

function useRoute() {
	const [route, set] = useState(() => parse(location.hash));
	useEffect(() => {
		const f = () => {
			set(parse(location.hash));
			scrollTo(0, 0);
		};
		addEventListener('hashchange', f);
		return () => removeEventListener('hashchange', f);
	}, []);
	return route;
}

/**
 * Move the focus on sign-in and on a change of view, since the focused element is gone. Not on page load, where focus starts at
 * the top.
 */
let moved = false;

function useArrival({ view, id }) {
	useEffect(() => {
		if (moved)
			document.getElementById('main').focus({ preventScroll: true });
		moved = true;
	}, [view, id]);
}

/** A view loaded on demand; loaded ones are cached. */
const loaded = {};

function Loaded({ name, route }) {
	const [state, set] = useState(loaded[name] || null);
	useEffect(() => {
		let gone = false;
		if (!loaded[name])
			VIEWS[name].load().then((m) => { loaded[name] = { View: m.default }; }, () => { loaded[name] = null; return { broken: true }; })
				.then((broken) => gone || set(broken || loaded[name]));
		return () => { gone = true; };
	}, [name]);
	if (!state)
		return null;
	return state.broken ? html`<p class="problem" role="alert">This view did not come from the controller. Reload the page.</p>` : html`<${state.View} key=${route.id} ...${route} />`;
}

/** The search field for hosts, which also shows what else it accepts. "/" focuses it. */
function Find() {
	const [words, set] = useState(''), [at, setAt] = useState(0), field = useRef(null), { fleet } = useLive();
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
	const found = wanted.length ? fleet.hosts.filter((h) => matches(h, wanted)).slice(0, 8) : [];
	const open = (h) => { location.hash = hostLink(h.name); set(''); field.current.blur(); };
	const key = (e) => {
		if (e.key === 'Enter' && found.length)
			open(found[Math.min(at, found.length - 1)]);
		else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
			e.preventDefault();
			setAt((at + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % Math.max(found.length, 1));
		} else if (e.key === 'Escape') {
			set('');
			field.current.blur();
		} else
			return;
		e.stopPropagation();
	};
	return html`<span class="find-box"><input id="find" class="find" ref=${field} type="search" role="combobox" aria-label="Find a host by name, rack, SKU or life" placeholder="Host, rack, SKU" autocomplete="off" spellcheck=${false}
		aria-expanded=${String(found.length > 0)} aria-controls="found" aria-activedescendant=${found.length ? `found-${Math.min(at, found.length - 1)}` : undefined}
		value=${words} onInput=${(e) => { set(e.target.value); setAt(0); }} onKeyDown=${key} /><kbd aria-hidden="true">/</kbd>
		<ul id="found" role="listbox" aria-label="Hosts found" hidden=${!found.length}>${found.map((h, i) => html`<li key=${h.name} id=${`found-${i}`} role="option" aria-selected=${String(i === at)} onMouseDown=${(e) => { e.preventDefault(); open(h); }}>
			<${Said}>${h.name}<//><span class="dim"><${Said}>${h.domain || h.sku || ''}<//></span></li>`)}</ul></span>`;
}

function Bar({ route }) {
	const { self, fleet, stale } = useLive(), said = fleet.said, under = route.view && (VIEWS[route.view].under || route.view);
	const out = async () => {
		await call('/v1/session', { method: 'DELETE' }).catch(() => {});
		forget();
	};
	return html`<header class="bar">
		<a class="mark" href="#/"><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M1 1h7v7H1zM10 1h7v7h-7zM1 10h7v7H1z" fill="currentColor" opacity=".22" /><path d="M10 10h7v7h-7z" fill="var(--fail)" /></svg>Assay</a>
		<nav aria-label="Views">${Object.entries(VIEWS).filter(([, v]) => v.word).map(([name, v]) => html`<a key=${name} href=${`#/${name}`} aria-current=${name === under ? 'page' : undefined}>${v.word}${v.count && v.count() > 0 && html`<span class="n">${count(v.count())}</span>`}</a>`)}</nav>
		<div class="end"><${Find} />${said && html`<span><span class="dim">mode</span> ${said.policy.mode}</span>
		<span class=${stale ? 't-fail' : ''}><span class="dim">as of</span> ${clock(said.as_of, Date.now(), true)} UTC, ${stale ? 'no answer since' : 'live'}</span>`}
		<span class="dim">${self.name && html`<${Said}>${self.name}<//>, `}${self.role}</span>${!self.open && html`<button class="btn quiet" type="button" onClick=${out}>Sign out</button>`}</div>
	</header>`;
}

/** Shown above every view while the controller does not answer. */
function Silence() {
	const { stale, fleet, heard, problem } = useLive();
	if (!stale && (fleet.said || !problem))
		return null;
	return html`<p class="stale-note" role="alert"><strong class="t-fail">No answer from the controller${heard ? ` since ${clock(new Date(heard).toISOString(), Date.now(), true)} UTC` : ''}.</strong>
		<span>${fleet.said ? 'What is shown below is from then; the present state is unknown.' : text(problem)}</span></p>`;
}

function Page() {
	const route = useRoute(), [help, setHelp] = useState(false);
	useEffect(listen, []);
	useArrival(route);
	useEffect(() => {
		const key = (e) => {
			const typing = e.target.closest('input, textarea, select, dialog');
			if (e.ctrlKey || e.metaKey || e.altKey || typing)
				return;
			if (e.key === '/') {
				e.preventDefault();
				document.getElementById('find').focus();
			} else if (e.key === '?')
				setHelp(true);
		};
		addEventListener('keydown', key);
		return () => removeEventListener('keydown', key);
	}, []);
	const { view } = route;
	return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>Skip to content</a><${Bar} route=${route} /><${Silence} />
		<main id="main" tabindex="-1">${view === null ? html`<${Lead} title="There is no such view." prose=${html`<a href="#/">The fleet</a> is here.`} />`
			: VIEWS[view].view ? html`<${VIEWS[view].view} ...${route} />` : html`<${Loaded} key=${view} name=${view} route=${route} />`}</main>
		${help && html`<${Keys} onClose=${() => setHelp(false)} />`}`;
}

function App() {
	const { self } = useLive(), [asked, setAsked] = useState(false), [problem, setProblem] = useState(null);
	const who = () => early('/v1/self').then((said) => said ?? get('/v1/self')).then((said) => { live.self = said || null; setProblem(null); tell(); }, (p) => { if (p.status !== 401) setProblem(p); }).then(() => setAsked(true));
	useEffect(() => {
		onSignedOut(() => live.self && forget());
		who();
	}, []);
	if (self)
		return html`<${Page} />`;
	moved = asked;
	return asked && html`<${Login} problem=${problem} onDone=${who} />`;
}

const root = document.getElementById('app');
root.replaceChildren();
render(html`<${App} />`, root);
