import { join } from 'node:path'
import {
  scratch, scripted, auditOf, cli, configured, type Bridge, type Open, type Setup, type Test,
} from './bridge.js'
import { isModern, type Act, type Case, type Reaction } from './cases.js'
import { start, urlOf, type Started } from './harness.js'
import { postTo } from '#test/kit/http.js'

/**
 * The cases for a client that speaks HTTP: of each rule, verdict, revision and side the first that shares its
 * session with others, and where a rule's finding is in none of those, the first that does not; all of them
 * where MCP_CUSTOMS_TEST_ALL is set. A message that is too long is refused by its length, with 413, before
 * anybody has read its id.
 */
export const posted = (cases: readonly Case[]): readonly Case[] => {
  const possible = cases.filter(({ name }) => name !== 'from the client: a request that is too long')
  if (process.env['MCP_CUSTOMS_TEST_ALL'] !== undefined) return possible
  const shared = firstOf(
    possible.filter(sharesSession),
    ({ rule, verdict, revision, name }) => [rule, verdict, revision, name.startsWith('from the client')],
  )
  const found = new Set(shared.filter(isFinding).map(({ rule, revision }) => rule + revision))
  const others = possible.filter(each => isFinding(each) && !found.has(each.rule + each.revision))
  return [...shared, ...firstOf(others, ({ rule, revision }) => [rule, revision])]
}

const sharesSession = ({ tools, options, config, capabilities }: Case): boolean =>
  tools !== undefined && options.length === 0 && config === undefined && capabilities === '{}'

const isFinding = ({ verdict }: Case): boolean => verdict !== 'pass'

const firstOf = (cases: readonly Case[], kindOf: (each: Case) => readonly unknown[]): readonly Case[] => [
  ...new Map(cases.toReversed().map(each => [JSON.stringify(kindOf(each)), each])).values(),
].reverse()

/**
 * A client that speaks Streamable HTTP, line by line: what it sends is posted, what comes back is read in its
 * order.
 */
export class HttpClient {
  readonly #url: string
  readonly #own: Readonly<Record<string, string>>
  readonly #lines: string[] = []
  readonly #waiting: (() => void)[] = []
  readonly sent: string[] = []
  #session: string | undefined
  #revision: string | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @param own headers of every request */
  constructor(url: string, own: Readonly<Record<string, string>> = {}) {
    this.#url = url
    this.#own = own
  }

  send(line: string): void {
    this.sent.push(line)
    this.#turn = this.#turn.then(() => this.#post(line))
  }

  async next(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift()
      if (line !== undefined) return line
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  /** What HTTP says to a message that is not waited for. */
  async status(line: string): Promise<number> {
    const response = await postTo(this.#url, line, this.#headers())
    await response.body?.cancel()
    return response.status
  }

  async close(): Promise<void> {
    await this.#turn
    if (this.#session !== undefined) await fetch(this.#url, { method: 'DELETE', headers: this.#headers() })
  }

  /** What is no request is accepted before the next message leaves: two posts at once have no order. */
  #post(line: string): Promise<void> | undefined {
    const heard = this.#exchange(line)
    return /"method"/.test(line) && /"id"/.test(line) ? undefined : heard
  }

  async #exchange(line: string): Promise<void> {
    const response = await postTo(this.#url, line, { ...this.#headers(), ...metadata(line) })
    this.#session ??= response.headers.get('mcp-session-id') ?? undefined
    if (line.includes('"method":"initialize"')) {
      this.#revision ??= /"protocolVersion":"([^"]+)"/.exec(line)?.[1]
    }
    if (response.headers.get('content-type') === 'text/event-stream') return this.#events(response)
    const text = await response.text()
    // An error to nobody in particular is what HTTP says where stdio says nothing.
    if (text !== '' && !/^\{"jsonrpc":"2.0","id":null/.test(text)) this.#hear(text)
  }

  async #events({ body }: Response): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of body ?? []) {
      const events = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const data =
          event.split('\n').filter(field => field.startsWith('data: ')).map(field => field.slice(6))
        if (data.join('') !== '') this.#hear(data.join('\n'))
      }
    }
  }

