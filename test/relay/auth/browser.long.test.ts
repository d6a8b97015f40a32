import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cli, scratch } from '../../e2e/bridge.js'
import { initializeOf, legacy, request } from '../../e2e/cases.js'
import { start } from '../../e2e/harness.js'
import { openProtected } from './protected.js'

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

t.test('a real browser logs in, from wrap to the result of a tool without a hand', {
  skip: chromium === undefined && 'no Chromium is installed',
}, async t => {
  const [one, folder] = [await openProtected(t), scratch(t)]
  const [script, group] = [join(folder, 'browser.sh'), join(folder, 'browser.pid')]
  writeFileSync(script, `echo $$ > '${group}'\nexec "$@"\n`)
  // The relay starts the browser in a process group of its own, which outlives the relay and may outlive the
  // page. The browser writes into the folder until it ends: it is killed before the folder is removed.
  t.teardown(() => {
    try {
      process.kill(-Number(readFileSync(group, 'utf8')), 'SIGKILL')
    } catch {
      // It did not start, or it has ended.
    }
  })
  const browser = [
    '/bin/sh', script, chromium, '--headless=new', '--no-sandbox', '--disable-gpu',
    '--virtual-time-budget=10000', '--dump-dom', `--user-data-dir=${join(folder, 'browser')}`,
  ]
  const relay = start(t, process.execPath, [cli, 'wrap', one.url], {
    XDG_STATE_HOME: join(folder, 'state'), BROWSER: browser.join(' '),
  })
  relay.send(initializeOf())
  t.match(await relay.responseTo('1'), '"serverInfo"')
  relay.send(request(legacy, '2', 'tools/list'))
  t.match(await relay.responseTo('2'), '"honest"')
  relay.send(request(legacy, '3', 'tools/call', '"name":"honest","arguments":{}'))
  t.match(await relay.responseTo('3'), '"done"')
  t.match(await relay.end(), { code: 0 })
  t.same([...one.secrets].filter(secret => relay.stderr().includes(secret)), [], 'no token is written')
})
