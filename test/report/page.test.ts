import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { reportPage } from '#report/html.js'
import { verdicts } from '#core/findings.js'
import type { LogRecord } from '#report/record.js'
import { Totals } from '#report/totals/totals.js'
import { finding, hostile, record, traffic } from './records.js'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find(path => existsSync(path))

const open = async (t: Test, browser: Browser, records: readonly LogRecord[], width = 1280) => {
  const totals = new Totals()
  for (const one of records) totals.take(one)
  const file = join(t.testdir(), 'report.html')
  const logs = [{ ok: true, text: 'a.ndjson: ok' }, { ok: false, text: 'b.ndjson:7: changed' }]
  writeFileSync(file, await reportPage(totals.summary(Date.UTC(2026, 10, 22), logs)))
  const page = await browser.newPage({ viewport: { width, height: 900 }, timezoneId: 'UTC' })
  t.teardown(() => page.close())
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(error.message))
  page.on('console', message => wrong.push(message.text()))
  page.on('dialog', dialog => wrong.push(dialog.message()))
  page.on('request', request => {
    if (!/^(?:file|data):/.test(request.url())) wrong.push(request.url())
  })
  await page.goto(pathToFileURL(file).href)
  return { page, wrong }
}

const textsOf = (page: Page, selector: string): Promise<readonly string[]> =>
  page.locator(selector).allTextContents()

/** Elements that make the page wider than the window. */
const tooWide = (page: Page) => page.evaluate(`(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth <= clientWidth) return []
  return [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > clientWidth + 1 && !one.closest('.scroll'))
    .map(one => one.tagName + '.' + one.className)
})()`)

const skip = executablePath === undefined && 'there is no Chromium here'

t.test('the page in a browser', { skip }, async t => {
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  t.teardown(() => browser.close())

  await t.test('it shows the counts of all servers, and of one', async t => {
    const records = traffic(3000)
    const { page, wrong } = await open(t, browser, records)
    const all = records.filter(one => one.event === 'tools/call' && one.phase === undefined)
    const tiles = (of: readonly LogRecord[]) => {
      const counts = verdicts.map(verdict => of.filter(one => one.verdict === verdict).length)
      return [of.length, ...counts.filter(count => count > 0)].map(number => number.toLocaleString('en'))
    }
    t.strictSame((await textsOf(page, '.tile .value')).slice(0, 5), tiles(all))
    await page.locator('header select').selectOption('files')
    t.strictSame(
      (await textsOf(page, '.tile .value')).slice(0, 5), tiles(all.filter(one => one.server === 'files')),
    )
    await page.getByRole('searchbox').fill('result/schema nothing-has-this')
    t.match(await textsOf(page, '.card .nothing'), ['Nothing that was held back has this in it.'])
    await page.getByRole('searchbox').fill('files-tool-1 result/schema')
    for (const row of await textsOf(page, '.held li')) t.match(row, /files-tool-1.*result\/schema/)
    t.match(await textsOf(page, '.logs li'), ['✓verified a.ndjson: ok', '✗changed b.ndjson:7: changed'])
    t.strictSame(wrong, [])
  })

  await t.test('tables can be sorted and charts read as tables by keyboard', async t => {
    const { page, wrong } = await open(t, browser, traffic(500))
    const header = page.getByRole('button', { name: 'Findings' }).first()
    await header.focus()
    await page.keyboard.press('Enter')
    t.equal(await page.locator('th[aria-sort="descending"]').first().textContent(), 'Findings')
    const details = page.getByText('As a table').first()
    await details.focus()
    await page.keyboard.press('Enter')
    const rows = await textsOf(page, '.as-table tbody tr')
    t.ok(rows.length > 10)
    const label = await page.getByRole('img').first().getAttribute('aria-label')
    t.match(label, /^Calls over time, per 10 minutes: .* pass /)
    t.strictSame(wrong, [])
  })

  for (const width of [1280, 390]) {
    await t.test(`untrusted names are shown as text within their space, ${width} pixels wide`, async t => {
      const records = hostile.map(([, text], index) => record({
        time: record().time + index, server: text, tool: text, session: text, client: text, revision: text,
        reason: text, verdict: 'block',
        findings: [text, `tool/${text}`, 'tool/drift'].map(rule => finding(rule, text, text)),
      }))
      const { page, wrong } = await open(t, browser, records, width)
      await page.getByText('Show all').first().click()
      t.strictSame(wrong, [])
      t.match(await page.title(), /^mcp-customs report/)
      t.equal(await page.locator('main script, main img, main svg').count(), 0)
      t.strictSame(await tooWide(page), [])
      t.match((await textsOf(page, '.held')).join(), /<script>document\.title/)
      t.match((await textsOf(page, '.held')).join(), /<U\+202E>/)
    })
  }

  await t.test('a page without records says so', async t => {
    const { page, wrong } = await open(t, browser, [])
    t.match(await textsOf(page, 'header p'), ['Nothing is on record'])
    t.strictSame(wrong, [])
  })
})