  #headers(): Record<string, string> {
    return {
      ...this.#own,
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
    }
  }

  #hear(line: string): void {
    this.#lines.push(line)
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

/** What a modern client repeats of its message in headers. */
const metadata = (line: string): Record<string, string> => {
  const version = /"io\.modelcontextprotocol\/protocolVersion":"([^"]+)"/.exec(line)?.[1]
  if (version === undefined) return {}
  const { method = '', params } =
    JSON.parse(line) as { method?: string; params?: { name?: string; uri?: string; taskId?: string } }
  const name = method === 'tools/call'
    || method === 'prompts/get' ? params?.name : method === 'resources/read' ? params?.uri : undefined
  return {
    'mcp-protocol-version': version, 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }),
  }
}

/** Starts `serve`. @param node options of the runtime's own @returns where it listens */
export const serve = async (
  t: Test, args: readonly string[], node: readonly string[] = [], env: NodeJS.ProcessEnv = {},
): Promise<{ relay: Started; url: string }> => {
  const relay = start(t, process.execPath, [...node, cli, 'serve', '--listen', '127.0.0.1:0', ...args], env)
  return { relay, url: await urlOf(relay) }
}

const opened = async (
  t: Test, directory: string, { options, config }: Setup,
  target: { command: readonly string[] } | { url: string }, received: () => string[],
): Promise<Open> => {
  const audit = join(directory, 'audit.ndjson')
  const { relay, url } =
    await serve(t, ['--audit', audit, ...options, ...configured(directory, config, target)])
  const client = new HttpClient(`${url}/mcp`)
  return {
    send: line => client.send(line),
    next: () => client.next(),
    traces: () => ({
      received: received().map(line => asSent(line, client.sent)), audit: auditOf(audit),
      stderr: relay.stderr(),
    }),
    async close() {
      await client.close()
      await relay.stop()
    },
  }
}

/** `serve` between a client that speaks Streamable HTTP and a process. */
export const httpToStdio: Bridge = {
  name: 'HTTP to stdio',
  open(t, setup) {
    const directory = scratch(t)
    // Modern clients share a process, in which their requests have ids of the relay's.
    const anyId = (reactions: readonly Reaction[]) =>
      (isShared(
        setup,
      ) ? reactions.map(each => ({ ...each, say: each.say.map(answeringWhatWasAsked) })) : reactions)
    const { command, received } = scripted(directory, anyId(setup.reactions), setup.scenes?.map(anyId))
    return opened(t, directory, setup, { command }, received)
  },
}

/** `serve` between a client and a server that both speak Streamable HTTP. */
export const httpToHttp: Bridge = {
  name: 'HTTP to HTTP',
  async open(t, setup) {
    const directory = scratch(t)
    const { command: [node = '', ...script], received } = scripted(directory, setup.reactions, setup.scenes)
    const server = start(t, node, [...script, '--http'])
    const open =
      await opened(t, directory, setup, { url: `http://127.0.0.1:${await server.next()}/mcp` }, received)
    return {
      ...open,
      async close() {
        await open.close()
        await server.end()
      },
    }
  },
}

const isShared = ({ revision }: Setup): boolean => revision !== undefined && isModern(revision)

const anId = /"id":(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+)/

const answeringWhatWasAsked = (act: Act): Act =>
  (typeof act === 'string' ? act.replace(/"id":\d+(?=,"(?:result|error)")/, '"id":$ID') : act)

/** A line as it was sent, whatever id it has now. */
const asSent = (line: string, sent: readonly string[]): string => {
  const bare = line.replace(anId, '')
  return sent.find(one => one === line) ?? sent.find(one => one.replace(anId, '') === bare) ?? line
}
