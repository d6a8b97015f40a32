import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Revision } from '#relay/protocol/revisions/index.js'
import type { Reaction } from './cases.js'
import { start, type Started } from './harness.js'

/** The built command. */
export const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

const scriptedServer =
  fileURLToPath(new URL('../../test/fixtures/lying/scripted-server.mjs', import.meta.url))

/** A client at one end of the relay and a scripted server at the other, over whatever transports. */
export interface Open {
  send(line: string): void
  /** The next line that the client gets. */
  next(): Promise<string>
  /** What became of it so far. */
  traces(): Traces
  /** Ends the session. */
  close(): Promise<void>
}

export interface Traces {
  /** What the server got. */
  readonly received: readonly string[]
  readonly audit: readonly AuditRecord[]
  readonly stderr: string
}

export interface AuditRecord {
  readonly from: string
  readonly server: string
  readonly event: string
  readonly verdict: string
  readonly id?: string | number
  readonly tool?: string
  readonly findings: readonly { rule: string; path: string; message: string }[]
}

export interface Setup {
  /** What the client speaks, where it is one revision. */
  readonly revision?: Revision
  readonly options: readonly string[]
  readonly config: object | undefined
  readonly reactions: readonly Reaction[]
  /** Reactions that come before the others, a scene at a time; each `x/fence` ends one. */
  readonly scenes?: readonly (readonly Reaction[])[] | undefined
}

export interface Test {
  teardown(handler: () => void | Promise<void>): unknown
}

export interface Bridge {
  readonly name: string
  open(t: Test, setup: Setup): Promise<Open>
}

/** Lines of a file; none when it is not there (yet). */
const linesOf = (file: string): string[] => {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(line => line !== '')
  } catch {
    return []
  }
}

/** A directory of the test's own, gone when it ends. */
export const scratch = (t: Test): string => {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-customs-'))
  t.teardown(() => removed(directory))
  return directory
}

/**
 * Processes that were just killed, and this one, may still write. `maxRetries` of Node does not do: it waits
 * without letting this process go on, and does not read the folder again.
 */
const removed = async (directory: string): Promise<void> => {
  for (let left = 20; ; left--) {
    try {
      return rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      if (left === 0) throw error
      await pause(100)
    }
  }
}

/** Writes a script and gives the command that plays it; `received` is where the server notes what it got. */
export const scripted = (
  directory: string,
  reactions: readonly Reaction[],
  scenes?: readonly (readonly Reaction[])[],
): { command: string[]; received: () => string[] } => {
  const received = join(directory, 'received')
  const script = join(directory, 'script.json')
  writeFileSync(script, JSON.stringify({ received, reactions, scenes }))
  return { command: [process.execPath, scriptedServer, script], received: () => linesOf(received) }
}

export const auditOf = (file: string): AuditRecord[] =>
  linesOf(file).map(line => JSON.parse(line) as AuditRecord)

/**
 * The arguments that hand a configuration on; one that names servers says itself where the scripted one is,
 * and no other is given.
 */
export const configured = (
  directory: string, config: object | undefined, place: { command: readonly string[] } | { url: string },
): string[] => {
  const words = 'command' in place ? ['--', ...place.command] : [place.url]
  if (config === undefined) return words
  const file = join(directory, 'customs.json')
  const isServer = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && 'command' in value
  const placed = (value: unknown) => (isServer(value) ? { ...value, command: undefined, ...place } : value)
  writeFileSync(file, JSON.stringify(config, (_, value: unknown) => placed(value)))
  return ['--config', file, ...('servers' in config ? [] : words)]
}

export interface Wrapped {
  readonly relay: Started
  readonly received: () => readonly string[]
  readonly audit: () => readonly AuditRecord[]
}

/** Starts `wrap` before a scripted server. */
export const wrap = (
  t: Test, { options = [], config, reactions, scenes }: Partial<Setup> & Pick<Setup, 'reactions'>,
): Wrapped => {
  const directory = scratch(t)
  const { command, received } = scripted(directory, reactions, scenes)
  const audit = join(directory, 'audit.ndjson')
  const args = [cli, 'wrap', '--audit', audit, ...options, ...configured(directory, config, { command })]
  return { relay: start(t, process.execPath, args), received, audit: () => auditOf(audit) }
}

/** `wrap` between a client and a server that both speak stdio. */
export const stdioToStdio: Bridge = {
  name: 'stdio to stdio',
  async open(t, setup) {
    const { relay, received, audit } = wrap(t, setup)
    return {
      send: line => relay.send(line),
      next: () => relay.next(),
      traces: () => ({ received: received(), audit: audit(), stderr: relay.stderr() }),
      async close() {
        await relay.end()
      },
    }
  },
}

/** `wrap` between a client that speaks stdio and a server that speaks Streamable HTTP. */
export const stdioToHttp: Bridge = {
  name: 'stdio to HTTP',
  async open(t, { options, config, reactions, scenes }) {
    const directory = scratch(t)
    const { command, received } = scripted(directory, reactions, scenes)
    const [node = '', ...script] = command
    const server = start(t, node, [...script, '--http'])
    const audit = join(directory, 'audit.ndjson')
    const url = `http://127.0.0.1:${await server.next()}/mcp`
    const relay = start(
      t, process.execPath,
      [cli, 'wrap', '--audit', audit, ...options, ...configured(directory, config, { url })],
    )
    return {
      send: line => relay.send(line),
      next: () => relay.next(),
      traces: () => ({ received: received(), audit: auditOf(audit), stderr: relay.stderr() }),
      async close() {
        await relay.end()
        await server.end()
      },
    }
  },
}
