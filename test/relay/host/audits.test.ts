import { join } from 'node:path'
import t from 'tap'
import { openLog } from '#relay/audit/log.js'
import { Audits } from '#relay/host/serve/audits.js'
import { openGuard } from '#relay/host/guard.js'
import { usual } from '#relay/config/configuration.js'
import { noMetrics } from '#relay/telemetry/metrics.js'
import { called } from '../audit/entries.js'
import { records } from '../audit/logs.js'
import { plainSetup } from './plain-setup.js'

const server = {
  name: 'a', policy: undefined, rules: new Map(), tools: new Map(), lock: undefined,
  url: 'https://a.example/', headers: new Map(), tls: undefined,
}

/** An audit log that keeps nothing. */
const silent = {
  file: undefined, add: () => () => undefined, prepare: () => undefined, write: () => undefined,
  usage: () => undefined, close: () => undefined,
}

const warned = () => {
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  return { log: { ...openLog('silent', () => undefined), warn }, warnings }
}

t.test('a recorder that fails is dropped, and the session continues', async t => {
  let asked = 0
  const recorder = {
    asked: () => {
      asked++
    },
    handled: () => {
      throw new Error('no more')
    },
  }
  const { log, warnings } = warned()
  const witness = { record: () => recorder, close: () => undefined }
  const guard = openGuard(plainSetup(server), usual, {
    audit: silent, log, metrics: noMetrics, observe: undefined, witness,
  })
  const given = guard.record?.({} as never)
  given?.asked(false)
  given?.handled({ type: 'server-gone', reason: 'it ended' }, 0, [])
  given?.handled({ type: 'server-gone', reason: 'it ended' }, 0, [])
  given?.asked(false)
  t.strictSame(warnings, ['what was written down of a session ends here: no more'])
  t.equal(asked, 1)
  await guard.close()
})

t.test('a tool that is left out costs no message when the audit log cannot be written', async t => {
  const { log, warnings } = warned()
  const audit = {
    ...silent,
    write: () => {
      throw new Error('the disk is full')
    },
  }
  const guard = openGuard(
    { ...plainSetup(server), translate: 'both' }, usual,
    { audit, log, metrics: noMetrics, observe: undefined, witness: undefined },
  )
  t.doesNotThrow(() => guard.eras?.leftOut?.('t'))
  t.equal(warnings.at(-1), 'the disk is full')
  await guard.close()
})

t.test('after a reload, the new payload setting applies to the open log', async t => {
  const file = join(t.testdir(), 'audit.ndjson')
  const log = openLog('silent', () => undefined)
  const audits = new Audits({ log })
  for (const payloads of ['full', 'none'] as const) {
    const configuration = { ...usual, audit: { ...usual.audit, file, payloads } }
    const audit = await audits.open(configuration.audit, server.name)
    const guard = openGuard(
      plainSetup(server), configuration,
      { audit, log, metrics: noMetrics, observe: undefined, witness: undefined },
    )
    guard.audit({ ...called, arguments: Buffer.from('{"city":"Paris"}') })
    await guard.close()
  }
  await audits.close()
  await log.close()
  const [before, after] = records(file)
  t.match(before, { seq: 1, payload: { arguments: { city: 'Paris' } } })
  t.equal(after?.['seq'], 2)
  t.notOk(JSON.stringify(after).includes('Paris'))
})
