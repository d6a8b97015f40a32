import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { outputInThread, standardOutput } from '#relay/base/platform/standard-output.js'

t.test('a pipe that nobody reads holds up its writer, and not the event loop', async t => {
  const pipe = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const descriptor = openSync(pipe, constants.O_WRONLY)
  t.teardown(() => closeSync(descriptor))
  const output = outputInThread(descriptor)
  const long = Buffer.alloc(1_000_000, 'x')
  const written = new Promise<void>((resolve, reject) =>
    output.write(long, error => (error ? reject(error) : resolve())))
  // The event loop turns while the pipe is full, which holds 64 KB.
  let turns = 0
  while (turns < 10) await new Promise(resolve => setImmediate(() => resolve((turns += 1))))
  const buffer = Buffer.alloc(65_536)
  for (let read = 0; read < long.length;) {
    try {
      read += readSync(reader, buffer)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  await written
  t.equal(output.writableLength, 0)
  closeSync(reader)
})

t.test('only Windows needs a thread', async t => {
  t.equal(standardOutput('linux'), process.stdout)
  t.not(standardOutput('win32'), process.stdout)
})
