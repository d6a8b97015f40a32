import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { cli, type Test } from './bridge.js'
import { serve } from './http-bridges.js'

/** Starts a server that writes its port to stdout. @returns its endpoint */
export const overHttp = async (
  t: Test, [program = '', ...args]: readonly string[], env: NodeJS.ProcessEnv = {},
): Promise<string> => {
  const child = spawn(program, args, { env: { ...process.env, PORT: '0', ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => void child.kill())
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return `http://127.0.0.1:${port}/mcp`
}

/** The transports of an SDK, of one revision or the other. */
interface Sdk<Transport> {
  readonly stdio: new (server: { command: string; args: string[]; stderr: 'inherit' }) => Transport
  readonly http: new (url: URL) => Transport
}

/** The ways from a client to a server, by the transports on both sides of the relay. */
export const waysOf = <Transport>(
  { stdio: Stdio, http: Http }: Sdk<Transport>,
  server: { readonly stdio: readonly string[]; readonly http: readonly string[] },
) => {
  const wrapped = (args: readonly string[]): Transport =>
    new Stdio({ command: process.execPath, args: [cli, 'wrap', '--log-level', 'silent', ...args], stderr: 'inherit' })
  const served = async (t: Test, args: readonly string[]): Promise<Transport> => {
    const { url } = await serve(t, args)
    return new Http(new URL(`${url}/mcp`))
  }
  const command = ['--', ...server.stdio]
  const ways: Readonly<Record<string, (t: Test, options: readonly string[]) => Promise<Transport>>> = {
    'stdio to stdio': (_, options) => Promise.resolve(wrapped([...options, ...command])),
    'stdio to HTTP': async (t, options) => wrapped([...options, await overHttp(t, server.http)]),
    'HTTP to HTTP': async (t, options) => served(t, [...options, await overHttp(t, server.http)]),
    'HTTP to stdio': (t, options) => served(t, [...options, ...command]),
  }
  return { wrapped, served, command, ways }
}

/** What a client hears: the params of questions and notifications, by name. */
export class Heard {
  readonly #all = new Map<string, Record<string, unknown>[]>()

  readonly hear = (name: string, params: object | undefined): void =>
    void this.#all.set(name, [...this.heard(name), { ...params }])

  readonly heard = (name: string): readonly Record<string, unknown>[] => this.#all.get(name) ?? []
}

/** What clients answer to servers. */
export const sampled = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'sampled' } }
export const oneRoot = { roots: [{ uri: 'file:///root' }] }

export interface Content {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
}

export const textOf = ({ content: [first] }: Content): string => (first?.type === 'text' ? first.text ?? '' : '')

export const codeOf = async (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(() => 'no error', (error: unknown) => (error as { code?: unknown }).code)
