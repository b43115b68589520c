// Draws dashboards: node shot.mjs PROMETHEUS SPAN REPLICA OUT DASHBOARD.json...
import { chromium } from 'playwright-core';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const [prom, span, replica, out, ...dashboards] = process.argv.slice(2);
// Dashboards that are made for one replica at a time.
const one = new Set(['trtllm-replica']);
const root = path.resolve(import.meta.dirname, 'dist');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml' };
let dashboard = '';
const server = http.createServer((request, response) => {
  const name = new URL(request.url, 'http://x').pathname;
  const file = name === '/dashboard.json' ? dashboard : path.join(root, name === '/' ? 'index.html' : name);
  fs.readFile(file, (err, body) => {
    response.writeHead(err ? 404 : 200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
    response.end(err ? '' : body);
  });
});
await new Promise((ok) => server.listen(0, '127.0.0.1', ok));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let failed = 0;
for (dashboard of dashboards.map((d) => path.resolve(d))) {
  const text = JSON.parse(fs.readFileSync(dashboard, 'utf8'));
  // As high as the dashboard, for tables draw only the rows that can be seen.
  const height = 60 + 38 * (Math.max(...text.panels.map((p) => p.gridPos.y + p.gridPos.h))
    + text.panels.reduce((sum, p) => sum + Math.max(0, ...(p.panels ?? []).map((q) => q.gridPos.y + q.gridPos.h - p.gridPos.y - 1)), 0));
  const page = await browser.newPage({ viewport: { width: 1608, height } });
  page.on('pageerror', (e) => { failed++; console.error('error:', String(e.stack).slice(0, 600)); });
  await page.goto(`http://127.0.0.1:${server.address().port}/?prom=${encodeURIComponent(prom)}&span=${span}${one.has(text.uid) ? '&var-replica_id=' + replica : ''}`);
  await page.waitForFunction(() => window.__want && (window.__done || 0) >= window.__want, null, { timeout: 60000 });
  await page.waitForTimeout(1000);
  const seen = await page.evaluate(() => ({ missing: window.__missing, errors: window.__errors || [], texts: [...document.querySelectorAll('pre.error')].map((x) => x.textContent) }));
  failed += seen.errors.length + seen.texts.length;
  console.log(path.basename(dashboard), JSON.stringify(seen));
  await page.screenshot({ path: path.join(out, path.basename(dashboard, '.json') + '.png'), fullPage: true });
  await page.close();
}
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
