import { writeFileSync, type mkdirSync } from 'node:fs'
import { join, win32 } from 'node:path'
import t from 'tap'
import { expand, isHeldOpen, makeFolder, replaceFile } from '#relay/base/platform/files.js'
import type { Machine } from '#relay/base/platform/machine.js'

const failure = (code: string) => Object.assign(new Error(code), { code })

/** Refuses so many renames. */
const refusing = (times: number, code: string) => {
  let refused = 0
  const waits: number[] = []
  return {
    waits,
    options: (platform: NodeJS.Platform) => ({
      platform, wait: async (ms: number) => void waits.push(ms),
      move: async () => {
        if (refused++ < times) throw failure(code)
      },
    }),
  }
}

for (const code of ['EPERM', 'EACCES', 'EBUSY']) {
  t.test(`Windows: a rename that is refused with ${code} is tried again, for 3 seconds`, async t => {
    const few = refusing(4, code)
    await replaceFile('new', 'file', few.options('win32'))
    t.strictSame(few.waits, [10, 20, 40, 80])
    const all = refusing(Infinity, code)
    await t.rejects(replaceFile('new', 'file', all.options('win32')), { code })
    const waited = all.waits.reduce((sum, ms) => sum + ms)
    t.ok(waited >= 3000 && waited <= 3500, `${waited} ms`)
    t.ok(isHeldOpen(failure(code), 'win32'))
  })
  t.test(`elsewhere a rename that is refused with ${code} has failed`, async t => {
    const one = refusing(1, code)
    await t.rejects(replaceFile('new', 'file', one.options('linux')), { code })
    t.strictSame(one.waits, [])
    t.notOk(isHeldOpen(failure(code), 'darwin'))
  })
}

t.test('Windows: another failure of a rename is told at once', async t => {
  const gone = refusing(1, 'ENOENT')
  await t.rejects(replaceFile('new', 'file', gone.options('win32')), { code: 'ENOENT' })
  t.strictSame(gone.waits, [])
})

t.test('a folder on a drive that is not there is an error of the system', async t => {
  const made: string[] = []
  const disk = {
    existsSync: () => false,
    mkdirSync: ((path: string) => {
      made.push(path)
      throw failure('ENOENT')
    }) as typeof mkdirSync,
  }
  t.throws(() => makeFolder('Q:\\a\\b', disk, path => win32.dirname(path)), { code: 'ENOENT' })
  t.strictSame(made, ['Q:\\'])
})

t.test('a star in a path stands for any part of a folder\'s name', async t => {
  const folder = t.testdir({ Claude_1: {}, Claude_2: {}, Other: {} })
  writeFileSync(join(folder, 'Claude_1', 'file'), '')
  const machine: Machine = { platform: 'linux', environment: {}, home: folder }
  t.strictSame(expand(join(folder, 'Claude_*', 'file'), machine), ['Claude_1', 'Claude_2'].map(name => join(folder, name, 'file')))
  t.strictSame(expand(join(folder, 'nowhere', 'x*', 'file'), machine), [])
  t.strictSame(expand(join(folder, 'file'), machine), [join(folder, 'file')])
})
