// SPDX-License-Identifier: MIT
// page.js -- the page: its four views of one profile, the search they share, and its address.

import {figureText, changeText, countText} from './words.js';
import {Top} from './top.js';
import {FlameCanvas} from './flame_canvas.js';
import {Calls} from './calls.js';
import {Source} from './source.js';

const TABS = ['top', 'flame', 'calls', 'source'];
const byId = id => document.getElementById(id);

const doc = JSON.parse(byId('data').textContent);
doc.views = doc.views.map(v => Object.assign(v.of, {lines: v.lines}));
const state = {tab: '', view: 0, search: ''};

const parts = {
	top: new Top(byId('panel-top'), {open: entry => inFlame(entry), pick: () => {}}),
	flame: new FlameCanvas(byId('panel-flame'), () => remember()),
	calls: new Calls(byId('panel-calls'), {pick: () => {}}),
	source: new Source(byId('panel-source')),
};

/** Shows a function of the table in the flame graph. */
function inFlame(entry) {
	const name = parts.top.names.name(entry);
	search('^' + name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') + '$');
	openTab('flame');
	parts.flame.choose(parts.flame.flame.nextHit());
	parts.flame.focus();
}

function totalText(view) {
	const what = view.what === '' ? '' : view.what + ' ';
	const err = view.sampled && view.err > 0 ? ' \u00b1 ' + figureText(view, view.err) : '';
	const figure = view.base
		? figureText(view, view.was) + ' \u2192 ' + figureText(view, view.total) + ' (' + changeText(view, view.total - view.was) + ')'
		: figureText(view, view.total);
	const stacks = view.base ? '' : ' in ' + countText(view.stacks) + (view.stacks === 1 ? ' stack' : ' stacks');
	return (doc.subtitle ? doc.subtitle + ' \u00b7 ' : '') + what + figure + err + stacks + (view.sampled ? ' \u00b7 sampled: figures are estimates' : '');
}

function showView(number) {
	const view = doc.views[number];
	state.view = number;
	byId('views').value = String(number);
	byId('total').textContent = totalText(view);
	parts.top.show(doc, view);
	parts.flame.show(doc, view, doc.options, state.search);
	parts.calls.show(parts.flame.flame);
	parts.source.show(doc, view);
	search(state.search);
}

function search(text) {
	state.search = text;
	if (byId('find').value !== text)
		byId('find').value = text;
	for (const tab of ['flame', 'top', 'calls', 'source'])
		parts[tab].find(text);
	byId('found').textContent = text === '' ? '' : parts.flame.flame.foundText();
	remember();
}

function openTab(name) {
	state.tab = name;
	for (const tab of TABS) {
		const here = tab === name;
		byId('panel-' + tab).classList.toggle('shown', here);
		byId('tab-' + tab).setAttribute('aria-selected', String(here));
		byId('tab-' + tab).tabIndex = here ? 0 : -1;
	}
	if (name === 'flame')
		parts.flame.redraw();
	remember();
}

/** The address has the state, so that a view can be kept and passed on. */
function remember() {
	if (state.tab === '' || !parts.flame.flame)
		return;
	const words = new URLSearchParams(parts.flame.flame.state());
	if (state.tab !== 'top')
		words.set('view', state.tab);
	if (state.view !== 0)
		words.set('figure', state.view);
	try {
		history.replaceState(null, '', '#' + words.toString());
	} catch {
		/* not allowed where the page is shown inside another */
	}
}

function restore() {
	const words = new URLSearchParams(location.hash.slice(1));
	const figure = Number(words.get('figure'));
	state.search = words.get('find') || '';
	showView(Number.isInteger(figure) && figure >= 0 && figure < doc.views.length ? figure : 0);
	if (words.has('callers') || words.has('zoom') || words.has('width') || words.has('percent')) {
		words.set('inverted', words.get('inverted') || (doc.options.inverted ? '1' : ''));
		parts.flame.flame.restore(words);
	}
	openTab(TABS.includes(words.get('view')) ? words.get('view') : 'top');
}

function setTheme() {
	const now = document.documentElement.dataset.theme ||
		(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
	document.documentElement.dataset.theme = now === 'dark' ? 'light' : 'dark';
	parts.flame.paint();
}

function back() {
	if (state.search !== '')
		search('');
	else if (state.tab === 'flame')
		parts.flame.back();
}

function onKey(event) {
	const inField = event.target === byId('find');
	if ((event.ctrlKey || event.metaKey) && event.key === 'f' || event.key === '/' && !inField) {
		event.preventDefault();
		byId('find').focus();
		byId('find').select();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === 'Escape') {
		back();
		if (inField)
			parts[state.tab].focus();
	} else if (inField && event.key === 'Enter') {
		parts[state.tab].focus();
	} else if (!inField && event.target.tagName !== 'SELECT' && event.key >= '1' && event.key <= '4') {
		openTab(TABS[event.key - 1]);
		parts[state.tab].focus();
	} else if (!inField && event.key === 't') {
		setTheme();
	} else {
		return;
	}
	event.preventDefault();
}

function onTabKey(event) {
	const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
	if (step === undefined)
		return;
	const next = TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length];
	openTab(next);
	byId('tab-' + next).focus();
	event.preventDefault();
}

function begin() {
	doc.views.forEach((view, i) => {
		const option = document.createElement('option');
		option.value = String(i);
		option.textContent = (view.what + ' ' + view.unit).trim();
		byId('views').append(option);
	});
	byId('viewField').hidden = doc.views.length < 2;
	byId('views').addEventListener('change', event => showView(Number(event.target.value)));
	byId('find').addEventListener('input', event => search(event.target.value));
	byId('theme').addEventListener('click', setTheme);
	byId('notes').textContent = doc.notes.join(' \u00b7 ');
	for (const tab of TABS) {
		byId('tab-' + tab).addEventListener('click', () => openTab(tab));
		byId('tab-' + tab).addEventListener('keydown', onTabKey);
	}
	window.addEventListener('keydown', onKey);
	restore();
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

begin();
