import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { onOneLine } from '#relay/protocol/scan.js'
import { stdioClient } from '#relay/transport/stdio/client.js'
import { listen } from '../listen.js'
import { anyLine, raw } from './harness.js'

const limits = { messageBytes: 1000, depth: 128 }

const start = (graceMs?: number) => {
  const input = new PassThrough()
  const output = new PassThrough()
  const transport = stdioClient({ input, output, limits, ...(graceMs !== undefined && { graceMs }) })
  return { input, output, transport, ...listen(transport) }
}

t.test('what the client writes is heard byte for byte, however it is cut', async () => {
  await fc.assert(fc.asyncProperty(fc.array(anyLine), fc.array(
    fc.integer({ min: 1, max: 60 }), { minLength: 1 },
  ), async (lines, sizes) => {
    const { input, frames, first, all } = start()
    const bytes = Buffer.concat(lines.flatMap(line => [line, Buffer.from('\n')]))
    for (let at = 0, cut = 0; at < bytes.length; cut += 1) {
      const size = sizes[cut % sizes.length] ?? 1
      input.write(bytes.subarray(at, at + size))
      at += size
    }
    input.end()
    await first('ended')
    const heard = await frames(all('frame').length)
    return heard.length === lines.length
      && heard.every((line, index) => line.equals(lines[index] ?? Buffer.alloc(0)))
  }))
})

t.test('a message of several lines leaves in one, for readers of every kind of line end', async t => {
  const { output, transport } = start()
  const lines = ['{\n  "a": "\\n",\r\n  "b": 1.0\n}\n', '{"a":\r[\r{"id":1}]}', '{"a":1}\r']
  for (const line of lines) transport.send(stdioExchange, raw(Buffer.from(line)))
  const heard = buffer(output)
  await transport.close()
  output.end()
  t.equal((await heard).toString(), '{   "a": "\\n",    "b": 1.0 } \n{"a": [ {"id":1}]}\n{"a":1}\r\n')
})

t.test('what is sent reaches the client byte for byte, in order, each with a line end', async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(
    anyLine, fc.constant(Buffer.alloc(10_000, 'x')),
  )), async lines => {
    const { output, transport } = start()
    for (const line of lines) transport.send(stdioExchange, raw(line))
    const heard = buffer(output)
    await transport.close()
    output.end()
    return (await heard).equals(Buffer.concat(lines.flatMap(line => [onOneLine(line), Buffer.from('\n')])))
  }))
})

t.test('all frames of the pipe belong to one exchange', async t => {
  const { input, all, frames } = start()
  input.write('{}\n[]\n')
  await frames(2)
  t.strictSame(all('frame').map(({ exchange }) => exchange), [stdioExchange, stdioExchange])
})

t.test('nothing is read before the start, and nothing while paused', async t => {
  const input = new PassThrough()
  input.write('{"early":1}\n')
  const transport = stdioClient({ input, output: new PassThrough(), limits })
  transport.pause(stdioExchange)
  const { all, line } = listen(transport)
  input.write('{"late":1}\n')
  await new Promise(setImmediate)
  t.strictSame(all('frame'), [])
  transport.resume(stdioExchange)
  t.equal(await line(1), '{"late":1}')
})

t.test('a line beyond the limit is one frame, and the next line is heard', async t => {
  const { input, all, line } = start()
  input.write('x'.repeat(5000))
  input.write('x'.repeat(5000) + '\n{}\n')
  t.equal(await line(1), '{}')
  t.match(all('frame')[0]?.frame.faults, [{ kind: 'size' }])
  t.ok((all('frame')[0]?.frame.bytes.length ?? Infinity) < 5000, 'it is not kept whole')
})

t.test('the end of the client’s output is the end, told once, and answers still go out', async t => {
  const { input, output, transport, first, all } = start()
  input.end('{}\n')
  t.strictSame(await first('ended'), { type: 'ended', reason: 'the client closed its output' })
  transport.send(stdioExchange, raw('an answer'))
  await transport.close()
  output.end()
  t.equal(await text(output), 'an answer\n')
  t.equal(all('ended').length, 1)
})

