import { CustomsError } from '#relay/base/errors.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import { quote } from '#relay/protocol/quote.js'
import {
  isRevision, newestLegacy as legacy, firstModern as modern, traitsOf,
} from '#relay/protocol/revisions/index.js'
import { isList, isRecord, isString, type Data, type DataObject, field } from '#relay/protocol/unmetered.js'
import type { ServerResponse } from './client.js'
import type { InspectLink } from './link.js'
import { plain } from '#relay/base/plain.js'

/** An initialized server, and the revision in use. */
export interface Connected {
  readonly link: InspectLink
  /** As the server named it. */
  readonly revision: string
  /** Every revision that it says it supports (modern servers). */
  readonly supported: readonly string[]
  readonly capabilities: DataObject
  readonly serverInfo: DataObject | undefined
  readonly instructions: string | undefined
  /** Parameters of every request of the session. */
  readonly params: DataObject
}

export interface ConnectOptions {
  /** What the server is called in errors. */
  readonly name: string
  /** Its command line or URL, without secrets. */
  readonly target: string
  readonly version: string
  /** Longest wait for a response, in milliseconds. */
  readonly timeoutMs: number
  /** How many milliseconds a response to server/discover is waited for before initialize is sent as well. */
  readonly probeMs: number
  /** Only `initialize` is tried. */
  readonly legacy?: boolean | undefined
}

const key = (name: string): string => `io.modelcontextprotocol/${name}`

/**
 * Begins a session with a modern or a legacy server (2026-07-28, stdio: backward compatibility). Sends
 * server/discover first. If the response is not modern, sends initialize on a new connection, because some
 * servers refuse a second first request, or end. If no response comes within `probeMs`, sends initialize on
 * the same connection and waits for both responses: the server may only be slow to start.
 * @throws CustomsError CANNOT_START or CANNOT_REACH
 */
export const connect = async (open: () => InspectLink, options: ConnectOptions): Promise<Connected> => {
  const { timeoutMs, probeMs } = options
  if (options.legacy === true) return begin(open(), { ...options, timeoutMs: probeMs })
  const first = open()
  const params = modernParams(options.version)
  const discovered = first.client.request('server/discover', params, timeoutMs)
  const early = await Promise.race([discovered, after(probeMs)])
  let initialized: Promise<ServerResponse | undefined> = Promise.resolve(undefined)
  if (early === 'late') {
    initialized = initialize(first, options)
    const hello = await either(
      discovered.then(response => modernHello(first, response, params)),
      initialized.then(response => legacyHello(first, response)),
    )
    if (hello?.revision === modern) {
      // The server is modern and slow. It is connected again without initialize, because a server that
      // speaks both eras is legacy after initialize.
      await first.close()
      return connect(open, { ...options, probeMs: timeoutMs })
    }
    if (hello) return hello
  } else {
    const hello = modernHello(first, early, params)
    if (hello) return hello
  }
  const responses = [await discovered, await initialized]
  await first.close()
  const { failure } = first
  if (failure !== undefined) throw failure
  if (responses.every(response => response === undefined)) throw silent(options)
  const strangers = supportedBy(await discovered)
  if (strangers.length > 0 && !strangers.some(isLegacy)) {
    throw unreachable(
      options, `it supports only revisions that are unknown here: ${strangers.map(quote).join(', ')}`,
    )
  }
  return begin(open(), options)
}

const begin = async (link: InspectLink, options: ConnectOptions): Promise<Connected> => {
  const response = await initialize(link, options)
  const hello = legacyHello(link, response)
  if (hello) return hello
  await link.close()
  if (link.failure !== undefined) throw link.failure
  if (response === undefined) throw silent(options)
  const reason =
    response.kind === 'error' ? connectRefusal(response) : 'its answer to initialize names no protocolVersion'
  throw unreachable(options, /\bHTTP 40[13]$/.test(reason)
    ? `${reason} (credentials: headers of the server in a --config file)`
    : reason)
}

