// Opens pages in a headless Chromium and says what is wrong with them. From standard input it reads a JSON list of pages:
//   name; url; contains, texts that the page has; first, texts that the first 300 px of a screen have; becomes, a text that
//   comes without a reload once `poke` was asked; bytes that the page may have at most.
// It prints a JSON list of findings, and puts pictures into the folder SHOTS where that is set.
import { chromium } from 'playwright-core';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pages = JSON.parse(readFileSync(0, 'utf8'));
const findings = [];
// patience is how long, in milliseconds, what must happen may take on a busy machine.
const patience = 300000;
const browser = await chromium.launch({
  timeout: patience,
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// look opens one page at one width in one theme.
const look = async (wanted, width, theme) => {
  const where = `${wanted.name}, ${width} px, ${theme}`;
  const say = (what) => findings.push(`${where}: ${what}`);
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme, bypassCSP: false });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const origin = new URL(wanted.url).origin;
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) say(`console: ${m.text()}`); });
  page.on('pageerror', (e) => say(`script: ${e}`));
  page.on('dialog', (d) => { say(`a dialog: ${d.message()}`); d.dismiss(); });
  page.on('request', (r) => { if (new URL(r.url()).origin !== origin) say(`asks ${r.url()}`); });
  page.on('requestfailed', (r) => say(`cannot load ${r.url()}`));
  try {
    const response = await page.goto(wanted.url, { waitUntil: 'load' });
    if (response.status() !== 200) say(`answers ${response.status()}`);
    const seen = await page.evaluate(() => {
      const visible = (e) => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0 && b.top >= 0 && b.bottom <= 300; };
      const texts = [...document.querySelectorAll('main :is(h1, p, li, li > *, span, a)')].filter(visible).map((e) => e.innerText);
      return {
        wide: document.scrollingElement.scrollWidth - innerWidth,
        first: texts.join('\n').replace(/\s+/g, ' '), text: document.body.innerText.replace(/[\s\u202f]+/g, ' '),
        planted: window.planted, title: document.title, lang: document.documentElement.lang,
      };
    });
    if (seen.wide > 0) say(`scrolls ${seen.wide} px sideways`);
    if (seen.planted) say('a name was run as a script');
    if (!seen.title || !seen.lang) say('has no title or no language');
    for (const t of wanted.contains || []) if (!seen.text.includes(t)) say(`does not say ${JSON.stringify(t)}`);
    for (const t of wanted.first || []) if (!seen.first.includes(t)) say(`does not say ${JSON.stringify(t)} in its first 300 px, but: ${seen.first}`);
    if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `${wanted.name}-${width}-${theme}.png`.replace(/[^\w.-]+/g, '-')), fullPage: !wanted.large });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    for (const v of violations.filter((x) => ['serious', 'critical'].includes(x.impact))) {
      say(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
    }
  } catch (e) {
    say(String(e));
  } finally {
    await context.close();
  }
};

// measure is how large the page is, and tells how long it takes: the best of a few, for other programs use the machine too.
const measure = async (wanted) => {
  let best = Infinity, size = 0;
  for (let i = 0; i < 7; i++) {
    const began = performance.now();
    const body = await (await fetch(wanted.url, { headers: { accept: 'text/html' } })).arrayBuffer();
    best = Math.min(best, performance.now() - began);
    size = body.byteLength;
  }
  console.error(`${wanted.name}: ${best.toFixed(0)} ms, ${size} bytes`);
  if (size > wanted.bytes) findings.push(`${wanted.name}: has ${size} bytes, ${wanted.bytes} are allowed`);
};

// follow waits until the page says something else without being loaded again.
const follow = async (wanted) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(wanted.url);
  let loads = 0;
  page.on('load', () => loads++);
  await fetch(wanted.poke, { method: 'POST' });
  await page.waitForFunction((text) => document.body.innerText.includes(text), wanted.becomes)
    .catch(() => findings.push(`${wanted.name}: does not become ${JSON.stringify(wanted.becomes)}`));
  if (loads > 0) findings.push(`${wanted.name}: was loaded again`);
  await page.close();
};

// walk goes through the page with the keyboard: the focus must be seen, and reach a link of the main part.
const walk = async (wanted) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(wanted.url);
  let reached = false;
  for (let i = 0; i < 12 && !reached; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement, s = getComputedStyle(e);
      return { main: !!e.closest('main'), seen: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || e.classList.contains('skip'), name: e.outerHTML.slice(0, 120) };
    });
    if (!at.seen) findings.push(`${wanted.name}: no outline at ${at.name}`);
    reached = at.main;
  }
  if (!reached) findings.push(`${wanted.name}: twelve tabs do not reach the main part`);
  await page.close();
};

// plain is the page without JavaScript.
const plain = async (wanted) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await page.goto(wanted.url);
  const text = (await page.innerText('body')).replace(/[\s\u202f]+/g, ' ');
  for (const t of wanted.contains || []) if (!text.includes(t)) findings.push(`${wanted.name}, without JavaScript: does not say ${JSON.stringify(t)}`);
  await context.close();
};

for (const wanted of pages) {
  if (wanted.becomes) { await follow(wanted); continue; }
  for (const width of [1280, 390]) for (const theme of ['light', 'dark']) await look(wanted, width, theme);
  await plain(wanted);
  if (wanted.bytes) await measure(wanted);
  if (wanted.walk) await walk(wanted);
}
await browser.close();
console.log(JSON.stringify(findings, null, 1));
