import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Started {
  readonly pid: number
  readonly child: ChildProcess
  /** A line; the LF is added. Bytes go as they are. */
  send(line: string | Buffer): void
  /** The next line of its stdout. Rejects when there will be none, or none came within the patience. */
  next(): Promise<string>
  /** The next response with this id (as `JSON.stringify` writes it); other lines stay for `next`. */
  responseTo(key: string): Promise<string>
  /** Lines that came and that nobody has taken. */
  readonly untaken: readonly string[]
  closeInput(): void
  /** Resolves when it has ended and all of its output was read. */
  readonly exit: Promise<Exit>
  /** Closes its input, and waits for the exit. */
  end(): Promise<Exit>
  /** Sends a signal, by default SIGTERM, and waits for the exit. */
  stop(signal?: NodeJS.Signals): Promise<Exit>
  stderr(): string
}

interface Test {
  teardown(handler: () => void): unknown
}

/**
 * How long a test waits for what should come at once, in milliseconds; it ends tests that would hang, and
 * measures nothing.
 */
const patience = 40_000

/**
 * Starts a command in a process group of its own, which is killed when the test ends, and talks raw lines to
 * it.
 */
/** In place of the user's own folder: relays write logs there. */
const state = join(tmpdir(), `mcp-customs-state-${process.pid}`)
process.once('exit', () => rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))

export const start = (
  t: Test, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {},
): Started => {
  // The test runner adds to the options of what is spawned: where a test sets them, they are set by env(1),
  // which is run first.
  const options = env['NODE_OPTIONS']
  const [first, words] =
    options === undefined ? [command, args] : ['env', [`NODE_OPTIONS=${options}`, command, ...args]]
  const child = spawn(
    first, words, { detached: true, env: { ...process.env, XDG_STATE_HOME: state, ...env } },
  )
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let errors = ''
  let ended: Exit | undefined
  const wake = () => {
    for (const each of [...waiting]) each()
  }
  // readline would take CR, U+2028 and U+2029 for line ends.
  let rest: Buffer = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      lines.push(rest.subarray(0, at).toString())
      rest = rest.subarray(at + 1)
    }
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdin.on('error', () => undefined)
  const exit = new Promise<Exit>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (rest.length > 0) lines.push(rest.toString())
      ended = { code, signal }
      wake()
      resolve(ended)
    })
  })
  // A test that never asks for the exit is not to be ended by its failure.
  exit.catch(() => undefined)
  t.teardown(() => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  })

  const take = (fits: (line: string) => boolean, what: string) =>
    new Promise<string>((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer)
        waiting.delete(look)
      }
      const fail = (why: string) => {
        finish()
        reject(new Error(`no ${what}: ${why}\nuntaken: ${JSON.stringify(lines)}\nstderr: ${errors}`))
      }
      const look = () => {
        const at = lines.findIndex(fits)
        const line = at < 0 ? undefined : lines.splice(at, 1)[0]
        if (line !== undefined) {
          finish()
          resolve(line)
        } else if (ended !== undefined) {
          fail(`ended with ${ended.code ?? String(ended.signal)}`)
        }
      }
      const timer = setTimeout(() => fail(`nothing within ${patience} ms`), patience)
      waiting.add(look)
      look()
    })

  return {
    pid: child.pid ?? 0,
    child,
    send: line => void child.stdin.write(typeof line === 'string' ? line + '\n' : line),
    next: () => take(() => true, 'line'),
    responseTo: key => take(line => isAnswerTo(line, key), `answer to ${key}`),
    get untaken() {
      return lines
    },
    closeInput: () => void child.stdin.end(),
    exit,
    end: () => {
      child.stdin.end()
      return exit
    },
    stop: signal => {
      child.kill(signal)
      return exit
    },
    stderr: () => errors,
  }
}

/** Whether a line is a response with this id. */
export const isAnswerTo = (line: string, key: string): boolean => {
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    return false
  }
  return typeof message === 'object' && message !== null && 'id' in message && !('method' in message)
    && JSON.stringify(message.id) === key
}

/** The URL at which a relay listens. */
export const urlOf = async ({ child }: Started): Promise<string> =>
  (await lineOf(child.stderr ?? process.stdin, /listening on (\S+)/))[1] ?? ''

/** Resolves with the first line of a stream that fits. */
export const lineOf = (stream: NodeJS.ReadableStream, fits: RegExp): Promise<RegExpExecArray> =>
  new Promise((resolve, reject) => {
    const reader = createInterface({ input: stream })
    reader.on('line', line => {
      const found = fits.exec(line)
      if (found !== null) resolve(found)
    })
    reader.on('close', () => reject(new Error(`the stream ended without ${String(fits)}`)))
  })