const initialize = (
  link: InspectLink, { version, timeoutMs }: ConnectOptions,
): Promise<ServerResponse | undefined> =>
  link.client.request(
    'initialize', { protocolVersion: legacy, capabilities: {}, clientInfo: clientInfo(version) }, timeoutMs,
  )

const clientInfo = (version: string): DataObject =>
  ({ name: 'mcp-customs', title: 'mcp-customs inspect', version })

const modernParams = (version: string): DataObject => ({
  _meta: {
    [key('protocolVersion')]: modern,
    [key('clientInfo')]: clientInfo(version),
    [key('clientCapabilities')]: {},
  },
})

const modernHello = (
  link: InspectLink, response: ServerResponse | undefined, params: DataObject,
): Connected | undefined => {
  if (response?.kind !== 'result') return undefined
  const supported = supportedBy(response)
  if (!supported.includes(modern)) return undefined
  const meta = field(response.result, '_meta')
  return {
    ...helloOf(link, response.result, isRecord(meta) ? field(meta, key('serverInfo')) : undefined),
    revision: modern, supported, params,
  }
}

const legacyHello = (link: InspectLink, response: ServerResponse | undefined): Connected | undefined => {
  if (response?.kind !== 'result') return undefined
  const revision = field(response.result, 'protocolVersion')
  if (!isString(revision)) return undefined
  link.client.notify('notifications/initialized')
  return {
    ...helloOf(link, response.result, field(response.result, 'serverInfo')),
    revision, supported: [], params: {},
  }
}

const helloOf = (link: InspectLink, result: DataObject, info: Data | undefined) => {
  const capabilities = field(result, 'capabilities')
  const instructions = field(result, 'instructions')
  return {
    link,
    capabilities: isRecord(capabilities) ? capabilities : {},
    serverInfo: isRecord(info) ? info : undefined,
    instructions: isString(instructions) ? instructions : undefined,
  }
}

/** The revisions a modern server supports, by its discovery or its UnsupportedProtocolVersionError. */
const supportedBy = (response: ServerResponse | undefined): readonly string[] => {
  if (response?.kind === 'result') return texts(field(response.result, 'supportedVersions'))
  const data =
    response?.kind === 'error' && response.error.code === unsupportedVersion ? response.error.data : undefined
  return isRecord(data) ? texts(field(data, 'supported')) : []
}

const unsupportedVersion = -32022

const texts = (value: Data | undefined): readonly string[] =>
  (isList(value) ? value.filter(isString).slice(0, 100) : [])

const isLegacy = (revision: string): boolean => isRevision(revision) && !traitsOf(revision).modern

/** The first defined value; undefined when all are. */
const either = <Value>(...all: readonly Promise<Value | undefined>[]): Promise<Value | undefined> =>
  Promise.any(all.map(async one => (await one) ?? Promise.reject(new Error('nothing'))))
    .catch(() => undefined)

const after = (ms: number): Promise<'late'> =>
  new Promise(resolve => setTimeout(() => resolve('late'), ms).unref())

const silent = (options: ConnectOptions): CustomsError =>
  unreachable(
    options,
    `no answer within ${options.timeoutMs / 1000} s; is it an MCP server? (--timeout SECONDS waits longer)`,
  )

const unreachable = ({ name, target }: ConnectOptions, reason: string): CustomsError => {
  const remote = target.includes(`/${name}`) ? target : `${name} (${target})`
  return new CustomsError('CANNOT_REACH', `${/^https?:/.test(target) ? remote : name}: ${reason}`)
}

/** Describes an error response: the relay's own tells the state of the connection, the server's is quoted. */
export const connectRefusal = ({ error: { code, message } }: ServerResponse & { kind: 'error' }): string =>
  code === errorCode.gone || code === errorCode.blocked
    ? plain(message.replace(/^mcp-customs: /, '')
        .replace(/^Blocked by mcp-customs: /, 'its answer cannot be used: '), 300)
    : `the server answered with error ${code}: ${quote(message)}`
