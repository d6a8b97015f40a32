import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readLockFile } from '#relay/lock/file.js'

const dist = (path: string) => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href)

/** Adds servers to a lock file, one at a time; a writer whose file has changed meanwhile reads it again. */
const writer = `
  import { readLockFile, writeLock } from ${dist('relay/lock/file.js')}
  import { emptyOffer } from ${dist('relay/lock/offer.js')}
  const [file, name, count] = process.argv.slice(1)
  const locked = { identity: {}, acceptedBy: '--yes', offers: { legacy: emptyOffer, modern: emptyOffer } }
  for (let made = 0; made < Number(count);) {
    const before = await readLockFile(file)
    const lock = new Map([...(before?.lock ?? []), [name + made, locked]])
    try {
      await writeLock(file, before?.bytes, lock)
      made += 1
    } catch (error) {
      if (error.code !== 'BAD_CONFIG' || !/has changed/.test(error.message)) throw error
    }
  }
`

t.test('of many processes that write one lock none loses what another wrote', async t => {
  const file = join(t.testdir(), 'lock.json')
  const [writers, each] = [4, 10]
  const codes = await Promise.all(Array.from({ length: writers }, async (_, index) => {
    const child = spawn(
      process.execPath, ['--input-type=module', '--eval', writer, file, `server-${index}-`, String(each)],
      { stdio: ['ignore', 'ignore', 'inherit'], cwd: fileURLToPath(new URL('../../..', import.meta.url)) },
    )
    const [code] = await once(child, 'exit') as [number]
    return code
  }))
  t.same(codes, Array(writers).fill(0))
  t.equal((await readLockFile(file))?.lock.size, writers * each)
})
