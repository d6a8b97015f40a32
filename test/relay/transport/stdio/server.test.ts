import { spawn } from 'node:child_process'
import { chmodSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { exitCodeOf } from '#relay/transport/process/spawn.js'
import { stdioServer, type StdioServerOptions } from '#relay/transport/stdio/server.js'
import { onOneLine } from '#relay/protocol/scan.js'
import { listen } from '../listen.js'
import { anyLine, raw, request, runs } from './harness.js'
import { exchange } from '#test/exchange.js'

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/process/${name}`, import.meta.url))
const limits = { messageBytes: 16 * 1024 * 1024, depth: 128 }

const start = (
  t: Test, command: readonly [string, ...string[]], options: Partial<StdioServerOptions> = {},
) => {
  const transport = stdioServer({ command, limits, ...options })
  t.teardown(() => transport.close(3))
  return { transport, ...listen(transport) }
}

/** The fixture, behaving as told. */
const behaving = (t: Test, behaviour: readonly string[], options: Partial<StdioServerOptions> = {}) =>
  start(t, [process.execPath, fixture('server.mjs'), ...behaviour], options)

t.test('any bytes come back from an echo as they went, and in order', async t => {
  const { transport, frames } = behaving(t, ['echo'])
  let count = 0
  await fc.assert(fc.asyncProperty(fc.array(anyLine, { minLength: 1 }), async lines => {
    for (const line of lines) transport.send(stdioExchange, raw(line))
    count += lines.length
    const heard = (await frames(count)).slice(-lines.length)
    return Buffer.concat(heard).equals(Buffer.concat(lines.map(onOneLine))) && heard.length === lines.length
  }))
})

t.test('before a response is read, the transport asks for its schema by its id', async t => {
  const { transport, line, asked } = behaving(t, ['echo'])
  // A short message is parsed without one.
  const structuredContent = { text: 'x'.repeat(1024) }
  transport.send(stdioExchange, raw(
    JSON.stringify({ jsonrpc: '2.0', id: 'a', result: { content: [], structuredContent } }),
  ))
  await line(0)
  t.strictSame(asked, [[stdioExchange.name, '"a"']])
})

t.test('a message of some megabytes passes both ways', async t => {
  const { transport, frames, first } = behaving(t, ['echo'])
  const big = Buffer.alloc(5_000_000, 'é')
  t.equal(transport.send(stdioExchange, raw(big)), false, 'the server cannot have read that yet')
  await first('drained')
  t.ok(big.equals((await frames(1))[0] ?? Buffer.alloc(0)))
})

t.test('chunks of the server may be cut anywhere', async t => {
  const text = '{"a":"é🎉"}\n{"b":"\r"}\r\n{"c":1}'
  const cuts: [string, Buffer[]][] = [
    ['whole', [Buffer.from(text)]],
    ['inside of characters', [...Buffer.from(text)].map(byte => Buffer.from([byte]))],
    ['before each LF', text.split(/(?=\n)/).map(part => Buffer.from(part))],
  ]
  for (const [name, chunks] of cuts) {
    const { lines, first } = behaving(t, ['dribble', ...chunks.map(chunk => chunk.toString('base64'))])
    await first('ended')
    t.strictSame(lines(), ['{"a":"é🎉"}', '{"b":"\r"}\r', '{"c":1}'], name)
  }
})

t.test('what the server said last is heard before its end is', async t => {
  const { events, lines, first } = behaving(t, ['exit', '0', '20000'])
  await first('ended')
  t.equal(lines().length, 20_000)
  t.equal(lines().at(-1), '{"line":19999}')
  t.equal(events.at(-1)?.type, 'ended')
})

t.test('what the server said last is kept for a client that pauses', async t => {
  const { transport, lines, first } = behaving(t, ['exit', '0', '20000'])
  await first('frame')
  transport.pause(stdioExchange)
  const before = lines().length
  // It cannot have said everything: so much does not fit into the pipe.
  t.ok(before < 20_000)
  transport.resume(stdioExchange)
  await first('ended')
  t.equal(lines().length, 20_000)
})

t.test('the end of the process is told', async t => {
  const cases: [string[], { code: number | null; signal: NodeJS.Signals | null }, number, string][] = [
    [['exit', '0'], { code: 0, signal: null }, 0, 'the server exited with code 0'],
    [['exit', '3'], { code: 3, signal: null }, 3, 'the server exited with code 3'],
    [['exit', '255'], { code: 255, signal: null }, 255, 'the server exited with code 255'],
    [['die', 'SIGTERM'], { code: null, signal: 'SIGTERM' }, 143, 'the server was ended by SIGTERM'],
    [['die', 'SIGKILL'], { code: null, signal: 'SIGKILL' }, 137, 'the server was ended by SIGKILL'],
    [
      ['die', 'SIGABRT'], { code: null, signal: 'SIGABRT' }, 128 + constants.signals.SIGABRT,
      'the server was ended by SIGABRT',
    ],
  ]
  for (const [behaviour, exit, code, reason] of cases) {
    const { transport, all, first } = behaving(t, behaviour)
    await first('ended')
    await transport.close()
    t.strictSame(all('ended'), [{ type: 'ended', reason, exit }], behaviour.join(' '))
    t.equal(exitCodeOf(exit), code)
    t.strictSame(transport.exit, exit)
  }
})

t.test('a death is told, and no end that was asked for', async t => {
  const deaths: string[] = []
  const died = (reason: string) => void deaths.push(reason)
  const dead = behaving(t, ['exit', '3'], { died })
  await dead.first('ended')
  await dead.transport.close()
  t.strictSame(deaths.splice(0), ['the server exited with code 3'])
  await behaving(t, ['echo'], { died }).transport.close()
  t.strictSame(deaths, [])
  await start(t, ['no-such-command'], { died }).first('ended')
  t.strictSame(deaths, ['cannot start "no-such-command": command not found'])
})

t.test('a command that cannot be started is an end with a clear reason', async t => {
  const dir = t.testdir({ plain: 'no program', orphan: '#!/no/such/interpreter\n' })
  chmodSync(`${dir}/orphan`, 0o755)
  const cases: [string, Partial<StdioServerOptions>, string][] = [
    ['no-such-command', {}, 'cannot start "no-such-command": command not found'],
    [`${dir}/missing`, {}, `cannot start "${dir}/missing": there is no such file`],
    [`${dir}/plain`, {}, `cannot start "${dir}/plain": permission denied`],
    [
      `${dir}/orphan`, {},
      `cannot start "${dir}/orphan": the interpreter that its first line names was not found`,
    ],
    [
      process.execPath, { cwd: `${dir}/nowhere` },
      `cannot start "${process.execPath}": the working directory "${dir}/nowhere" does not exist`,
    ],
    ['evil\u001b[2J', {}, 'cannot start "evil\\u001b[2J": command not found'],
  ]
  for (const [command, options, reason] of cases) {
    const { transport, all, first } = start(t, [command], options)
    transport.send(stdioExchange, request(1))
    t.strictSame(await first('ended'), { type: 'ended', reason })
    await transport.close()
    t.equal(all('ended').length, 1)
    t.match(transport.failure, { code: 'CANNOT_START', exitCode: 2, message: reason })
    t.equal(transport.exit, undefined)
  }
})

t.test('a command line that no system takes is a failure too', async t => {
  const { transport, first } = start(t, [process.execPath, 'a\0b'])
  t.match(await first('ended'), { reason: /^cannot start ".*": .*null bytes/ })
  t.match(transport.failure, { code: 'CANNOT_START' })
})

t.test('closing at once a command that cannot be started keeps the reason', async t => {
  const { transport, events } = start(t, ['no-such-command'])
  await transport.close()
  t.strictSame(events, [{ type: 'ended', reason: 'cannot start "no-such-command": command not found' }])
})

t.test('arguments and environment arrive as given', async t => {
  const odd = [
    '', ' ', '"', '\'', '\\', '$HOME', '`id`', '*', '; exit 1', '&&', 'a\nb', '--flag=', 'ünï🎉', '%PATH%',
    '^',
  ]
  const text = fc.string({ unit: 'grapheme' }).filter(each => !each.includes('\0'))
  const args = [...odd, ...fc.sample(text, 50)]
  const dir = t.testdir()
  const env = { ODD: 'a "b" \'c\' $d\n e=f', EMPTY: '', PATH: process.env.PATH ?? '' }
  const { line } = behaving(t, ['introduce', ...args], { env, cwd: dir })
  const heard: unknown = JSON.parse(await line(0))
  t.match(heard, { cwd: realpathSync(dir), env })
  t.strictSame((heard as { args: unknown }).args, args)
})

t.test('stderr is the server’s own: not a byte of it changes', async t => {
  const child = spawn(
    process.execPath, [fixture('wrap.mjs'), 'server', process.execPath, fixture('server.mjs'), 'mutter'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const heard = await buffer(child.stderr)
  t.ok(heard.equals(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))), heard.toString('latin1'))
})

t.test('closing ends a server that heeds its stdin, without a signal', async t => {
  const { transport, all } = behaving(t, ['echo'])
  await transport.close()
  t.strictSame(
    all('ended'),
    [{ type: 'ended', reason: 'the server exited with code 0', exit: { code: 0, signal: null } }],
  )
})

t.test('what was sent before closing arrives, and what is answered then is heard', async t => {
  const { transport, lines } = behaving(t, ['echo'])
  for (let id = 0; id < 1000; id += 1) transport.send(stdioExchange, request(id))
  await transport.close()
  t.equal(lines().length, 1000)
})

t.test('a server that ignores the end of its stdin is terminated', async t => {
  const { transport, line } = behaving(t, ['ignoreEnd'], { stopMs: 50 })
  const pid = Number(await line(0))
  await transport.close()
  t.strictSame(transport.exit, { code: null, signal: 'SIGTERM' })
  t.notOk(runs(pid))
})

t.test('a server that ignores SIGTERM as well is killed', async t => {
  const { transport, line, lines } = behaving(t, ['ignoreAll'], { stopMs: 50 })
  const pid = Number(await line(0))
  await transport.close()
  t.strictSame(transport.exit, { code: null, signal: 'SIGKILL' })
  t.strictSame(lines().slice(1), ['SIGTERM'])
  t.notOk(runs(pid))
})

t.test('a more urgent close takes the next steps at once, and a less urgent one takes nothing back', async t => {
  const hour = 3_600_000
  const { transport, line, all } = behaving(t, ['ignoreAll'], { stopMs: hour })
  await line(0)
  const closed = [transport.close(), transport.close(2)]
  t.equal(await line(1), 'SIGTERM')
  await Promise.all([...closed, transport.close(1), transport.close(3), transport.close(1)])
  t.strictSame(transport.exit, { code: null, signal: 'SIGKILL' })
  t.equal(all('ended').length, 1)
  await transport.close()
})

t.test('a more urgent close does not repeat a step that time has taken', async t => {
  const { transport, line } = behaving(t, ['ignoreAll'], { stopMs: 1000 })
  await line(0)
  const closed = transport.close()
  t.equal(await line(1), 'SIGTERM')
  const again = transport.close(2)
  t.equal(transport.exit, undefined, 'still its own time to end')
  await Promise.all([closed, again])
  t.strictSame(transport.exit, { code: null, signal: 'SIGKILL' })
})

t.test('what the server started goes with it', async t => {
  const cases: [string, string[]][] = [
    ['both heed', ['parent', 'echo', 'echo']],
    ['the child ignores', ['parent', 'ignoreAll', 'echo']],
    ['both ignore', ['parent', 'ignoreAll', 'ignoreAll']],
    ['the parent exits first', ['parent', 'ignoreAll', 'exit']],
  ]
  for (const [name, behaviour] of cases) {
    const { transport, lines, line } = behaving(t, behaviour, { stopMs: 50 })
    if (behaviour.includes('ignoreAll')) await line(0)
    await transport.close()
    t.strictSame(lines().map(Number).filter(runs), [], name)
  }
})

t.test('a server that exits is gone, though what it started holds its stdout and chatters', async t => {
  const { transport, first, lines } =
    behaving(t, ['parent', 'chatter', 'exit'], { stopMs: 50, stderr: 'ignore' })
  t.match(await first('ended'), { reason: 'the server exited with code 0', exit: { code: 0, signal: null } })
  await transport.close()
  t.notOk(runs(Number(lines()[0])))
})

t.test('a server that closes its stdout is gone, and then ended', async t => {
  const { transport, first, lines } = behaving(t, ['closeStdout'])
  t.strictSame(await first('ended'), { type: 'ended', reason: 'the server closed its stdout' })
  t.strictSame(lines(), ['the last line'])
  await transport.close()
  t.strictSame(transport.exit, { code: 5, signal: null }, 'it could end in its own way')
})

t.test('requests that a server does not read any more are lost', async t => {
  const { transport, line, first, all } = behaving(t, ['closeStdin'])
  await line(0)
  transport.send(exchange('some exchange'), request(7))
  t.strictSame(await first('lost'), {
    type: 'lost', exchange: exchange('some exchange'), key: '7', reason: 'the server does not read any more',
  })
  transport.send(stdioExchange, raw('a notification'))
  t.equal(transport.send(stdioExchange, request(8)), true)
  t.strictSame(all('ended'), [])
})

t.test('sending to a server that has ended does no harm', async t => {
  const { transport, first, events } = behaving(t, ['exit', '0'])
  await first('ended')
  t.equal(transport.send(stdioExchange, request(1)), true)
  await transport.close()
  transport.send(stdioExchange, request(2))
  transport.pause(stdioExchange)
  transport.resume(stdioExchange)
  t.equal(events.at(-1)?.type, 'ended')
})

t.test('a server that does not read holds us up until it does', async t => {
  const { transport, line, first, all } = behaving(t, ['deaf'])
  const pid = Number(await line(0))
  const message = raw(Buffer.alloc(100_000, 'x'))
  let sent = 0
  do sent += 1
  while (transport.send(stdioExchange, message))
  t.ok(sent < 20, `full after ${sent} messages of 100 KB`)
  t.strictSame(all('drained'), [])
  process.kill(pid, 'SIGUSR2')
  await first('drained')
  t.equal(transport.send(stdioExchange, message), true)
  await transport.close()
  t.equal(await line(1), String((sent + 1) * 100_001))
})

t.test('a server that dies while it holds us up lets go', async t => {
  const { transport, line, first, all } = behaving(t, ['deaf'])
  const pid = Number(await line(0))
  let id = 0
  while (transport.send(stdioExchange, { ...request(id), bytes: Buffer.alloc(100_000, 'x') })) id += 1
  process.kill(pid, 'SIGKILL')
  await first('ended')
  t.ok(all('lost').length > 0, 'what did not fit into the pipe')
})

t.test('a paused server is not read', async t => {
  const { transport, line, lines } = behaving(t, ['chatter'])
  await line(0)
  transport.pause(stdioExchange)
  // The chunk in hand has been told: nothing follows, however long the server chatters.
  const before = lines().length
  const other = behaving(t, ['chatter'])
  await other.line(100)
  t.equal(lines().length, before)
  transport.resume(stdioExchange)
  await line(before + 10)
})
