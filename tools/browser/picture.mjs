// Draws one page in both themes: node picture.mjs URL WIDTH HEIGHT OUT, for OUT-light.png and OUT-dark.png.
import { chromium } from 'playwright-core';

const [url, width, height, out] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
for (const colorScheme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
  await page.goto(url);
  await page.screenshot({ path: `${out}-${colorScheme}.png` });
  await page.close();
}
await browser.close();