t.test('a client that says nothing more has time for its answers, until it reads nothing more', async t => {
  const { input, output, first, all } = start(1000)
  input.end()
  t.strictSame(await first('ended'), { type: 'ended', reason: 'the client closed its output', graceMs: 1000 })
  output.destroy(new Error('write EPIPE'))
  await new Promise(setImmediate)
  t.strictSame(
    all('ended').slice(1), [{ type: 'ended', reason: 'the client does not read any more: write EPIPE' }],
  )
})

t.test('a failing pipe is the end', async t => {
  const cases: [string, (pipes: { input: PassThrough; output: PassThrough }) => void, string][] = [
    [
      'EPIPE', ({ output }) => output.destroy(new Error('write EPIPE')),
      'the client does not read any more: write EPIPE',
    ],
    ['EIO', ({ input }) => input.destroy(new Error('read EIO')), 'reading from the client failed: read EIO'],
    ['closed', ({ input }) => input.destroy(), 'the client closed its output'],
  ]
  for (const [name, fail, reason] of cases) {
    const { input, output, transport, first, all } = start()
    fail({ input, output })
    t.strictSame(await first('ended'), { type: 'ended', reason }, name)
    transport.send(stdioExchange, raw('too late'))
    await transport.close()
    t.equal(all('ended').length, 1)
  }
})

t.test('a client that does not read holds us up until it does', async t => {
  const { output, transport, first, all } = start()
  let sent = 1
  while (transport.send(stdioExchange, raw(Buffer.alloc(10_000, 'x')))) sent += 1
  t.ok(sent < 40, `full after ${sent} messages of 10 KB`)
  t.strictSame(all('drained'), [])
  output.resume()
  await first('drained')
  t.equal(transport.send(stdioExchange, raw('x')), true)
})

t.test('a client that goes away while it holds us up lets go, and is not heard any more', async t => {
  const { input, output, transport, events, first } = start()
  while (transport.send(stdioExchange, raw(Buffer.alloc(10_000, 'x'))));
  output.destroy(new Error('write EPIPE'))
  await first('drained')
  input.write('{}\n')
  await new Promise(setImmediate)
  t.strictSame(events.map(({ type }) => type), ['ended', 'drained'])
})

t.test('closing lets go of the pipes', async t => {
  const { input, output, transport, first, events } = start()
  input.write('{}\n')
  await first('frame')
  await transport.close()
  await transport.close()
  const names = ['data', 'end', 'close', 'resume', 'drain'] as const
  t.strictSame(names.filter(name => input.listenerCount(name) > 0), [])
  t.equal(output.listenerCount('drain'), new PassThrough().listenerCount('drain'))
  t.equal(events.length, 1, 'we know that we ended')
  output.destroy(new Error('as late as this'))
  await new Promise(resolve => output.once('close', resolve))
})

/** The transport in a process of its own, on real pipes. */
const running = (t: Test, ...args: string[]) => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../../../test/fixtures/process/wrap.mjs', import.meta.url)), ...args],
  )
  t.teardown(() => child.kill('SIGKILL'))
  return { child, exit: once(child, 'exit') }
}

t.test('all that was sent is delivered before the process may exit', async t => {
  const { child, exit } = running(t, 'deliver', '5')
  await once(child.stdout, 'readable')
  const heard = await buffer(child.stdout)
  t.equal(heard.length, 5 * ((1 << 20) + 1))
  t.strictSame(await exit, [0, null])
})

t.test('a client that never reads does not keep the process', async t => {
  const { exit } = running(t, 'deliver', '5')
  t.strictSame(await exit, [0, null])
})

t.test('a client that goes away ends the process in good order', async t => {
  const { child, exit } = running(t, 'chatter')
  const said = text(child.stderr)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  t.strictSame(await exit, [0, null])
  t.match(await said, /^the client does not read any more: write EPIPE$/)
})
