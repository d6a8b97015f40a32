import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Test } from 'tap'
import { cli, scratch } from './bridge.js'
import { fixture, until } from './gateways.js'
import { start, urlOf, type Started } from './harness.js'

const several = fixture('several.mjs')
export const info = { name: 'test', version: '1' }

/** A server of the fixture. */
export const server = (name: string, given: object = {}) =>
  ({ command: [process.execPath, several, name, JSON.stringify(given)] })

export const written = (t: Test, configuration: object): string => {
  const file = join(scratch(t), 'customs.json')
  writeFileSync(file, JSON.stringify({
    merge: true, audit: { file: 'none' }, listen: '127.0.0.1:0', ...configuration,
  }))
  return file
}

export const stdio = (file: string) => ({
  command: process.execPath, args: [cli, 'wrap', '--config', file, '--merge'], stderr: 'ignore' as const,
  env: { PATH: process.env['PATH'] ?? '', XDG_STATE_HOME: join(file, '..', 'state') },
})

/** @returns the origin of a gateway, once it accepts connections */
export const serve = async (
  t: Test, configuration: object,
): Promise<{ readonly origin: string; readonly started: Started; readonly file: string }> => {
  const file = written(t, configuration)
  const started = start(t, process.execPath, [cli, 'serve', '--config', file])
  return { origin: await urlOf(started), started, file }
}

export const connect = async (
  t: Test, client: Client, transport: 'stdio' | 'http', configuration: object,
): Promise<Client> => {
  await client.connect(transport === 'stdio'
    ? new StdioClientTransport(stdio(written(t, configuration)))
    : new StreamableHTTPClientTransport(new URL(`${(await serve(t, configuration)).origin}/mcp`)))
  t.teardown(() => client.close())
  return client
}

export const textOf = (result: unknown): string | undefined =>
  (result as { content: { text?: string }[] }).content[0]?.text

export const namesOf = async (client: Pick<Client, 'listTools'>): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)

/** No server is missing any more. */
export const whole = (client: Pick<Client, 'listTools'>): Promise<void> =>
  until(() => client.listTools().then(({ _meta }) => _meta === undefined, () => false))

export const two = {
  servers: { a: server('a'), 'b.c': server('b', { tools: ['echo', 'ask', 'app'], resources: ['x://1'] }) },
}
