import { join } from 'node:path'
import t from 'tap'
import { onChange } from '#relay/host/serve/reload.js'

t.test('whoever was warned that the old configuration stays hears that the new one holds', async t => {
  const file = join(t.testdir({ 'customs.yaml': 'version: 1' }), 'customs.yaml')
  const said: string[] = []
  const say = (level: string) => (message: string) => void said.push(`${level}: ${message}`)
  const log = { warn: say('warn'), info: say('info'), decision: () => {}, httpRequest: () => {}, checkpoint: () => {},
    close: async () => {} }
  const results: string[] = []
  const faults = [undefined, 'line 3 is wrong', undefined, undefined]
  const stop = onChange(file, async () => {
    const fault = faults.shift()
    if (fault !== undefined) throw new Error(fault)
  }, log, { reloaded: result => void results.push(result) })
  for (let times = 0; times < 4; times++) process.emit('SIGHUP')
  await stop()
  t.strictSame(said, [
    'info: the configuration was read again, and holds',
    'warn: the configuration was not read again, the old one stays: line 3 is wrong',
    'warn: the configuration was read again, and holds',
    'info: the configuration was read again, and holds',
  ])
  t.strictSame(results, ['ok', 'failed', 'ok', 'ok'])
})
