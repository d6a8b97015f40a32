import { mkdirSync, writeFileSync } from 'node:fs'
import { join, parse } from 'node:path'
import t from 'tap'
import { findLogs, logsIn } from '#relay/audit/read/logs.js'

t.test('logs are found in a folder and below, but not in a whole disk or among too many files', async t => {
  const folder = t.testdir({ 'a.ndjson': '{}', 'b.txt': 'no log', deep: { er: { 'c.ndjson': '{}' } } })
  const [first, second] = [join(folder, 'a.ndjson'), join(folder, 'deep/er/c.ndjson')]
  t.strictSame(await logsIn(folder), [first, second])
  t.strictSame(await findLogs([folder]), [[first], [second]])
  t.strictSame(await logsIn(folder, 5), [first, second], 'two files, two folders and a log are five')
  const message = `${folder}: is too much to search: name the folder of the logs`
  await t.rejects(logsIn(folder, 4), { code: 'CANNOT_AUDIT', message })
  await t.rejects(findLogs([parse(folder).root]), /is too much to search/)
  const wide = join(folder, 'wide')
  mkdirSync(wide)
  for (let index = 0; index < 4; index += 1) writeFileSync(join(wide, `${index}`), '')
  await t.rejects(logsIn(wide, 3), /too much/)
})
