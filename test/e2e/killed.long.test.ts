import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test as TapTest } from 'tap'
import { readLine } from '#relay/audit/read/line.js'
import { linesOf } from '#relay/audit/read/lines.js'
import { findLogs } from '#relay/audit/read/logs.js'
import { verify } from '#relay/audit/read/verify.js'
import { field } from '#relay/protocol/unmetered.js'
import { keysIn } from '../relay/audit/logs.js'
import { cli, scratch, type Test } from './bridge.js'
import { legacy, request } from './cases.js'
import { start } from './harness.js'

const server = fileURLToPath(new URL('../../test/fixtures/lying/mortal-server.mjs', import.meta.url))
const kills = 10
const calls = 400

/**
 * A relay under load, killed when so many calls are answered.
 * @returns the ids of all answers that left it
 */
const killed = async (
  t: Test & Pick<TapTest, 'match'>, round: number, options: readonly string[], env: NodeJS.ProcessEnv,
): Promise<readonly string[]> => {
  const relay =
    start(t, process.execPath, [cli, 'wrap', ...options, '--', process.execPath, server, '0'], env)
  const initialize =
    `"protocolVersion":"${legacy}","capabilities":{},"clientInfo":{"name":"load","version":"1"}`
  relay.send(request(legacy, '0', 'initialize', initialize))
  await relay.next()
  relay.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  // Some are longer than a page, so that a record may be cut in the middle.
  const word = (at: number): string => 'x'.repeat(at % 10 === 0 ? 20_000 : 10)
  for (let at = 0; at < calls; at++) {
    relay.send(request(
      legacy, `"${round}-${at}"`, 'tools/call', `"name":"echo","arguments":{"word":"${word(at)}"}`,
    ))
  }
  const answers: string[] = []
  while (answers.length <= (round * 37) % (calls / 2)) answers.push(await relay.next())
  t.match(await relay.stop('SIGKILL'), { signal: 'SIGKILL' })
  // What was cut in the middle has not left.
  return [...answers, ...relay.untaken].filter(line => line.endsWith('}')).map(line =>
    (JSON.parse(line) as { id: string }).id)
}

const kinds = [
  ['each with a file of its own', false],
  ['on one file that is named, with signed checkpoints', true],
] as const

for (const [name, named] of kinds) {
  t.test(`relays that are killed under load, ${name}: the log verifies, and nothing left before its record`, async t => {
    const folder = scratch(t)
    const { signKey, key } = keysIn(folder)
    const logs = join(folder, 'mcp-customs')
    const config = join(folder, 'customs.json')
    writeFileSync(config, JSON.stringify(
      { audit: { payloads: 'full', ...(named && { signKey, file: join(logs, 'audit.ndjson') }) } },
    ))
    const left: string[] = []
    for (let round = 0; round < kills; round++) {
      left.push(...(await killed(t, round, ['--config', config], { XDG_STATE_HOME: folder })))
    }

    const found = await findLogs([logs])
    t.equal(found.length, named ? 1 : kills)
    const recorded = new Set<unknown>()
    for (const file of found.flat()) {
      for (const { bytes } of linesOf(file)) {
        const { record } = readLine(bytes)
        if (record) recorded.add(field(record.members, 'id'))
      }
    }
    t.strictSame(left.filter(id => !recorded.has(id)), [])
    t.ok(left.length >= kills, `${left.length} answers`)
    for (const files of found) {
      const { ok, first, open } = verify(files, { keys: named ? [key] : [] })
      // In a file that nobody goes on with, the last line may have been cut in the middle.
      if (!ok) t.match(first?.reason, /^half-cut/)
      t.equal(open.sessions, named ? kills : 1)
    }
    t.equal(
      existsSync(join(logs, 'audit.ndjson.lock')), named,
      'the claim of a dead process stays until somebody takes it over',
    )
  })
}
