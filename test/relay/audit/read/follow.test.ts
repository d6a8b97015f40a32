import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LogFollower } from '#relay/audit/read/follow.js'
import { entry } from '../entries.js'
import { clock, open } from '../logs.js'

const lines = async (follower: LogFollower): Promise<readonly string[]> => {
  const found: string[] = []
  for await (const { lines } of follower.poll()) for (const bytes of lines) found.push(bytes.toString())
  return found
}

const seqs = async (follower: LogFollower): Promise<readonly number[]> =>
  (await lines(follower)).map(line => (JSON.parse(line) as { seq: number }).seq)

t.test('what grows is read on from where it was, by whole lines', async t => {
  const file = join(t.testdir(), 'a.ndjson')
  writeFileSync(file, 'old\nhal')
  const follower = new LogFollower([file])
  t.strictSame([...(await follower.skip())], [[file, 4]])
  t.strictSame(await lines(follower), [])
  appendFileSync(file, 'f\nnew\nlate')
  t.strictSame(await lines(follower), ['half', 'new'])
  appendFileSync(file, 'r é\n')
  t.strictSame(await lines(follower), ['later é'])
  t.strictSame(await lines(follower), [])
})

t.test('a line that is longer than what is read at a time is one line', async t => {
  const file = join(t.testdir(), 'a.ndjson')
  const follower = new LogFollower([file])
  t.strictSame(await lines(follower), [], 'a file that is not there may come')
  writeFileSync(file, `${'x'.repeat(700_000)}\nshort\n`)
  t.strictSame((await lines(follower)).map(({ length }) => length), [700_000, 5])
  appendFileSync(file, 'y'.repeat(300_000))
  t.strictSame(await lines(follower), [])
  truncateSync(file, 0)
  appendFileSync(file, 'anew\n')
  t.strictSame(await lines(follower), ['anew'], 'one that was cut begins anew')
})

t.test('a folder is followed with all below it, and what comes to be in it', async t => {
  const folder = t.testdir()
  const at = (...names: readonly string[]) => join(folder, ...names)
  writeFileSync(at('old.ndjson'), '1\n')
  const follower = new LogFollower([folder])
  await follower.skip()
  mkdirSync(at('deeper'))
  writeFileSync(at('deeper', 'new.ndjson'), '2\n')
  writeFileSync(at('notes.txt'), 'no log\n')
  appendFileSync(at('old.ndjson'), '3\n')
  t.strictSame([...(await lines(follower))].sort(), ['2', '3'])
  rmSync(at('old.ndjson'))
  writeFileSync(at('old.ndjson'), '4\n5\n')
  t.strictSame(
    await lines(follower), ['4', '5'],
    'another file of the same name is another file, whatever number the system gives it',
  )
})

t.test('what is old can be left out, and is followed when it grows', async t => {
  const folder = t.testdir({ 'a.ndjson': '1\n' })
  const follower = new LogFollower([folder])
  t.strictSame([...(await follower.skip(modified => modified < 0))], [])
  t.strictSame(await lines(follower), ['1'])
})

t.test('a log is followed over rotation, however often it came between two looks', async t => {
  for (const name of ['named', undefined]) {
    const folder = t.testdir()
    const time = clock('2026-11-21T12:00:00.000Z')
    const file = name && join(folder, `${name}.ndjson`)
    const audit = await open(file, { maxBytes: 900, now: time.now, environment: { XDG_STATE_HOME: folder } })
    const write = (times: number) => {
      for (let each = 0; each < times; each += 1) {
        time.pass(1000)
        audit.write(entry())
      }
    }
    write(1)
    for (const path of [audit.file ?? '', folder]) {
      const follower = new LogFollower([path])
      await follower.skip()
      const seen: number[] = []
      for (const times of [1, 1, 10, 1, 5]) {
        write(times)
        seen.push(...(await seqs(follower)))
      }
      t.strictSame(
        seen, Array.from({ length: seen.length }, (_, index) => (seen[0] ?? 0) + index),
        `${name ?? 'own'}: each once, in order`,
      )
      t.ok(seen.length >= 18)
    }
    audit.close()
  }
})

t.test('a file that is renamed is not read again', async t => {
  const folder = t.testdir({ 'a.ndjson': 'one\n' })
  const follower = new LogFollower([folder])
  t.strictSame(await lines(follower), ['one'])
  renameSync(join(folder, 'a.ndjson'), join(folder, 'b.ndjson'))
  appendFileSync(join(folder, 'b.ndjson'), 'two\n')
  t.strictSame(await lines(follower), ['two'])
})
