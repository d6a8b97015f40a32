import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { captureFilesOf, openCaptureFile } from '#relay/capture/capture.js'
import { captureLinesOf } from '#relay/capture/read.js'

const never = (reason: string) => {
  throw new Error(reason)
}

t.test('a file that is full is put aside, and the oldest of many go', t => {
  const file = join(t.testdir(), 'folder', 'capture.ndjson')
  const capture = openCaptureFile(file, never, { bytes: 10, files: 2 })
  for (let line = 0; line < 6; line++) {
    capture.write(`line ${line} of ten bytes`)
    const since = Date.now()
    // A name has the time in it, to the millisecond.
    while (Date.now() === since);
  }
  capture.close()
  t.strictSame(captureFilesOf(file).map(one => readFileSync(one, 'utf8')), [
    'line 3 of ten bytes\n', 'line 4 of ten bytes\n', 'line 5 of ten bytes\n',
  ])
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.end()
})

t.test('two relays write one capture, and put it aside once', t => {
  const file = join(t.testdir(), 'capture.ndjson')
  const [one, other] = [openCaptureFile(file, never, { bytes: 3, files: 9 }), openCaptureFile(
    file, never, { bytes: 3, files: 9 },
  )]
  one.write('aaa')
  other.write('bbb')
  one.write('ccc')
  other.write('ddd')
  one.close()
  other.close()
  t.strictSame(captureFilesOf(file).flatMap(each => readFileSync(each, 'utf8').trim().split('\n')).sort(), [
    'aaa', 'bbb', 'ccc', 'ddd',
  ])
  t.equal(readFileSync(file, 'utf8').includes('ccc'), true)
  t.end()
})

t.test('a capture that cannot be opened is an error; one that cannot be written any more is told of once', {
  skip: !existsSync('/dev/full'),
}, t => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'taken'))
  t.throws(() => openCaptureFile(join(folder, 'taken'), never), { code: 'CANNOT_AUDIT' })
  const told: string[] = []
  const capture = openCaptureFile('/dev/full', reason => told.push(reason))
  capture.write('a')
  capture.write('b')
  t.strictSame(told, ['the capture /dev/full ends here: the disk is full: make room (ENOSPC)'])
  capture.close()
  t.end()
})

t.test('what is no capture is said to be none; half a line is left out', t => {
  const folder = t.testdir()
  const [none, newer, cut] =
    ['none', 'newer', 'cut'].map(name => join(folder, name)) as [string, string, string]
  writeFileSync(none, '{"event":"tools/list"}\n')
  writeFileSync(newer, '{"capture":2,"session":"a"}\n')
  writeFileSync(
    cut,
    '{"session":"a","time":"2026-11-22T00:00:00.000Z","number":0,"at":1,"event":{"type":"session-ended","reason":"x"}}\n{"session":"a","num',
  )
  t.throws(() => [...captureLinesOf([none])], { code: 'BAD_USAGE', message: /is no capture/ })
  t.throws(() => [...captureLinesOf([newer])], { code: 'BAD_USAGE', message: /version 2/ })
  t.throws(() => [...captureLinesOf([join(folder, 'missing')])], { code: 'BAD_USAGE', message: /ENOENT/ })
  t.equal([...captureLinesOf([cut])].length, 1)
  t.equal(readdirSync(folder).length, 3)
  t.end()
})
