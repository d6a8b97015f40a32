import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { postHeaders } from '#test/kit/http.js'
import { scratch } from './bridge.js'
import { initializeOf, legacy, request } from './cases.js'
import type { Started } from './harness.js'
import { serve } from './http-bridges.js'

export const fixture = (name: string) =>
  fileURLToPath(new URL(`../../test/fixtures/process/${name}`, import.meta.url))

export const initializeWith = (revision: typeof legacy) => initializeOf('0', revision, '{"elicitation":{}}')
export const initialize = initializeWith(legacy)
export const call = (id: number, name: string, given: object = {}, revision = legacy) =>
  request(revision, String(id), 'tools/call', `"name":"${name}","arguments":${JSON.stringify(given)}`)

interface Reply {
  readonly status: number
  readonly session: string | undefined
  readonly text: string
}

export const begin = async (
  url: string, method: string, headers: Record<string, string>, body: string,
): Promise<IncomingMessage> => {
  const sent = httpRequest(url, { method, agent: false, headers: { ...postHeaders, ...headers } })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

export const send = async (
  url: string, headers: Record<string, string>, body = '', method = 'POST',
): Promise<Reply> => {
  const response = await begin(url, method, headers, body)
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
  const session = response.headers['mcp-session-id']
  return {
    status: response.statusCode ?? 0, session: typeof session === 'string' ? session : undefined, text,
  }
}

export const open = async (
  url: string, own: Record<string, string> = {},
): Promise<Record<string, string>> => {
  const { session, status, text } = await send(url, own, initialize)
  if (session === undefined) throw new Error(`no session: ${status} ${text}`)
  const headers = { ...own, 'mcp-session-id': session, 'mcp-protocol-version': legacy }
  await send(url, headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return headers
}

export const textOf = ({ text }: Reply): string => /"text":"([^"]*)"/.exec(text)?.[1] ?? text

/** Looks until it is so. */
export const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await pause(20)
}

export const lives = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

const linesOf = (file: string): readonly string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean)

interface Gateway {
  readonly relay: Started
  readonly url: (server: string) => string
  readonly directory: string
  /** Processes of servers that were started. */
  readonly pids: () => readonly number[]
  /** The relay processes that run. */
  readonly relays: () => readonly number[]
  /** Writes the file again. @param more keys of the file @param each keys of each server */
  readonly write: (servers: readonly string[], more?: object, each?: object) => void
}

export const gateway = async (
  t: Test, servers: readonly string[], options: readonly string[] = [], env: NodeJS.ProcessEnv = {},
  more: object = {},
): Promise<Gateway> => {
  const directory = scratch(t)
  const [config, pids] = [join(directory, 'customs.json'), join(directory, 'pids')]
  writeFileSync(pids, '')
  const write = (names: readonly string[], also: object = {}, each: object = {}) => {
    const command = [process.execPath, fixture('fault-server.mjs'), pids]
    writeFileSync(`${config}.new`, JSON.stringify({
      version: 1, ...also, servers: Object.fromEntries(names.map(name => [name, { command, ...each }])),
    }))
    renameSync(`${config}.new`, config)
  }
  write(servers, more)
  const { relay, url } = await serve(
    t, ['--audit', join(directory, 'audit.ndjson'), '--log-level', 'info', '--config', config, ...options],
    [], env,
  )
  t.teardown(() => {
    // Servers have groups of their own.
    for (const pid of linesOf(pids).map(Number).filter(lives)) process.kill(pid, 'SIGKILL')
  })
  return {
    relay, directory, write,
    url: server => `${url}/${server}/mcp`,
    pids: () => linesOf(pids).map(Number),
    relays: () => childrenOf(relay.pid),
  }
}
